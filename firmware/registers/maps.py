"""The register maps of the modules. Reset values are those of the preset `ieee` at 10 Gb/s."""

from __future__ import annotations

from firmware.registers.declaration import Register, RegisterMap, placed
from plugins.qcn_cp import SAMPLE_INTERVALS


def _rw(
    name: str, width: int, unit: str, reset: int, doc: str, least: int = 0, most: int | None = None
) -> Register:
    return Register(name, 0, width, "rw", unit, doc, reset, least, most)


QCN_CP = RegisterMap(
    module="qcn_cp",
    identity=0x5142_0001,
    version=1,
    summary="QCN congestion point: quantiser, sampler, random source",
    caps="0",
    registers=placed(
        _rw("set_point", 30, "octets", 26_000, "queue length aimed at, Q_eq", 1),
        _rw("weight", 7, "", 2, "weight of the queue's growth, w"),
        *(
            _rw(
                f"interval_{index}",
                30,
                "octets",
                octets,
                f"to the next sample after feedback {8 * index} to {8 * index + 7}, "
                "before jitter; the first sample comes after interval_0",
            )
            for index, octets in enumerate(SAMPLE_INTERVALS)
        ),
        _rw("sampling", 2, "", 0, "0 arrival, 1 head, 2 departure", most=2),
        _rw("counts_arriving", 1, "", 0, "1: a frame that finds no room counts towards a sample"),
        _rw("jitter_on", 1, "", 1, "spread the sample intervals by +-15 %"),
        _rw("seed", 32, "", 1, "of the random source, taken at clear", 1),
        ("random", 32, "ro", "", "the last draw of the random source"),
        ("samples", 48, "counter", "", "samples taken"),
        ("messages", 48, "counter", "", "samples whose feedback was above 0"),
    ),
)

QCN_RP = RegisterMap(
    module="qcn_rp",
    identity=0x5142_0002,
    version=1,
    summary="QCN reaction point: N limiters on one calculator",
    caps="number of limiters",
    registers=placed(
        _rw("link_rate", 40, "bit/s", 10**10, "C, taken by every limiter at clear", 1),
        _rw("time_reset", 45, "ps", 15 * 10**9, "interval of the timer"),
        _rw("byte_reset", 40, "octets", 150_000, "interval of the byte counter"),
        _rw("threshold", 16, "", 5, "expiries that end fast recovery"),
        _rw("ai_rate", 40, "bit/s", 5_000_000, "active increase"),
        _rw("hai_rate", 40, "bit/s", 50_000_000, "hyper-active increase"),
        _rw("gd_num", 16, "", 1, "cut per unit of feedback, numerator"),
        _rw("gd_den", 16, "", 128, "cut per unit of feedback, denominator", 1),
        _rw("factor_num", 16, "", 1, "least factor of a cut, numerator; not above factor_den"),
        _rw("factor_den", 16, "", 2, "least factor of a cut, denominator", 1),
        _rw("min_rate", 40, "bit/s", 5_000_000, "the rate never falls below"),
        _rw("cap_target", 1, "", 1, "cap the target rate at the link rate"),
        _rw("jitter_on", 1, "", 1, "spread the intervals by +-15 %"),
        _rw("seed_index", 16, "", 0, "the limiter that the next seed is for"),
        Register("seed", 0, 32, "command", "", "seeds that limiter's random source; while idle", 1),
        ("feedback_received", 48, "counter", "", "messages taken"),
        ("feedback_unassigned", 48, "counter", "", "messages that found no free limiter"),
    ),
)

TOKEN_BUCKET = RegisterMap(
    module="token_bucket",
    identity=0x5142_0003,
    version=1,
    summary="Token buckets of N limiters",
    caps="number of limiters",
    registers=placed(
        _rw("depth", 63, "10^-12 bit", 3000 * 8 * 10**12, "of every bucket", 1),
        _rw(
            "period",
            34,
            "ps",
            16_000_000,
            "between refills; 9 clocks per limiter at least",
            100_000,
        ),
        _rw("granularity", 40, "bit/s", 0, "rates are cut down to a multiple; 0: exact"),
        _rw("phase_index", 16, "", 0, "the limiter that the next phase is for"),
        Register("phase", 0, 62, "command", "ps", "when that limiter is refilled next; while idle"),
        ("charged_octets", 64, "counter", "octets", "of the frames that took tokens"),
    ),
)

MAPS = (QCN_CP, QCN_RP, TOKEN_BUCKET)
