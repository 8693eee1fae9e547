"""What a receiver says goes to the source as its octets say it: credits, and types of plugins."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points

import pytest

from orchestrator.algorithm import receiver
from orchestrator.assembly import assemble
from orchestrator.engine.frames import type_registry
from orchestrator.engine.frames.frame_field import mac, number
from orchestrator.engine.frames.frame_type import FrameType, match_octets
from orchestrator.engine.records import CREDIT, FRAME, record
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.engine.node.test_control_frames import PLACE, from_octets, on_their_way
from tests.orchestrator.engine.node.test_receivers import incast
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import MS, run_in_steps

PULL = 17
PULL_FRAME = FrameType(
    PULL,
    "PULL",
    "a message of a receiver that no type of the core is",
    least=60,
    known=56,
    fixed=[match_octets(12, "88b6"), match_octets(14, "0001")],
    fields=[
        mac("destination", 0),
        mac("source", 6),
        number("feedback", 16, 2),
        number("offset", 20, 4, signed=True),
        number("delta", 24, 4, unit=8, signed=True),
        number("flow", 28, 4, signed=True),
        number("sequence", 32, 8),
        number("created", 40, 8),
    ],
    octets=60,
)
NO_MORE_BITS = 2**40 + 7
WANTED = {
    CREDIT: {"feedback": 15, "offset": 2**32 - 1, "delta": 0, "mark": 0, "sequence": NO_MORE_BITS},
    PULL: {"feedback": 77, "offset": 2**31 - 1, "delta": 776, "mark": 0, "sequence": NO_MORE_BITS},
}
"""Kind -> what comes of 77, 2^40 + 7, 777, 5 and 2^40 + 7."""


class Kind(Params):
    """What it sends."""

    kind: int = CREDIT


def everything(state, params, node, frame, now, message):
    """A request came: all that a message has is said."""
    message.kind = params.kind
    message.feedback = 77
    message.offset = 2**40 + 7
    message.delta = 777
    message.mark = 5
    message.sequence = 2**40 + 7
    return 1


@pytest.fixture
def types_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Types that a test brings are forgotten again."""
    monkeypatch.setattr(type_registry, "_registered", dict(type_registry._registered))
    before = type_registry.type_table().copy()
    yield
    type_registry.type_table()[:] = before


@pytest.mark.usefixtures("types_as_before")
@pytest.mark.parametrize("kind", WANTED)
def test_all_that_it_says_and_no_more_than_its_octets(
    monkeypatch: pytest.MonkeyPatch, kind: int
) -> None:
    mine = receiver("mine", "", Kind, record("unused"), flow_begins=everything, sends=(kind,))
    hooks = {"tailback_algorithms": lambda: [mine], "tailback_frame_types": lambda: [PULL_FRAME]}
    registry = Registry([*entry_points(group=GROUP), entry_point(monkeypatch, "mine", **hooks)])
    table = incast(1) | {"duration": MS}
    table["nodes"]["d"]["receiver"] = {"plugin": "mine", "kind": kind}
    assembly = assemble(Plan(**table).check(registry))
    found = []
    for _ in run_in_steps(assembly, 200):
        for frame in on_their_way(assembly.world):
            if frame.kind == kind:
                said = {name: int(frame[name]) for name in FRAME.names if name not in PLACE}
                assert said == from_octets(frame)
                found.append({name: said[name] for name in WANTED[kind]})
    assert found
    assert all(said == WANTED[kind] for said in found)
