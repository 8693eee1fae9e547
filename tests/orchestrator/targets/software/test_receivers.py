"""Requests, credits and trimmed headers as real frames: the counts are those of the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.run import buffer_conservation
from orchestrator.run.execute_run import run
from traces.run_reader import load

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

PLAN = """
name = "credits"
duration = "1s"
sample_interval = "1ms"
[nodes."h{1..4}"]
kind = "nic"
[nodes.switch]
kind = "switch"
buffer = "1MB"
congestion_point = { plugin = "trim", threshold = "6KB" }
[nodes.sink]
kind = "sink"
receiver = { plugin = "receiver-credits" }
[links."up{1..4}"]
ends = ["h{}", "switch"]
rate = "20Mb/s"
delay = "100us"
[links.down]
ends = ["switch", "sink"]
rate = "20Mb/s"
delay = "100us"
[traffic.t]
plugin = "messages"
from = "h{1..4}"
to = "sink"
size = "143KB"
transport = { plugin = "credit", unsolicited = "15KB", timeout = "200ms" }
"""


def test_credits_on_real_frames_do_what_they_do_in_the_simulator(tmp_path: Path) -> None:
    found = {}
    for target in ("simulated", "software"):
        done = run(Plan.load(PLAN), target=target, out=tmp_path / target, report=False)
        assert done.folder is not None
        shown = load(done.folder)
        table = shown.table
        counts = {
            name: int(table.column("switch.sink", name)[-1])
            for name in ("frames_dropped", "frames_trimmed", "frames_out", "queue_max_bytes")
        }
        counts["credits"] = int(table.column("sink", "credits_sent")[-1])
        counts["arrived"] = sum(
            int(table.column(f"t.{k}", "frames_received")[-1]) for k in range(4)
        )
        found[target] = counts
        assert buffer_conservation.unbalanced_buffers(shown) == []  # type: ignore[arg-type]
    real, simulated = found["software"], found["simulated"]
    assert real["frames_dropped"] == simulated["frames_dropped"] == 0
    assert real["arrived"] == simulated["arrived"] == 400
    assert real["queue_max_bytes"] == simulated["queue_max_bytes"] == 6_000
    assert real["frames_trimmed"] == pytest.approx(simulated["frames_trimmed"], abs=4)
    assert real["credits"] == pytest.approx(simulated["credits"], abs=4)
