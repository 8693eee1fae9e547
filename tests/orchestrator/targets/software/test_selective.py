"""Selective acknowledgements, NewReno and the watchdog on real frames, beside the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.run.execute_run import RunResult, run

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

LOSSY = """
name = "selective"
duration = "3s"
sample_interval = "10ms"
[nodes.h]
kind = "nic"
reaction_point = { plugin = "newreno", segment = "1500B" }
[nodes.s]
kind = "switch"
[nodes.d]
kind = "sink"
[links.up]
ends = ["h", "s"]
rate = "40Mb/s"
delay = "5ms"
delay_line = { plugin = "lossy-delay", loss_rate = "1/100", frame_kinds = "data" }
[links.down]
ends = ["s", "d"]
rate = "40Mb/s"
delay = "5ms"
[traffic.t]
plugin = "messages"
from = "h"
to = "d"
size = "1MB"
transport = { plugin = "selective", min_rto = "100ms" }
"""


def carried_out(plan: str, target: str, out: Path) -> RunResult:
    return run(Plan.load(plan), target=target, out=out, report=False)


def test_what_real_links_lose_is_sent_again_and_nothing_else(tmp_path: Path) -> None:
    for target in ("simulated", "software"):
        metrics = carried_out(LOSSY, target, tmp_path).result["metrics"]["run"]
        assert metrics["t"]["messages.completed"] == 1, target
        lost, resent = metrics["h>s"]["frames.dropped"], metrics["t"]["frames.retransmitted"]
        assert lost > 1, target
        assert lost <= resent <= lost + 2, target
