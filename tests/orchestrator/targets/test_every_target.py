"""What a target cannot do is refused by name, on every target that is installed."""

from __future__ import annotations

import re
from importlib.metadata import entry_points

import pytest

from orchestrator.algorithm import congestion_point
from orchestrator.capability import Capability
from orchestrator.engine.frames.field import number
from orchestrator.engine.frames.frametype import FrameType
from orchestrator.engine.records import record
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.registry import GROUP, Registry
from orchestrator.run.execute import run
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import Empty, Table, line_of_three

TARGETS = ("gateware", "simulated", "software")
PLANS: dict[Capability, tuple[str, str]] = {
    Capability.ACKNOWLEDGEMENTS: ("dctcp", "dctcp|go-back-n"),
    Capability.STAMPS: ("hpcc-incast", "hpcc|int"),
    Capability.RECEIVERS: ("credits-incast", "credits?"),
    Capability.TRIMMING: ("credits-incast", "trim"),
    Capability.ENTROPY: ("nscc", "nscc"),
    Capability.LANES: ("aside", "aside"),
    Capability.DEPENDENCIES: ("all-reduce", "all-reduce"),
}
"""A plan that needs each, and what of it is named then."""


def test_these_are_all_there_are() -> None:
    assert sorted(target.name for target in Registry.load().targets) == list(TARGETS)


@pytest.mark.parametrize("lacking", PLANS)
@pytest.mark.parametrize("name", TARGETS)
def test_a_need_that_it_is_not_capable_of(
    monkeypatch: pytest.MonkeyPatch, name: str, lacking: Capability
) -> None:
    registry = Registry.load()
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


def sends(kind: int, *types: FrameType, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """With a congestion point that sends frames of a kind."""
    mine = congestion_point("mine", "", Empty, record("unused"), sends=(kind,))
    hooks = {"tailback_algorithms": lambda: [mine], "tailback_frame_types": lambda: types}
    return Registry([*entry_points(group=GROUP), entry_point(monkeypatch, "mine", **hooks)])


def uses_it(target: str) -> Table:
    table = line_of_three() | {"target": target}
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "mine"}
    return table


@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_type_of_frame(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Its algorithm is not there, and the plan that names it is told."""
    known = sends(60, monkeypatch=monkeypatch)
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: known))
    with pytest.raises(BadInput, match="unknown congestion_point 'mine'"):
        run(Plan(**uses_it(target)), target=target, out=None)
    assert "nobody describes the frames of kind 60" in known.problems[0]


def test_a_layout_that_does_not_come_back_makes_no_type_for_any_target() -> None:
    twice = [number("feedback", 20, 1), number("feedback", 22, 1)]
    with pytest.raises(ValueError, match="feedback is read from two places"):
        FrameType(60, "x", "", 60, 60, (), twice)
