"""Switches between sources and sinks that answer: what they do is judged, scheme by scheme."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from tests.traces.oracle.test_mutants import captured
from traces.oracle.judge import NodeJudged, judge

# no two frames come in one nanosecond: of such that are dropped no capture has the order
PLAN = """
name = "answers"
duration = "8ms"
[nodes."h{1..3}"]
kind = "nic"
[nodes.s]
kind = "switch"
buffer = "60KB"
[nodes.d]
kind = "sink"
[templates.up]
rate = "1Gb/s"
[links.up1]
like = "up"
ends = ["h1", "s"]
delay = "5us"
[links.up2]
like = "up"
ends = ["h2", "s"]
delay = "5130ns"
[links.up3]
like = "up"
ends = ["h3", "s"]
delay = "5290ns"
[links.down]
ends = ["s", "d"]
rate = "1Gb/s"
delay = "5us"
[traffic.t]
plugin = "bulk"
from = "h{1..3}"
to = "d"
transport = { plugin = "go-back-n" }
[capture]
ports = ["s.d", "s.h1", "s.h2", "s.h3"]
frames = 100000
"""
POINT = "nodes.s.congestion_point"
SCHEMES: dict[str, tuple[list[str], str]] = {
    "dctcp": (
        [
            'nodes.h{1..3}.reaction_point={plugin="dctcp"}',
            POINT + '={plugin="red", low="14999B", high="15KB", most=1}',
        ],
        f"{POINT}.high=16KB",
    ),
    "nscc": (
        [
            'nodes.h{1..3}.reaction_point={plugin="nscc", base_rtt="50us", target="40us"}',
            'traffic.t.transport={plugin="selective"}',
            POINT + '={plugin="red", low="3KB", high="20KB", most=1}',
        ],
        f"{POINT}.low=9KB",
    ),
    "credits": (
        [
            'nodes.d.receiver={plugin="credits"}',
            'traffic.t.transport={plugin="credit", unsolicited="15KB"}',
            POINT + '={plugin="trim", above="12KB"}',
        ],
        f"{POINT}.above=13500B",
    ),
    "newreno": (
        [
            'nodes.h{1..3}.reaction_point={plugin="newreno"}',
            'traffic.t.transport={plugin="selective", min_rto="1ms"}',
        ],
        "nodes.s.buffer=58KB",
    ),
    "cubic": (
        [
            'nodes.h{1..3}.reaction_point={plugin="cubic"}',
            'traffic.t.transport={plugin="selective", min_rto="1ms"}',
        ],
        "nodes.s.buffer=58KB",
    ),
    "swift": (
        ['nodes.h{1..3}.reaction_point={plugin="swift"}'],
        'nodes.s.ports.d.service_rate="999Mb/s"',
    ),
    "timely": (
        ['nodes.h{1..3}.reaction_point={plugin="timely"}'],
        'nodes.s.ports.d.service_rate="999Mb/s"',
    ),
    "codel": (
        [
            'traffic.t.transport={plugin="tcp", congestion="newreno"}',
            POINT + '={plugin="codel", target="100us", interval="1ms"}',
        ],
        f"{POINT}.target=120us",
    ),
    "pie": (
        [
            'traffic.t.transport={plugin="tcp", congestion="newreno"}',
            POINT + '={plugin="pie", target="100us", update="200us", burst="0us", '
            "alpha=100, beta=100}",
        ],
        f"{POINT}.target=150us",
    ),
}
"""By name: what the plan has besides, and how a device is wrong."""


def resolved(*settings: str) -> ResolvedPlan:
    return Plan.load(PLAN).with_settings(list(settings)).check(Registry.load())


def switch_of(paths: list[Path], plan: ResolvedPlan) -> NodeJudged:
    return next(node for node in judge(paths, plan).nodes if node.name == "s")


@pytest.mark.parametrize("name", SCHEMES)
def test_the_switch_conforms_and_one_that_is_set_otherwise_does_not(
    name: str, tmp_path: Path
) -> None:
    has, wrong = SCHEMES[name]
    plan = resolved(*has)
    paths = captured(plan, tmp_path)
    found = switch_of(paths, plan)
    assert (found.finding, found.undecided) == (None, [])
    assert found.frames > 200
    assert switch_of(paths, resolved(*has, wrong)).finding is not None


def test_what_a_sink_answers_has_to_be_captured(tmp_path: Path) -> None:
    has, _ = SCHEMES["dctcp"]
    plan = resolved(*has, 'capture.ports=["s.h1", "s.h2", "s.h3"]')
    with pytest.raises(BadInput, match=r"s: what came in at s\.d was not captured"):
        judge(captured(plan, tmp_path), plan)
