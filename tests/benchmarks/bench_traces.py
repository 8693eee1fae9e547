"""Reading and judging a capture beside tcpdump, tshark and dpkt: ratios, in one run.

    python tests/benchmarks/bench_traces.py [FRAMES]

Makes a capture (5 M frames of 95 kept octets, 555 MB) in a temporary folder: data frames of 64
flows, 1 % congestion notification messages, 0.1 % PAUSE. Peers that are not installed are left
out; tshark and dpkt get a slice, because they would take minutes. All of them take turns, warm, and
their CPU time (user and system, children's too) is what counts: a busy machine hits them alike.
Rates are those of the best turn, ratios the medians over the turns. Peers are compared with the
analysis on one core. Beside it stands what it does on the wall, on one and on two cores, where a
file is read on one and looked at on the other. Prints JSON.
"""

from __future__ import annotations

import getpass
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from orchestrator.engine.frames import encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import CNM, DATA, PAUSE
from traces.capture.read_ahead import available

SNAP = 95
FLOWS = 64
SLICE = 100_000
TURNS = 5
CHUNK = 500_000
RECORD = np.dtype(
    [("s", "<u4"), ("ns", "<u4"), ("kept", "<u4"), ("length", "<u4"), ("octets", "u1", SNAP)]
)
GAP_NS = 1200
ONE, TWO = "analyze", "analyze on two cores"
SEQUENCE = slice(54, 62)


def frame(kind: int, length: int, **fields: int) -> np.ndarray:
    """The first octets of a frame."""
    record = empty_descriptors(1)
    record["kind"], record["length"] = kind, length
    for name, value in fields.items():
        record[name] = value
    octets = np.zeros(128, np.uint8)
    encode(record.view(np.recarray)[0], octets)
    return octets[:SNAP]


def make(path: Path, count: int) -> None:
    """Write the capture."""
    rng = np.random.default_rng(1)
    kinds = [frame(DATA, 1500, source=i, destination=99, flow=i) for i in range(FLOWS)]
    kinds += [
        frame(CNM, 106, source=90, destination=i, inner=99, mark=1500, flow=i, feedback=i % 64)
        for i in range(FLOWS)
    ]
    kinds += [frame(PAUSE, 60, source=98, feedback=quanta) for quanta in (0xFFFF, 0)]
    lengths = np.array([1500] * FLOWS + [106] * FLOWS + [60] * 2)
    known = np.stack(kinds)
    numbers = np.zeros(FLOWS, np.int64)
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for begin in range(0, count, CHUNK):
            n = min(CHUNK, count - begin)
            draw, which = rng.random(n), rng.integers(0, FLOWS, n)
            which[draw > 0.989] += FLOWS
            which[draw > 0.999] = 2 * FLOWS + (which[draw > 0.999] & 1)
            rows = np.zeros(n, RECORD)
            at = (begin + np.arange(n)) * GAP_NS
            rows["s"], rows["ns"] = 1_700_000_000 + at // 10**9, at % 10**9
            rows["kept"], rows["length"] = SNAP, lengths[which]
            rows["octets"] = known[which]
            for flow in range(FLOWS):
                mine = np.flatnonzero(which == flow)
                sequence = (numbers[flow] + np.arange(len(mine))).astype(">i8")
                rows["octets"][mine, SEQUENCE] = sequence.view(np.uint8).reshape(-1, 8)
                numbers[flow] += len(mine)
            file.write(rows.tobytes())


def spent(job: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a job: of CPUs, with those of programs that it waits for, and on the wall."""
    begun, clock = time.process_time() + _of_children(), time.perf_counter()
    job()
    return time.process_time() + _of_children() - begun, time.perf_counter() - clock


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command(*words: object) -> Callable[[], None]:
    """A job that runs a program for nothing but its time."""

    def run() -> None:
        subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=500)

    return run


def read_only(path: Path) -> None:
    from traces.capture import open_capture

    with open_capture(path) as stream:
        for _ in stream.batches():
            pass


def headers_only(path: Path) -> None:
    from traces.capture import open_capture
    from traces.dissect import HEADERS, dissect

    rows = np.empty(1 << 14, HEADERS)
    with open_capture(path) as stream:
        for batch in stream.batches():
            dissect(batch, stream.interfaces, rows)


def whole(path: Path, count: int, cores: int) -> None:
    from traces.analysis import Settings, read_captures

    (seen,) = read_captures(
        path, settings=Settings(rate_bps=10**10, cores=cores)
    ).analysis.interfaces
    assert sum(seen.frames.values()) == count
    assert len(seen.flows) == FLOWS
    assert all(flow.lost == 0 for flow in seen.flows)
    assert sum(one.messages for one in seen.congestion_points) == seen.frames["cnm"]


def with_dpkt(path: Path) -> None:
    import dpkt

    with open(path, "rb") as file:
        for _, octets in dpkt.pcap.Reader(file):
            dpkt.ethernet.Ethernet(octets)


def main(count: int) -> None:
    fields = ("frame.time_epoch", "eth.src", "vlan.id", "ip.src", "ip.dst", "udp.dstport")
    with tempfile.TemporaryDirectory() as folder:
        path, short = Path(folder) / "big.pcap", Path(folder) / "short.pcap"
        make(path, count)
        make(short, SLICE)
        whole(short, SLICE, 1)  # loads the compiled code
        headers_only(short)
        jobs: dict[str, tuple[int, Callable[[], Any]]] = {
            "read": (count, lambda: read_only(path)),
            "read, dissect": (count, lambda: headers_only(path)),
            ONE: (count, lambda: whole(path, count, 1)),
        }
        if available() > 1:
            jobs[TWO] = count, lambda: whole(path, count, 2)
        if tcpdump := shutil.which("tcpdump"):
            # as root it would become a user who must not read the folder
            words = [tcpdump, "-Z", getpass.getuser(), "-r", path, "--count"]
            jobs["tcpdump --count"] = count, command(*words)
        if tshark := shutil.which("tshark"):
            words = [tshark, "-n", "-r", short, "-T", "fields"]
            words += [word for field in fields for word in ("-e", field)]
            jobs["tshark -T fields"] = SLICE, command(*words)
        jobs["dpkt"] = SLICE, lambda: with_dpkt(short)
        both = [
            {name: (spent(job), frames) for name, (frames, job) in jobs.items()}
            for _ in range(TURNS)
        ]
        turns = [{name: cpu / n for name, ((cpu, _), n) in turn.items()} for turn in both]
        report = {
            "frames": count,
            "octets": path.stat().st_size,
            "frames_per_cpu_second": {
                name: round(1 / min(turn[name] for turn in turns)) for name in jobs
            },
            "analyzed_per_second_on_the_wall": {
                name: round(count / min(turn[name][0][1] for turn in both))
                for name in (ONE, TWO)
                if name in jobs
            },
            "analyze_times_as_fast_as": {
                name: round(median(turn[name] / turn[ONE] for turn in turns), 2) for name in jobs
            },
            "two_cores_times_as_fast_as_one": round(
                median(turn[ONE][0][1] / turn[TWO][0][1] for turn in both), 2
            )
            if TWO in jobs
            else None,
            "most_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000),
            "load": os.getloadavg()[0],
        }
        print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)
