"""The table of frame types: every type comes back from its octets, and what cannot is refused."""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orchestrator.algorithm import congestion_point
from orchestrator.engine.frames import frame_codec, type_registry
from orchestrator.engine.frames.core_frame_types import CORE
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_codec import sampled_length
from orchestrator.engine.frames.frame_field import FILL_FF, NUMBER, WRITTEN, Field, mac, number
from orchestrator.engine.frames.frame_field import READ as IS_READ
from orchestrator.engine.frames.frame_type import FrameType, match_octets, table, write_octets
from orchestrator.engine.records import CE, CNM, DATA, FRAME, RETURNED, record
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import Empty

ENDS = [mac("destination", 0), mac("source", 6)]
OUTSIDE = Path(__file__).parents[2] / "third_party" / "fine-grained" / "fine_grained.py"


def types_of(file: Path) -> list[FrameType]:
    """The types that the module of a package from outside has."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # where the types of its parameters are looked up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[file.stem]
    return [each for each in vars(module).values() if isinstance(each, FrameType)]


INSTALLED = Registry.load().frame_types
BY_NAME = {each.name: each for each in [*INSTALLED, *types_of(OUTSIDE)]}
"""Those of the core, of everything that is installed, and of a package from outside."""
TABLE = table(list(BY_NAME.values()))
READ = sorted(name for name, each in BY_NAME.items() if each.is_read())
BOTH = IS_READ | WRITTEN
int64 = st.integers(-(2**63), 2**63 - 1)
address = st.integers(0, 2**24 - 1)


def fields(frame: np.record) -> dict[str, int]:
    return {name: int(frame[name]) for name in FRAME.names}


@pytest.mark.parametrize("name", READ)
@settings(max_examples=60)
@given(
    words=st.lists(int64, min_size=len(FRAME), max_size=len(FRAME)),
    ends=st.tuples(address, address, address),
    flow=st.integers(-1, 2**24 - 2),
    priority=st.integers(0, 7),
    length=st.integers(106, 9216),
    mark=st.integers(70, 65_551),
)
def test_what_a_type_says_is_said_again_from_its_octets(
    name: str,
    words: list[int],
    ends: tuple[int, int, int],
    flow: int,
    priority: int,
    length: int,
    mark: int,
) -> None:
    """Whatever is in a descriptor: its octets' descriptor has the same octets, and is the same."""
    kind = BY_NAME[name]
    frame = empty_descriptors(1)[0]
    for field, word in zip(FRAME.names, words, strict=True):
        frame[field] = word
    frame.kind, frame.length, frame.priority, frame.flow = kind.kind, length, priority, flow
    frame.source, frame.destination, frame.inner = ends
    if kind.kind == CNM:
        frame.mark = mark  # the length of the frame that it is about
    if kind.kind == RETURNED:
        frame.flow = frame.destination
    if kind.kind == DATA:
        assume(frame.mark & CE != CE or frame.destination != frame.flow)
    first, again = np.zeros(128, np.uint8), np.zeros(128, np.uint8)
    size = frame_codec.encode(TABLE, frame, first)
    assert size == min(kind.known, sampled_length(frame.mark) if kind.sample else kind.known)
    canonical, back = empty_descriptors(2)
    assert frame_codec.decode(TABLE, first, length, canonical) == kind.kind
    assert frame_codec.encode(TABLE, canonical, again) == size
    assert again.tobytes() == first.tobytes()
    assert frame_codec.decode(TABLE, again, length, back) == kind.kind
    assert fields(back) == fields(canonical)


def extremes(part: Field) -> tuple[int, int]:
    """The least and the largest value that a field's octets can say, as a descriptor has it."""
    bits = part.bits or 8 * part.octets
    first, last = (
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if part.signed else (0, (1 << bits) - 1)
    )
    if bits == 64:
        first, last = -(2**63), 2**63 - 1
    if part.flags & FILL_FF:
        last -= 1  # all ones stand for NONE
    least, most = ((wire - part.plus) * part.unit for wire in (first, last))
    return least, most


@pytest.mark.parametrize("name", READ)
def test_no_field_is_left_out_or_cut(name: str) -> None:
    """Each number of a type alone: what its octets can say is there when they are read."""
    kind = BY_NAME[name]
    both = [part for part in kind.fields if part.op == NUMBER and part.flags & BOTH == BOTH]
    for part in both:
        needed = {CNM: "mark", RETURNED: "flow"}.get(kind.kind)  # other octets go by it
        if part.name == needed or [each.name for each in both].count(part.name) > 1:
            continue
        for value in extremes(part):
            frame, back = empty_descriptors(2)
            frame.kind, frame.length, frame.flow, frame.mark = kind.kind, 1500, 5, 1500
            frame.source, frame.destination, frame.inner = 7, 5 if kind.kind == RETURNED else 9, 9
            frame[part.name] = value
            octets = np.zeros(128, np.uint8)
            assert frame_codec.encode(TABLE, frame, octets) > 0
            assert frame_codec.decode(TABLE, octets, 1500, back) == kind.kind, (part.name, value)
            assert int(back[part.name]) == value, part.name


def test_the_only_types_that_are_not_read_are_those_that_say_so() -> None:
    assert sorted(set(BY_NAME) - set(READ)) == ["bridged", "host"]


def test_no_two_types_have_a_kind_or_a_name_together() -> None:
    of_all = BY_NAME.values()
    assert len({each.kind for each in of_all}) == len(of_all) == len(INSTALLED) + 1
    assert {each.name for each in CORE} < set(BY_NAME)
    assert [row.described for row in table(CORE)].count(1) == len(CORE)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"kind": 64}, "kind 64 is not 0 to 63"),
        ({"least": 60.5}, "least is 60.5; a whole number is expected"),
        ({"kind": 16.0}, "kind is 16.0; a whole number is expected"),
        ({"known": True}, "known is True; a whole number is expected"),
        ({"octets": "110"}, "octets is '110'; a whole number is expected"),
        ({"read_as": 1.5}, "read_as is 1.5; a whole number is expected"),
        ({"is_ip": 1}, "is_ip is 1; True or False is expected"),
        ({"carried": 3}, "carried 3 is not 0 to 2"),
        ({"rewrite": -1}, "rewrite -1 is not 0 to 3"),
        ({"octets": -110}, "octets -110 is not 0 to 9216"),
        ({"least": 10**6}, "least 1000000 is not 14 to 9216"),
        ({"fields": [Field("feedback", 20.5, 2)]}, "at is 20.5; a whole number is expected"),
        ({"fields": [Field("feedback", 20, 2, unit=0.5)]}, "unit is 0.5; a whole number"),
        ({"stamps": 59}, "stamps begin among its known octets"),
        ({"known": 61}, "known 61 is more than its least"),
        ({"fields": [number("feedback", 59, 2)]}, "octets 59 to 60 are not among its 60 known"),
        ({"fields": [number("fedback", 20, 2)]}, "a descriptor has no field 'fedback'"),
        ({"fields": [number("feedback", 20, 2, bits=17)]}, "has 17 bits in 2 octets"),
        ({"fields": [number("offset", 20, 2, unit=0)]}, "offset has the unit 0"),
        (
            {"fields": [number("feedback", 20, 2), number("offset", 21, 2)]},
            "offset at octet 21 is written over other octets",
        ),
        (
            {"fixed": [match_octets(20, "0102")], "fields": [number("feedback", 21, 1)]},
            "feedback at octet 21 is written over",
        ),
        (
            {"fixed": [write_octets(20, "ff")], "fields": [Field("feedback", 20, 1, bits=4)]},
            "feedback at octet 20 is written over",
        ),
        (
            {"fields": [number("feedback", 20, 1), number("feedback", 22, 1)]},
            "feedback is read from two places",
        ),
    ],
)
def test_a_layout_that_cannot_be_or_does_not_come_back_is_refused(
    more: dict[str, object], told: str
) -> None:
    usual: dict[str, object] = {"kind": 16, "name": "x", "summary": "", "least": 60, "known": 60}
    with pytest.raises(ValueError, match="frame type x: ") as refused:
        FrameType(**(usual | more))  # type: ignore[arg-type]
    assert told in str(refused.value)


def plugin_problems(monkeypatch: pytest.MonkeyPatch, *types: FrameType) -> list[str]:
    """What the registry says of a plugin that brings some types; they are forgotten again."""
    monkeypatch.setattr(type_registry, "_registered", dict(type_registry._registered))
    before = type_registry.type_table().copy()
    plugin = entry_point(monkeypatch, "mine", tailback_frame_types=lambda: types)
    registry = Registry([plugin])
    try:
        assert registry.frame_types
    finally:
        type_registry.type_table()[:] = before
    return registry.problems


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        (CNM, "mine", "in the way of CNM (kind 1)"),
        (20, "CNM", "in the way of CNM (kind 1)"),
        (
            61,
            "mine",
            "kind 61 is kept for the core; those of plugins begin with 16 and end with 60",
        ),
    ],
)
def test_a_type_in_the_way_of_another_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: int, name: str, told: str
) -> None:
    (problem,) = plugin_problems(monkeypatch, FrameType(kind, name, "", 60, 60, (), ENDS))
    assert told in problem


def test_an_algorithm_that_sends_what_nobody_describes_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def arrival(state, params, queue, frame, now, message):
        return 0

    mine = congestion_point("mine", "", Empty, record("x"), arrival=arrival, sends=(60,))
    plugin = entry_point(monkeypatch, "mine", tailback_algorithms=lambda: [mine])
    registry = Registry([*entry_points(group=GROUP), plugin])
    assert "mine" not in {each.name for each in registry.algorithms}
    (problem,) = registry.problems
    assert "no plugin describes the frames of kind 60 that it sends" in problem
