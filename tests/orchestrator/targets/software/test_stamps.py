"""Stamps on real frames: what a reaction point hears is what it hears in the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.run.execute import RunResult, run

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


def carried_out(target: str, out: Path) -> RunResult:
    return run(Plan.load(PLAN), target=target, out=out, report=False)


def test_real_frames_bring_the_stamps_of_both_switches_back(tmp_path: Path) -> None:
    """Without stamps the window would stay as it began and fill the queue; U would stay at 1."""
    real, simulated = (carried_out(target, tmp_path) for target in ("software", "simulated"))
    shown = [done.result["metrics"]["steady"] for done in (real, simulated)]
    for entity, metric in (("s2.d", "utilization"), ("h1.rp0", "hpcc.u.mean")):
        found, model = (one[entity][metric] for one in shown)
        assert found == pytest.approx(model, rel=0.1), metric
    assert shown[1]["s2.d"]["utilization"] == pytest.approx(0.95, abs=0.07)
    assert shown[0]["s2.d"]["queue_bytes.mean"] < 3 * 1500
    assert shown[0]["s2.d"]["frames.dropped"] == 0
