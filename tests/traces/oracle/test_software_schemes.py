"""Schemes on real frames: their switches conform, one that is set otherwise does not, and what is
not followed is named.

At a pace at which two cores have time for a gigabit: what a capture cannot decide because frames
are late would be no answer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.targets.software.namespace_probe import probe
from tests.traces.oracle.test_answers import PLAN, SCHEMES
from traces.oracle.conformance_judge import NodeJudged, Settings, judge
from traces.oracle.replay_command import lateness

pytestmark = pytest.mark.software
PACE = 0.005
CAPTURED = 'capture.ports=["s.d", "s.h1", "s.h2", "s.h3", "h1.s"]'


@pytest.mark.parametrize(
    ("name", "answers"), [("codel", "acknowledgements of"), ("credits", "credits of")]
)
def test_a_capture_of_real_frames_is_answered_as_one_of_the_simulator(
    name: str, answers: str, tmp_path: Path
) -> None:
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    has, wrong = SCHEMES[name]
    plan = Plan.load(PLAN).with_settings([*has, CAPTURED])
    folder = run(plan, target="software", out=tmp_path, report=False, pace=PACE).folder
    assert folder is not None
    paths = sorted((folder / "captures").iterdir())
    registry, known = Registry.load(), Settings(late_ns=lateness(folder))

    def judged(*more: str) -> dict[str, NodeJudged]:
        """Its nodes, by a plan that is changed."""
        nodes = judge(paths, plan.with_settings(list(more)).check(registry), known).nodes
        return {node.name: node for node in nodes}

    found = judged()
    assert (found["s"].finding, found["s"].undecided) == (None, [])
    assert found["s"].frames > 200
    (said,) = found["h1"].undecided
    assert f"what a NIC makes of {answers}" in said
    assert "is not followed" in said
    finding = judged(wrong)["s"].finding
    assert finding is not None
    assert finding.rule == "queue.drop"
