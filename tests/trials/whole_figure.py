"""All of NetFPGA-QCN, figure 11 on real frames: does its capture alone give its numbers?

    python -m tests.trials.whole_figure

Every port of NICs and switch is captured (some 3 million frames). The capture is then analysed
without the run's samples, and each figure is held against what the run itself counted: octets of
each flow, throughput, messages; and the queue, reconstructed by the oracle, against the samples.
Exit code 0 when all are within 1 % (the queue: within one frame) and the oracle finds nothing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from traces.analysis import Settings, analyze
from traces.oracle.conformance_judge import Settings as Known
from traces.oracle.conformance_judge import judge
from traces.oracle.reconstructed_states import reconstructed, reconstructed_at
from traces.oracle.replay_command import lateness
from traces.run_reader import Run, load

SHARE = 0.01
FRAME = 1500


def captured(text: str, **changes: Any) -> Plan:
    """A plan of figure 11 whose NICs and switch are captured at every port."""
    table = Plan.load(text).to_table() | changes
    ports = [f"{node}.up{n}" for n in range(1, 9) for node in ("switch", f"nic{1 + (n > 4)}")]
    table["capture"] = {"ports": ["switch.sink", *ports], "snap": "128B", "frames": 900_000}
    return Plan(**table)


def figures(folder: Path, ran: Run) -> Iterator[tuple[str, float, float, float]]:
    """(what, by the capture, by the run, how far apart they may be)."""
    captures = folder / "captures"
    (sink,) = analyze(captures / "switch-sink.pcapng").interfaces
    for flow in sorted(sink.flows, key=lambda one: one.flow or 0):
        name = f"gen{(flow.flow or 0) + 1}"
        got = float(ran.table.column(name, "bytes_received")[-1])
        yield f"octets of {name}", flow.octets, got, SHARE * got
    total = ran.result.metrics["run"]["switch.sink"]["throughput_bps"] or 0.0
    yield "throughput of switch.sink, bit/s", sink.throughput_bps or 0.0, total, SHARE * total
    ports = [captures / f"switch-up{n}.pcapng" for n in range(1, 9)]
    seen = analyze(*ports, settings=Settings(rate_bps=10**9)).interfaces
    told = sum(point.messages for one in seen for point in one.congestion_points)
    sent = float(ran.table.column("switch.sink", "feedback_sent")[-1])
    yield "messages of switch.sink", told, sent, SHARE * sent


def queue_apart(folder: Path, ran: Run) -> tuple[int, float, int]:
    """Findings of the oracle, octets that its queue is off at most, at how many samples."""
    resolved = Plan.load(folder / "plan.toml").check(Registry.load())
    paths = sorted((folder / "captures").iterdir())
    found = judge(paths, resolved, Known(late_ns=lateness(folder)))
    for finding in found.findings:
        print(f"    {finding.as_json()}")
    switch = next(node for node in found.nodes if node.name == "switch")
    assert switch.assembly is not None
    times = reconstructed_at(switch.assembly)
    queue = reconstructed(switch.assembly, "switch")["switch.sink", "queue_bytes"]
    _, both, rows = np.intersect1d(times, ran.times_ps, return_indices=True)
    apart = np.abs(queue[both] - ran.table.column("switch.sink", "queue_bytes")[rows])
    return len(found.findings), float(apart.max()), len(both)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pace", type=float, default=None, help="seconds of the run per second")
    parser.add_argument("--set", action="append", default=[], help="key=value of the plan")
    asked = parser.parse_args()
    plan = captured(Registry.load().plans()["netfpga-fig11"]).with_settings(asked.set)
    sound = True
    with tempfile.TemporaryDirectory(prefix="whole-") as out:
        done = run(plan, target="software", out=Path(out), report=False, pace=asked.pace)
        assert done.folder is not None
        fidelity = done.result["fidelity"]
        print(f"{done.result['verdict']}, fidelity {fidelity['verdict']}")
        for reason in fidelity["reasons"]:
            print(f"    {reason}")
        ran = load(done.folder)
        for what, seen, counted, allowed in figures(done.folder, ran):
            share = (seen - counted) / counted
            sound &= abs(seen - counted) <= allowed
            print(f"{what}: {seen:.12g} by the capture, {counted:.12g} by the run ({share:+.4%})")
        findings, apart, samples = queue_apart(done.folder, ran)
    print(f"queue: {apart:g} octets off at most, at {samples} samples; findings: {findings}")
    return int(not sound or apart > FRAME or findings > 0)


if __name__ == "__main__":
    raise SystemExit(main())
