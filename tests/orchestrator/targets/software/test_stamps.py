"""Stamps on real frames: what a reaction point hears is what it hears in the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.assembly import assemble
from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.telemetry_header import FIRST, PORT, RATE, ROOM, STAMPED, get_stamps
from orchestrator.engine.records import ACK, DATA
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import RunResult, run

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

PLAN = """
name = "stamps"
duration = "1s"
sample_interval = "1ms"
[nodes."h{1..2}"]
kind = "nic"
reaction_point = { plugin = "hpcc", base_rtt = "1ms", hops = 2, w_ai = "300B" }
[nodes."s{1..2}"]
kind = "switch"
congestion_point = { plugin = "int" }
[nodes.d]
kind = "sink"
[links."up{1..2}"]
ends = ["h{}", "s1"]
rate = "40Mb/s"
delay = "50us"
[links.trunk]
ends = ["s1", "s2"]
rate = "40Mb/s"
delay = "50us"
[links.down]
ends = ["s2", "d"]
rate = "20Mb/s"
delay = "50us"
[traffic.t]
plugin = "bulk"
from = "h{1..2}"
to = "d"
transport = { plugin = "go-back-n" }
[phases.steady]
from = "200ms"
to = "1s"
"""


KEPT = (
    PLAN.replace("hops = 2", "hops = 1").replace('"int"', '"csig", interval = "10ms"')
    + """
[capture]
ports = ["s2.d", "h1.s1"]
"""
)
"""The same with one stamp in every frame, that of the port with the least bandwidth left."""


def carried_out(target: str, out: Path, plan: str = PLAN, pace: float | None = None) -> RunResult:
    return run(Plan.load(plan), target=target, out=out, report=False, pace=pace)


def stamps_in(done: RunResult, kind: int) -> np.ndarray:
    """The rows of stamps of all captured frames of a kind, int64[n, 2 + WORDS]."""
    found = []
    frame, row = empty_descriptors(1)[0], np.zeros(FIRST + 5, np.int64)
    for capture in done.recording.captures:
        for length, octets in zip(capture.lengths, capture.octets, strict=True):
            if decode(octets, int(length), frame) == kind:
                get_stamps(70, octets, int(length), row)
                found.append(row.copy())
    return np.array(found)


def test_real_frames_bring_the_stamps_of_both_switches_back(tmp_path: Path) -> None:
    """Without stamps the window would stay as it began and fill the queue; U would stay at 1. At a
    tenth of the pace, so that the time of a busy machine is little beside the round trip."""
    short = PLAN.replace('"1s"', '"500ms"')
    real = carried_out("software", tmp_path, short, pace=0.1)
    simulated = carried_out("simulated", tmp_path, short)
    shown = [done.result["metrics"]["steady"] for done in (real, simulated)]
    for entity, metric in (("s2.d", "utilization"), ("h1.rp0", "hpcc.u.mean")):
        found, model = (one[entity][metric] for one in shown)
        assert found == pytest.approx(model, rel=0.1), metric
    assert shown[1]["s2.d"]["utilization"] == pytest.approx(0.95, abs=0.07)
    assert shown[0]["s2.d"]["queue_bytes.mean"] < 3 * 1500
    assert shown[0]["s2.d"]["frames.dropped"] == 0


@pytest.mark.parametrize("target", ["simulated", "software"])
def test_frames_keep_the_stamp_of_the_narrow_port(tmp_path: Path, target: str) -> None:
    """Data frames have it where they leave the second switch, acknowledgements where they come."""
    assembly = assemble(Plan.load(KEPT).check(Registry.load()))
    narrow = assembly.world.ports[assembly.indices.port_rows["s2.d"]].address
    done = carried_out(target, tmp_path, KEPT)
    # kbit/s are no queue that HPCC could reckon with: it sends little, but it goes on
    assert done.result["metrics"]["steady"]["s2.d"]["throughput_bps"] > 10**6
    for kind in (DATA, ACK):
        rows = stamps_in(done, kind)[-500:]
        rows = rows[rows[:, STAMPED] > 0]  # at its source a data frame has none yet
        assert len(rows) > 100
        assert set(rows[:, ROOM]) == {1}
        assert set(rows[:, STAMPED]) == {2}
        assert set(rows[:, FIRST + PORT]) == {narrow}
        assert set(rows[:, FIRST + RATE]) == {2 * 10**7}
        assert np.all(rows[:, FIRST] <= 20_000), "kbit/s that are left of 20 Mb/s"
