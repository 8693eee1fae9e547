"""What the oracle cannot follow it refuses by name: it would judge by half of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.traces.oracle.test_mutants import captured
from traces.oracle.conformance_judge import judge

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


def test_stamps_are_fed_to_no_node(tmp_path: Path) -> None:
    settings = [
        'nodes.nic.reaction_point={plugin="hpcc"}',
        'nodes.switch.congestion_point={plugin="int"}',
        'traffic.t.transport={plugin="go-back-n"}',
    ]
    resolved = Plan.load(PLAN).with_settings(settings).check(Registry.load())
    paths = captured(resolved, tmp_path)
    lack = "nothing can be judged: nic: nic: the stamps that hpcc reads"
    with pytest.raises(BadInput, match=lack):
        judge(paths, resolved)


@pytest.mark.parametrize(
    ("settings", "lack"),
    [
        (
            [
                'nodes.sink.receiver={plugin="receiver-credits"}',
                'traffic.t.transport={plugin="credit"}',
            ],
            "nodes.sink.receiver: what a NIC makes of credits of 'receiver-credits' is not "
            "followed",
        ),
        *(
            (
                [*scheme, f'traffic.t.transport={{plugin="{transport}"}}'],
                f"traffic.t: what a NIC makes of acknowledgements of {transport!r} from sink is "
                "not followed",
            )
            for transport, scheme in (
                ("tcp", []),
                *(
                    (transport, [f'nodes.nic.reaction_point={{plugin="{name}"}}'])
                    for transport in ("go-back-n", "selective", "rc")
                    for name in ("dctcp", "timely", "swift", "newreno", "cubic")
                ),
                ("selective", ['nodes.nic.reaction_point={plugin="nscc"}']),
            )
        ),
    ],
)
def test_what_a_nic_makes_of_answers_is_not_followed_and_named(
    settings: list[str], lack: str, tmp_path: Path
) -> None:
    resolved = Plan.load(PLAN).with_settings(settings).check(Registry.load())
    nic, switch = judge(captured(resolved, tmp_path), resolved).nodes
    assert (nic.name, nic.undecided, nic.frames) == ("nic", [lack], 0)
    assert (switch.name, switch.undecided) == ("switch", [])
    assert switch.frames > 100, "which sends them on as they come, and is judged"
