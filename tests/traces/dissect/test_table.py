"""Whoever reads octets calls a frame what the table of types calls it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.engine.frames.core_frame_types import CORE
from orchestrator.engine.frames.frame_field import NUMBER, READ
from orchestrator.engine.frames.frame_type import FrameType
from orchestrator.engine.records import CNM, PAUSE, PFC, RETURNED
from tests.traces.dissect.test_control_fields import coded
from tests.traces.dissect.test_control_fields import read as dissected
from traces.dissect import KINDS
from traces.run_queries import frame_text

TYPES = [each for each in CORE if each.is_read()]
IN_STATISTICS = {"returned": "data"}
"""What `analyze` counts a type as, where it is not the type's own name in small letters."""
IN_OWN_WORDS = {CNM, PAUSE, PFC}
"""Types that the console words by itself."""
LENGTH = 1500


def octets_of(kind: FrameType) -> tuple[bytes, int]:
    """A frame of a type: all of it, and how long it is."""
    length = kind.octets or LENGTH
    ends = {"source": 7, "destination": 5 if kind.kind == RETURNED else 9, "inner": 9}
    said = {"flow": 5, "sequence": 77, "feedback": 3, "mark": LENGTH if kind.kind == CNM else 0}
    return coded(kind.kind, length, **ends, **said).ljust(length, b"\0"), length


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
def test_the_console_names_it_and_its_numbers(kind: FrameType) -> None:
    octets, length = octets_of(kind)
    name, said = frame_text(np.frombuffer(octets, np.uint8), length)
    assert name == kind.name
    if kind.kind not in IN_OWN_WORDS:
        shown = {"flow": "flow 5", "sequence": "sequence 77", "feedback": "feedback 3"}
        numbers = {each.name for each in kind.fields if each.op == NUMBER and each.flags & READ}
        assert all(text in said for field, text in shown.items() if field in numbers)


def test_statistics_count_it_as_that(tmp_path: Path) -> None:
    headers, _, _ = dissected(tmp_path / "a.pcap", [octets_of(kind)[0] for kind in TYPES])
    found = {kind.name: KINDS[seen] for kind, seen in zip(TYPES, headers["kind"], strict=True)}
    assert found == {kind.name: IN_STATISTICS.get(kind.name, kind.name.lower()) for kind in TYPES}
