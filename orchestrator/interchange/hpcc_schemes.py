"""Congestion control of HPCC's simulator (CC_MODE) as reaction and congestion points of a plan.

Meanings of the keys after simulation/mix/config_doc.txt and simulation/scratch/third.cc of
github.com/alibaba-edu/High-Precision-Congestion-Control: times in microseconds, thresholds of marks
in units of 1000 octets by the rate of the link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from orchestrator.interchange.hpcc_files import HpccConfig
from orchestrator.plan.units import format_duration, format_rate, format_ratio, format_size

MODES = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp"}
BUFFERS = "BUFFER_SIZE"
HELD = 250_000_000
"""Octets of all switches' memories: descriptors of the shortest frames that fit take three times as
much of this machine's memory."""
US = 10**6
WITH_SEGMENT = frozenset({"hpcc", "dctcp"})
"""Reaction points that count in full frames."""
MARKS = ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")
MS10 = 10**10


@dataclass(frozen=True)
class Fabric:
    """Facts of a network: longest round trip in ps, most switches on a path, number of
    switches, bit/s of the slowest link of a host."""

    round_trip: int
    stamps: int
    switches: int
    host_rate: int


@dataclass
class Scheme:
    """A congestion control: what hosts and ports of switches get, and what comments say."""

    host_tables: dict[str, Any] = field(default_factory=dict)
    port: Callable[[int], dict[str, Any]] = lambda rate: {}
    """Congestion point of a port, by the rate of its link in bit/s; {}: none."""
    stamps: bool = False
    """True if frames need room for telemetry."""
    taken: list[str] = field(default_factory=list)
    not_taken: list[str] = field(default_factory=list)
    keys: frozenset[str] = frozenset()
    """Keys of the configuration that were used."""

    def host(self, rate: int, frame: int) -> dict[str, Any]:
        """Tables of a host; `rate` is that of its fastest link (bit/s), `frame` octets."""
        if not self.host_tables:
            return {}
        point = self.host_tables["reaction_point"]
        if point["plugin"] in WITH_SEGMENT:
            point["segment"] = format_size(frame)
        period = max(US // 10, min(US, US * 10**10 // max(rate, 1)))
        depth = min(max(3000, 2 * rate * period // (8 * 10**12)), 100_000)
        limiter = {"depth": format_size(depth), "period": format_duration(period)}
        return {**self.host_tables, "limiter": limiter}


def scheme_of(settings: HpccConfig, fabric: Fabric) -> Scheme:
    """The scheme of CC_MODE. Raises BadInput for values that a plan cannot have."""
    words = settings.words("CC_MODE", 1)
    if words is None:
        return Scheme()
    mode = settings.source.integer("CC_MODE", words[0], 0, 1000)
    if mode == 10:
        lack = (
            "CC_MODE 10, HPCC-PINT: there is no probabilistic telemetry, so no congestion control"
        )
        return Scheme(not_taken=[lack], keys=frozenset({"CC_MODE"}))
    if mode not in MODES:
        accepted = ", ".join(f"{number} ({name})" for number, name in MODES.items())
        text = f"{accepted} or 10 (HPCC-PINT, without its congestion control) is expected"
        raise settings.source.refused("CC_MODE", words[0].text, text, words[0].line)
    made = {1: _dcqcn, 3: _hpcc, 7: _timely, 8: _dctcp}[mode](settings, fabric)
    made.keys |= {"CC_MODE", "ENABLE_QCN"}
    if mode in (1, 8) and not settings.integer("ENABLE_QCN", 1):
        made.port = lambda rate: {}
        made.not_taken.append("marks: ENABLE_QCN is 0, so no port marks a frame")
    return made


def _marks(settings: HpccConfig) -> Callable[[int], dict[str, Any]]:
    """RED with the thresholds of a link's rate."""
    low, high, share = (settings.by_rate(key) for key in MARKS)

    def point(rate: int) -> dict[str, Any]:
        for key, table in zip(MARKS, (low, high, share), strict=True):
            if rate not in table:
                line = settings.settings[key][0].line if key in settings.settings else None
                accepted = f"a value for links of {format_rate(rate)} is expected"
                raise settings.source.refused(key, "missing", accepted, line)
        source = settings.source
        most = settings.source.scaled("PMAX_MAP", share[rate], 6, 0, 10**6, "share of 1")
        least = source.integer("KMIN_MAP", low[rate], 0, 10**6) * 1000
        above = source.integer("KMAX_MAP", high[rate], 0, 10**6) * 1000
        if above < least:
            accepted = f"no less than KMIN_MAP, {least // 1000}, is expected"
            raise source.refused("KMAX_MAP", high[rate].text, accepted, high[rate].line)
        if above == least:  # a step: every frame above it
            least, above, most = max(above - 1, 0), max(above, 1), 10**6
        return {
            "plugin": "red",
            "low": format_size(least),
            "high": format_size(above),
            "max_probability": format_ratio(Fraction(most, 10**6)),
        }

    return point


def _dcqcn(settings: HpccConfig, fabric: Fabric) -> Scheme:
    point = {
        "plugin": "dcqcn-rp",
        "g": str(settings.ratio("EWMA_GAIN", Fraction(1, 16)).limit_denominator(10**6)),
        "alpha_time": format_duration(settings.time("ALPHA_RESUME_INTERVAL", 6, 55 * US)),
        "increase_time": format_duration(settings.time("RP_TIMER", 6, 1500 * US)),
        "threshold": max(settings.integer("FAST_RECOVERY_TIMES", 5, 1000), 1),
        "ai_rate": format_rate(settings.rate("RATE_AI", 5_000_000)),
        "hai_rate": format_rate(settings.rate("RATE_HAI", 50_000_000)),
        "min_rate": format_rate(settings.rate("MIN_RATE", 100_000_000)),
    }
    interval = settings.time("RATE_DECREASE_INTERVAL", 6, 4 * US)
    notify = {
        "plugin": "notification-point",
        "preset": "dcqcn",
        "interval": format_duration(interval),
    }
    return Scheme(
        {"reaction_point": point, "notification_point": notify},
        _marks(settings),
        taken=[
            "DCQCN with its parameters; RATE_DECREASE_INTERVAL is the interval between CNPs, "
            "which are what lowers rates here"
        ],
        not_taken=["CLAMP_TARGET_RATE: the target rate follows every decrease"]
        if "CLAMP_TARGET_RATE" in settings.settings
        else [],
        keys=frozenset(
            {
                "EWMA_GAIN",
                "ALPHA_RESUME_INTERVAL",
                "RP_TIMER",
                "FAST_RECOVERY_TIMES",
                "RATE_AI",
                "RATE_HAI",
                "MIN_RATE",
                "RATE_DECREASE_INTERVAL",
                "CLAMP_TARGET_RATE",
                *MARKS,
            }
        ),
    )


def _hpcc(settings: HpccConfig, fabric: Fabric) -> Scheme:
    base = max(fabric.round_trip, US)
    growth = settings.rate("RATE_AI", 5_000_000) * base // (8 * 10**12)
    point = {
        "plugin": "hpcc",
        "mode": "rate",
        "base_rtt": format_duration(min(base, MS10)),
        "eta": str(settings.ratio("U_TARGET", Fraction(19, 20)).limit_denominator(10**5)),
        "max_stage": settings.integer("MI_THRESH", 5, 1000),
        "w_ai": format_size(min(growth, 10**6)),
        "min_rate": format_rate(settings.rate("MIN_RATE", 100_000_000)),
        "hops": fabric.stamps,
    }
    lacking = []
    if not settings.integer("GLOBAL_T", 1):
        lacking.append("GLOBAL_T 0: all hosts have the longest round trip as T")
    return Scheme(
        {"reaction_point": point},
        lambda rate: {"plugin": "int"},
        stamps=True,
        taken=[
            f"HPCC as the published code has it, with T = {format_duration(base)}, the longest "
            "round trip, and W_AI = RATE_AI T"
        ],
        not_taken=lacking,
        keys=frozenset({"RATE_AI", "U_TARGET", "MI_THRESH", "MIN_RATE", "GLOBAL_T"}),
    )


def _timely(settings: HpccConfig, fabric: Fabric) -> Scheme:
    point = {
        "plugin": "timely",
        "delta": format_rate(settings.rate("RATE_AI", 5_000_000)),
        "min_rate": format_rate(settings.rate("MIN_RATE", 100_000_000)),
    }
    return Scheme(
        {"reaction_point": point},
        taken=["TIMELY with RATE_AI as its additive increase; its thresholds are those of both"],
        not_taken=["RATE_HAI: TIMELY's faster increase is five times the other, as in its paper"],
        keys=frozenset({"RATE_AI", "MIN_RATE", "RATE_HAI"}),
    )


def _dctcp(settings: HpccConfig, fabric: Fabric) -> Scheme:
    gain = settings.ratio("EWMA_GAIN", Fraction(1, 16)).limit_denominator(10**6)
    return Scheme(
        {"reaction_point": {"plugin": "dctcp", "g": str(gain)}},
        _marks(settings),
        taken=["DCTCP with the gain and the thresholds of marks"],
        not_taken=["DCTCP_RATE_AI: a window grows by a segment per round trip"],
        keys=frozenset({"EWMA_GAIN", "DCTCP_RATE_AI", *MARKS}),
    )
