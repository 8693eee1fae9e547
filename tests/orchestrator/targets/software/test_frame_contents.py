"""Frames are rewritten, replaced, dropped or delayed in the middle of a link: the run says so.

Each case names the kind of frame, the link and the count; a relay that passes all on says nothing.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.namespace_probe import probe
from orchestrator.targets.software.worker_process import Worker
from tests.trials import plans

pytestmark = [pytest.mark.software, pytest.mark.timeout(300)]
DURATION, PACE = "0.25s", 0.25
LEFT_ALONE = {"kind": "relay alone", "strength": 1.0, "link": "up"}


@functools.cache
def fidelity(plan: str, link: str, way: str, action: str, frames: str, value: float) -> Any:
    """What fidelity says of a run whose frames of a kind are changed on a link."""
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    text = Plan.load(plans.of_kind(plan, DURATION, 1)).check(Registry.load()).plan.to_toml()
    what = LEFT_ALONE | {"link": link}
    if action:
        what = {"kind": "frames", "strength": 1.0, "link": link, "way": way, "action": action}
        what |= {"frames": frames, "value": value, "pattern": "always", "seed": 1}
    with Worker("tests.trials.distorted:run", text, what, PACE, 1) as worker:
        list(worker.reports())
    return worker.result.fidelity


CASES = [
    # plan, link, way, action, frames, value (s), what the reason says
    ("loop", "up", "back", "rewrite", "control", 0.0, r"switch>nic changed .* of (\d+) CNM"),
    ("loop", "up", "back", "replace", "control", 0.0, r"switch>nic brought (\d+) .*\(\1 CNM\)"),
    ("loop", "up", "back", "drop", "control", 0.0, r"switch>nic did not deliver (\d+) CNM"),
    ("loop", "up", "back", "delay", "control", 0.02, r"switch>nic kept CNM frames back by (\d+)"),
    ("loop", "up", "forward", "later", "data", 0.0, r"nic>switch changed .* of (\d+) data"),
    ("marked", "up", "back", "later", "control", 0.0, r"switch>nic changed .* of (\d+) ACK"),
    ("marked", "up", "back", "double", "control", 0.0, r"switch>nic brought (\d+) .*\(\1 ACK\)"),
    ("marked", "down", "forward", "unmark", "data", 0.0, r"switch>sink delivered (\d+) frames wi"),
    ("steady", "down", "forward", "mark", "data", 0.0, ""),
    ("paused", "up", "back", "rewrite", "control", 0.0, r"switch>nic changed .* of (\d+) PAUSE"),
    ("steady", "up", "forward", "stall", "data", 0.03, r"nic>switch delayed frames by more than"),
]


@pytest.mark.parametrize(
    ("plan", "link", "way", "action", "frames", "value", "says"),
    CASES,
    ids=[f"{case[0]}-{case[3]}-{case[4]}" for case in CASES],
)
def test_frames_that_are_changed_on_a_link_are_named(
    plan: str, link: str, way: str, action: str, frames: str, value: float, says: str
) -> None:
    found = fidelity(plan, link, way, action, frames, value)
    if not says:  # a CBR frame can take no mark: nothing was changed
        assert not any("changed" in reason or "CE mark" in reason for reason in found["reasons"])
        return
    assert found["verdict"] == "invalid", found["reasons"]
    named = [re.search(says, reason) for reason in found["reasons"]]
    counts = [int(one.group(1)) for one in named if one is not None and one.groups()]
    assert any(named), found["reasons"]
    assert all(count > 0 for count in counts)


@pytest.mark.parametrize("plan", plans.DRAWN)
def test_a_relay_that_changes_nothing_changes_no_frame(plan: str) -> None:
    found = fidelity(plan, "up", "forward", "", "", 0.0)
    for link in found["links"].values():
        for kind in link["kinds"].values():
            assert kind["sent"] >= kind["received"] > 0
            assert [kind[n] for n in ("changed", "repeated", "reordered", "missing")] == [0] * 4
        assert link["marks"]["sent"] - link["marks"]["received"] in range(40)
