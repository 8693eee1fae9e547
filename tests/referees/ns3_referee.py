"""One plan run by tailback and by ns-3: `python tests/referees/ns3_referee.py` prints the tables.

FIFO: sources with constant intervals overload a port with a drop-tail queue; which frames arrive,
and when, is compared frame by frame. DCTCP: two bulk flows, over seeds; means with 95 % intervals
(Student's t), and the criteria of `tailback compare`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import scipy.stats

sys.path.insert(0, str(Path(__file__).parents[2]))

import tailback
from tests.referees.ns3_programs import compiled, lack
from traces.compare.agreement_criterion import queues_agree, utilizations_agree
from traces.dissect.native_frames import descriptors
from traces.pcapng.pcapng_reader import read

SOURCE = Path(__file__).with_name("ns3_dumbbell.cpp")
MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
PS = 10**12
DELAY_PS = 2_000_000
STOP_PS = 20 * 10**9
SEEDS = 10
SEGMENT, NS3_FRAME = 1448, 1502
"""Octets of a segment in ns-3, and with its headers (TCP with timestamps 32, IP 20, PPP 2)."""


@dataclass(frozen=True)
class Fifo:
    """Sources (interval ps, start ps, size in octets) into a port of a switch."""

    name: str
    service_bps: int
    buffer: int
    sources: tuple[tuple[int, int, int], ...]


CASES = (
    Fifo("1.35 Gb/s into 800 Mb/s, 30 kB", 800 * 10**6, 30_000, (
        (16_384_000, 0, 1500), (19_531_250, 3_700_000, 1500))),
    Fifo("the same, room for two frames", 800 * 10**6, 3_000, (
        (16_384_000, 0, 1500), (19_531_250, 3_700_000, 1500))),
    Fifo("three sizes into 800 Mb/s, 20 kB", 800 * 10**6, 20_000, (
        (16_384_000, 0, 1500), (8_192_000, 3_700_000, 600), (15_625_000, 1_300_000, 1000))),
    Fifo("no overload: 1.35 Gb/s into 2 Gb/s", 2 * 10**9, 30_000, (
        (16_384_000, 0, 1500), (19_531_250, 3_700_000, 1500))),
)  # fmt: skip
Arrival = tuple[int, int, int]
"""Flow, sequence number, time (ns)."""


def build(folder: Path) -> Path:
    """The program of ns-3, compiled into `folder`."""
    return compiled(SOURCE, MODULES, folder, "-O1")


def output_of(program: Path, *words: object) -> list[list[str]]:
    """Lines of the program, as words."""
    line = [str(program), *map(str, words)]
    done = subprocess.run(line, check=True, capture_output=True, text=True, timeout=250)
    return [text.split() for text in done.stdout.splitlines()]


def ns3_fifo(program: Path, case: Fifo) -> tuple[list[Arrival], int]:
    """Frames that arrive in ns-3, and the number of those that were dropped."""
    words = [word for source in case.sources for word in source]
    limit = (f"{case.service_bps}bps", f"{case.buffer}B", DELAY_PS, STOP_PS, "10Gbps")
    *lines, last = output_of(program, "fifo", *limit, *words)
    return [(int(f), int(s), int(ps) // 1000) for f, s, ps in lines], int(last[1])


def tailback_fifo(case: Fifo) -> tuple[list[Arrival], int]:
    """Frames that arrive in tailback, and the number of those that were dropped."""
    rows = range(len(case.sources))
    links: dict[str, Any] = {
        f"up{row}": {"ends": [f"h{row}", "s"], "rate": "10Gb/s", "delay": DELAY_PS} for row in rows
    }
    links["down"] = {"ends": ["s", "d"], "rate": case.service_bps, "delay": DELAY_PS}
    traffic = {}
    for row, (interval, start, size) in enumerate(case.sources):
        rate, rest = divmod(size * 8 * PS, interval)
        assert rest == 0, "a source has whole bit/s"
        traffic[f"t{row}"] = {
            "plugin": "cbr",
            "from": f"h{row}",
            "to": "d",
            "frame": size,
            "rate": rate,
            "start": start,
        }
    plan = {
        "name": "referee-fifo",
        "clock_ppm": 0,
        "phase": "aligned",
        "duration": STOP_PS,
        "sample_interval": "1ms",
        "capture": {"ports": ["d.s"]},
        "nodes": {f"h{row}": {"kind": "nic", "reaction_points": 0} for row in rows}
        | {"s": {"kind": "switch", "buffer": case.buffer}, "d": {"kind": "sink"}},
        "links": links,
        "traffic": traffic,
    }
    run = tailback.run(tailback.Plan.model_validate(plan))
    capture = read(run.captures[0])
    frames = descriptors(capture.octets, capture.kept, capture.lengths)
    arrived = [
        (int(frame.flow), int(frame.sequence), int(at))
        for frame, at in zip(frames, capture.times_ns, strict=True)
    ]
    return arrived, int(run.metrics["run"]["s.d"]["frames.dropped"] or 0)


def ns3_dctcp(program: Path, seed: int) -> tuple[float, float]:
    """Throughput on the wire (bit/s) and mean queue (octets) of two flows, by ns-3."""
    limit = ("1Gbps", "300000B", 25_000_000, 4 * 10**11, "1Gbps")
    *flows, last = output_of(program, "tcp", *limit, "TcpDctcp", seed, 2, SEGMENT, 30_000)
    goodput = sum(float(words[0]) for words in flows)
    return goodput * NS3_FRAME / SEGMENT, float(last[1])


def tailback_dctcp(seed: int) -> tuple[float, float]:
    """The same, by the shipped plan `dctcp`."""
    run = tailback.run("dctcp", seed=seed)
    port = run.metrics["steady"]["s.d"]
    return float(port["throughput_bps"] or 0), float(port["queue_bytes.mean"] or 0)


def interval_of(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and half of its 95 % interval."""
    factor = scipy.stats.t.ppf(0.975, len(values) - 1)
    return mean(values), float(factor) * stdev(values) / len(values) ** 0.5


def main() -> None:
    """Print both tables."""
    if (reason := lack()) is not None:
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        print("| case | frames that arrive | dropped | equal to the nanosecond |")
        print("|---|---|---|---|")
        for case in CASES:
            (ours, dropped), (theirs, lost) = tailback_fifo(case), ns3_fifo(program, case)
            equal = sum(a == b for a, b in zip(ours, theirs, strict=False))
            print(f"| {case.name} | {len(ours)} · {len(theirs)} | {dropped} · {lost} | {equal} |")
        print("\n| DCTCP | tailback | ns-3 | `compare` |\n|---|---|---|---|")
        seeds = range(1, SEEDS + 1)
        columns = [
            *zip(*(tailback_dctcp(seed) for seed in seeds), strict=True),
            *zip(*(ns3_dctcp(program, seed) for seed in seeds), strict=True),
        ]
        for name, ours_of, theirs_of, unit, agree in (
            ("throughput, Mb/s", columns[0], columns[2], 1e6, utilizations_agree),
            ("mean queue, kB", columns[1], columns[3], 1e3, queues_agree),
        ):
            (a, da), (b, db) = interval_of(ours_of), interval_of(theirs_of)
            scale = 1e9 if unit == 1e6 else 1.0
            verdict = "agree" if agree([a / scale, b / scale]) else "differ"
            cells = (f"{x / unit:.1f} ± {d / unit:.1f}" for x, d in ((a, da), (b, db)))
            print(f"| {name} | {' | '.join(cells)} | {verdict} |")


if __name__ == "__main__":
    main()
