"""Every type of frame is counted by its own name, in whatever order types follow each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.frames.core_frame_types import CORE
from orchestrator.engine.frames.frame_type import FrameType
from orchestrator.engine.records import CNM, CREDIT, DATA, REQUEST, RETURNED, TRIMMED
from tests.traces.dissect.test_control_fields import coded
from tests.traces.dissect.test_control_fields import read as written
from traces.analysis import analyze

TYPES = [each for each in CORE if each.is_read()]
LENGTH = 1500
drawn = st.tuples(st.sampled_from(TYPES), st.integers(1, 3), st.integers(0, 2**31 - 1))
"""A type, a flow and a sequence number."""


def octets_of(kind: FrameType, flow: int, sequence: int) -> bytes:
    """A frame from node 7 to node 9; one that is returned goes to the flow's own node."""
    ends = {"source": 7, "destination": flow if kind.kind == RETURNED else 9, "inner": 9}
    said = {"flow": flow, "sequence": sequence, "mark": LENGTH if kind.kind == CNM else 0}
    length = kind.octets or LENGTH
    return coded(kind.kind, length, **ends, **said).ljust(length, b"\0")


def name_of(kind: FrameType) -> str:
    return "data" if kind.kind == RETURNED else kind.name.lower()


@given(st.lists(drawn, min_size=1, max_size=40))
def test_every_type_is_counted_as_itself(
    tmp_path_factory: pytest.TempPathFactory, frames: list[tuple[FrameType, int, int]]
) -> None:
    """Types that share addresses and ports (ACK and SACK, credit and request) are told apart though
    all that flows are remembered by is alike."""
    path = tmp_path_factory.mktemp("names") / "a.pcap"
    written(path, [octets_of(*each) for each in frames])
    (seen,) = analyze(path).interfaces
    counted = {name: count for name, count in seen.frames.items() if count}
    assert counted == Counter(name_of(kind) for kind, _, _ in frames)


def types(*kinds: int) -> list[FrameType]:
    return [next(each for each in TYPES if each.kind == kind) for kind in kinds]


def test_a_trimmed_frame_is_no_data_that_came(tmp_path: Path) -> None:
    """It is neither among the flow's frames and octets nor among what was not lost."""
    data, trimmed = types(DATA, TRIMMED)
    path = tmp_path / "a.pcap"
    sent = [(data, 0), (trimmed, 1), (data, 2), (trimmed, 3), (data, 4)]
    written(path, [octets_of(kind, 1, sequence) for kind, sequence in sent])
    (seen,) = analyze(path).interfaces
    (flow,) = seen.flows
    assert (flow.frames, flow.octets, flow.lost) == (3, 3 * LENGTH, 2)
    assert [(one.kind, one.frames) for one in seen.conversations] == [("trimmed", 2)]


def test_credits_and_requests_of_one_pair_of_ports_are_two_conversations(tmp_path: Path) -> None:
    credit, request = types(CREDIT, REQUEST)
    path = tmp_path / "a.pcap"
    written(path, [octets_of(kind, 1, 5) for kind in (credit, request, credit)])
    (seen,) = analyze(path).interfaces
    assert {one.kind: one.frames for one in seen.conversations} == {"credit": 2, "request": 1}
