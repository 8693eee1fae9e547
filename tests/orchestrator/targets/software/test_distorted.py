"""Somebody meddles with a link while frames go over it: the run is not valid, and says which."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.targets.software.worker_process import Worker
from tests.orchestrator.targets.software import short_plans

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

JOBS = "tests.orchestrator.targets.software.distortions:"
SHORT = {"duration": "60ms", "timeline": [], "phases": {}, "expect": []}
PACE = 0.2


def fidelity(how: str) -> dict[str, Any]:
    text = Plan.load(short_plans.QCN).with_data(Plan.load(short_plans.QCN).to_table() | SHORT)
    with Worker(JOBS + how, text.to_toml(), PACE) as worker:
        list(worker.reports())
    told: dict[str, Any] = worker.result.fidelity
    return told


def test_frames_that_were_duplicated_on_the_way() -> None:
    told = fidelity("duplicated")
    link = told["links"]["nic>switch"]
    assert link["received"] > link["sent"] > 1000
    assert link["duplicated"] >= link["received"] - link["sent"] > 10
    assert told["links"]["switch>nic"]["duplicated"] == 0
    assert told["verdict"] == "invalid"
    assert any("nic>switch brought" in reason for reason in told["reasons"])


def test_a_delay_behind_the_send_call() -> None:
    told = fidelity("delayed")
    link = told["links"]["switch>sink"]
    assert link["planned_delay_s"] == 0.0
    assert link["delay_s"] > 1e-3
    assert told["links"]["nic>switch"]["delay_s"] < 0.5e-3
    assert told["verdict"] == "invalid"
    assert any("over switch>sink (mean)" in reason for reason in told["reasons"])


def test_an_interface_that_is_too_narrow_is_named_and_each_lost_frame_counts_once() -> None:
    told = fidelity("narrowed")
    link = told["links"]["switch>sink"]
    assert 0 < link["lost"] <= link["sent"]
    assert 0 < sum(told["lost_outside_queues"].values()) <= told["frames_sent"]
    assert told["verdict"] == "invalid"
    assert told["advised_pace"] is None
    assert (
        "interface p0 of sink (sink.switch) has an MTU of 1000, and the plan's frames of 1500 "
        "octets on switch>sink need 1486"
    ) in told["reasons"]
