"""What a congestion point may do, on real frames: the counts are those of the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.run import buffer_conservation
from orchestrator.run.execute_run import RunResult, run
from traces.run_reader import load

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

PLAN = """
name = "early-drops"
duration = "1s"
sample_interval = "1ms"
[nodes.nic]
kind = "nic"
[nodes.switch]
kind = "switch"
buffer = "1MB"
[nodes.switch.ports.sink]
service_rate = "50Mb/s"
congestion_point = {{ {point} }}
[nodes.sink]
kind = "sink"
[links.up]
ends = ["nic", "switch"]
rate = "1Gb/s"
delay = "50us"
[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"
delay = "50us"
[traffic.gen]
plugin = "cbr"
from = "nic"
to = "sink"
rate = "60Mb/s"
[capture]
ports = ["sink.switch"]
frames = 10
"""
POINTS = {
    "codel": 'plugin = "codel", target = "1ms", interval = "10ms"',
    "pie": 'plugin = "pie", target = "2ms", update = "1ms", alpha = 20, beta = 50, burst = "0s"',
}


def carried_out(point: str, target: str, out: Path) -> RunResult:
    return run(Plan.load(PLAN.format(point=POINTS[point])), target=target, out=out, report=False)


def last(done: RunResult, quantity: str) -> int:
    assert done.folder is not None
    return int(load(done.folder).table.column("switch.sink", quantity)[-1])


@pytest.mark.parametrize("point", POINTS)
def test_real_frames_are_dropped_as_in_the_simulator(point: str, tmp_path: Path) -> None:
    real, simulated = (carried_out(point, t, tmp_path) for t in ("software", "simulated"))
    expected = last(simulated, "frames_dropped_early")
    assert expected > 100
    assert last(real, "frames_dropped_early") == pytest.approx(expected, rel=0.1)
    assert last(real, "frames_dropped") == last(simulated, "frames_dropped")
    shown = load(real.folder) if real.folder is not None else None
    assert shown is not None
    assert buffer_conservation.unbalanced_buffers(shown) == []  # type: ignore[arg-type]
    wait: dict[str, Any] = {"codel": "codel.sojourn_s.mean", "pie": "pie.delay_s.mean"}
    found, model = (
        done.result["metrics"]["run"]["switch.sink"][wait[point]] for done in (real, simulated)
    )
    assert found == pytest.approx(model, rel=0.1)
