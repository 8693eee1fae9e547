"""What a target cannot do is refused by name, on every target that is installed."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from orchestrator.algorithm import congestion_point
from orchestrator.capability import Capability
from orchestrator.engine.frames.frame_field import number
from orchestrator.engine.frames.frame_type import FrameType
from orchestrator.engine.records import record
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.registry import GROUP, Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import Empty, Table, line_of_three

TARGETS = ("gateware", "simulated", "software")
OUTSIDE = "hourglass"
ALL = (*TARGETS, OUTSIDE)
"""Those that are installed, and one of a package from outside."""
PACKAGE = Path(__file__).parents[2] / "third_party" / OUTSIDE
PLANS: dict[Capability, tuple[str, str]] = {
    Capability.ACKNOWLEDGEMENTS: ("dctcp", "dctcp|go-back-n"),
    Capability.STAMPS: ("hpcc-incast", "hpcc|int"),
    Capability.RECEIVERS: ("credits-incast", "credits?"),
    Capability.TRIMMING: ("credits-incast", "trim"),
    Capability.ENTROPY: ("nscc", "nscc"),
    Capability.LANES: ("priority-demotion", "priority-demotion"),
    Capability.SCHEDULERS: ("strict-priority", "strict-priority"),
    Capability.BUFFER_MANAGEMENT: ("dynamic-threshold", "dynamic-threshold"),
    Capability.DEPENDENCIES: ("all-reduce", "all-reduce"),
}
"""A plan that needs each, and what of it is named then."""


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[EntryPoint]:
    """The entry point of the target from outside, as its package says it."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]
    ((name, module),) = project["entry-points"][GROUP].items()
    yield EntryPoint(name, module, GROUP)
    sys.modules.pop(module, None)


def test_these_are_all_there_are() -> None:
    assert sorted(target.name for target in Registry.load().targets) == list(TARGETS)


@pytest.mark.parametrize("lacking", PLANS)
@pytest.mark.parametrize("name", ALL)
def test_a_need_that_it_is_not_capable_of(
    monkeypatch: pytest.MonkeyPatch, outside: EntryPoint, name: str, lacking: Capability
) -> None:
    registry = Registry([*entry_points(group=GROUP), outside])
    shipped, named = PLANS[lacking]
    resolved = Plan.load(registry.plans()[shipped], registry).check(registry)
    target = registry.target(name)
    everything = frozenset(Capability) - {lacking}
    monkeypatch.setattr(type(target), "capabilities", everything)
    with pytest.raises(Refused) as refused:
        target.check(resolved, registry.targets)
    told = str(refused.value)
    if name == "gateware":  # it says all that it lacks, of which kernels are the most part
        assert re.search(rf"\b({named}) does not run on gateware|it has no transport", told)
    else:
        assert re.search(rf"target {name}: .* ({named}) of .* lacks {lacking}\.", told)
        would = sorted({"simulated", "software", OUTSIDE} - {name})
        assert f"It runs on: {', '.join(would)}." in f"{told} {refused.value.remedy}"


def silent(state, params, queue, frame, now, message):
    """A frame arrives, and no message is sent."""
    return 0


def with_algorithm(
    monkeypatch: pytest.MonkeyPatch, outside: EntryPoint, types: Callable[[], list[FrameType]]
) -> Registry:
    """What is installed, the target from outside, and a congestion point that sends kind 60."""
    mine = congestion_point("mine", "", Empty, record("unused"), arrival=silent, sends=(60,))
    hooks = {"tailback_algorithms": lambda: [mine], "tailback_frame_types": types}
    point = entry_point(monkeypatch, "mine", **hooks)
    registry = Registry([*entry_points(group=GROUP), outside, point])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
    return registry


def uses_it(target: str) -> Table:
    table = line_of_three() | {"target": target}
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "mine"}
    return table


def none() -> list[FrameType]:
    """Nobody describes kind 60."""
    return []


def lossy() -> list[FrameType]:
    """A type whose layout does not come back from its octets."""
    twice = [number("feedback", 20, 1), number("feedback", 22, 1)]
    return [FrameType(60, "x", "", 60, 60, (), twice)]


@pytest.mark.parametrize(
    ("types", "told"),
    [
        (none, []),
        (lossy, ["frame type x: feedback is read from two places"]),
    ],
)
@pytest.mark.parametrize("target", ALL)
def test_an_unknown_type_of_frame_and_one_whose_layout_does_not_come_back(
    monkeypatch: pytest.MonkeyPatch,
    outside: EntryPoint,
    target: str,
    types: Callable[[], list[FrameType]],
    told: list[str],
) -> None:
    """Its algorithm is not there, the plan that names it is refused, what is wrong is told."""
    registry = with_algorithm(monkeypatch, outside, types)
    assert registry.target(target).name == target
    with pytest.raises(BadInput, match="unknown congestion_point 'mine'"):
        run(Plan(**uses_it(target)), target=target, out=None)
    *of_type, of_algorithm = registry.problems
    assert "no plugin describes the frames of kind 60" in of_algorithm
    assert len(of_type) == len(told)
    for part, problem in zip(told, of_type, strict=True):
        assert part in problem


@pytest.mark.parametrize("name", ["simulated", "software", OUTSIDE])
@pytest.mark.parametrize("node", ["nic", "switch"])
def test_nodes_that_live_elsewhere_are_for_a_target_that_joins_them(
    outside: EntryPoint, name: str, node: str
) -> None:
    registry = Registry([*entry_points(group=GROUP), outside])
    target, table = registry.target(name), line_of_three()
    target.check(Plan(**table).check(registry), registry.targets)
    table["nodes"][node]["target"] = name
    target.check(Plan(**table).check(registry), registry.targets)
    table["nodes"][node]["target"] = "gateware"
    with pytest.raises(Refused, match=f"{node} wants to live on gateware"):
        target.check(Plan(**table).check(registry), registry.targets)
