"""tailback and ns-3 deliver the same frames at the same nanoseconds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import ns3_referee

from tests.referees.ns3_programs import lack

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if (reason := lack()) is not None:
        pytest.skip(reason)
    return ns3_referee.build(tmp_path_factory.mktemp("ns3"))


@pytest.mark.parametrize("case", ns3_referee.CASES, ids=lambda case: case.name)
def test_a_fifo_delivers_and_drops_the_same_frames(program: Path, case: ns3_referee.Fifo) -> None:
    ours, dropped = ns3_referee.tailback_fifo(case)
    theirs, lost = ns3_referee.ns3_fifo(program, case)
    assert len(theirs) > 1000
    assert ours == theirs
    assert (lost > 100) == ("no overload" not in case.name)
    assert dropped == lost
