"""A run with stamps is refused by name: the oracle feeds none, and would judge by half of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.traces.oracle.test_mutants import captured
from traces.oracle.judge import judge

PLAN = """
name = "stamps"
duration = "2ms"
[nodes.nic]
kind = "nic"
reaction_point = { plugin = "hpcc" }
[nodes.switch]
kind = "switch"
congestion_point = { plugin = "int" }
[nodes.sink]
kind = "sink"
[links.up]
ends = ["nic", "switch"]
rate = "1Gb/s"
[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"
[traffic.t]
plugin = "bulk"
from = "nic"
to = "sink"
transport = { plugin = "go-back-n" }
[capture]
ports = ["nic.switch", "switch.nic", "switch.sink", "sink.switch"]
"""


def test_what_the_oracle_cannot_follow_is_named(tmp_path: Path) -> None:
    resolved = Plan.load(PLAN).check(Registry.load())
    paths = captured(resolved, tmp_path)
    with pytest.raises(
        BadInput, match="nothing can be judged: nic: nic: the stamps that hpcc read"
    ):
        judge(paths, resolved)
