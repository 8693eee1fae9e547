"""Everybody in the simulator benchmark simulates the same network."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import peer_cpp
import peer_simpy
import subject


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if peer_cpp.compiler() is None:
        pytest.skip("no C++ compiler")
    return peer_cpp.build(tmp_path_factory.mktemp("peer"))


@pytest.mark.parametrize("sources", [1, 8, 512])
def test_both_peers_deliver_the_same_frames_at_the_same_times(program: Path, sources: int) -> None:
    ours = peer_simpy.run(sources, 100)
    theirs = peer_cpp.run(program, sources, 100)
    assert ours.delivered > 8000
    assert dataclasses.replace(ours, cpu_s=0) == dataclasses.replace(theirs, cpu_s=0)


def test_a_saturated_bottleneck_delivers_its_rate_and_drops_the_rest(program: Path) -> None:
    outcome = peer_cpp.run(program, 8, 1000)
    assert outcome.delivered == pytest.approx(1e9 / (1500 * 8), rel=0.001)
    assert outcome.dropped > 1000


@pytest.mark.parametrize("sources", [1, 8])
def test_tailback_delivers_what_the_peers_deliver(sources: int) -> None:
    """Within 2 frames: its sources have whole bit/s, not whole ps, and its last instant counts."""
    ours = subject.simulate(subject.bare(sources, 1000))
    theirs = peer_simpy.run(sources, 1000)
    assert ours.delivered == pytest.approx(theirs.delivered, abs=2)
    assert ours.dropped == pytest.approx(theirs.dropped, abs=2)
