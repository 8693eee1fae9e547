"""What the oracle cannot follow it refuses by name: it would judge by half of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.traces.oracle.test_mutants import captured
from traces.oracle.judge import judge

PLAN = """
name = "answers"
duration = "2ms"
[nodes.nic]
kind = "nic"
[nodes.switch]
kind = "switch"
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
[capture]
ports = ["nic.switch", "switch.nic", "switch.sink", "sink.switch"]
"""


@pytest.mark.parametrize(
    ("settings", "lack"),
    [
        (
            [
                'nodes.nic.reaction_point={plugin="hpcc"}',
                'nodes.switch.congestion_point={plugin="int"}',
                'traffic.t.transport={plugin="go-back-n"}',
            ],
            "nic: nic: the stamps that hpcc reads",
        ),
        (
            ['nodes.sink.receiver={plugin="credits"}', 'traffic.t.transport={plugin="credit"}'],
            "nic: nodes.sink.receiver: credits of 'credits'",
        ),
        (
            ['traffic.t.transport={plugin="tcp"}'],
            "nic: traffic.t: acknowledgements of 'tcp' from sink",
        ),
    ],
    ids=["stamps", "receiver", "acknowledgements of a sink"],
)
def test_what_the_oracle_cannot_follow_is_named(
    settings: list[str], lack: str, tmp_path: Path
) -> None:
    resolved = Plan.load(PLAN).with_settings(settings).check(Registry.load())
    paths = captured(resolved, tmp_path)
    with pytest.raises(BadInput, match=f"nothing can be judged: {lack}"):
        judge(paths, resolved)
