"""Frames up to the longest that a plan may have are carried as all others are."""

from __future__ import annotations

import pytest

from orchestrator.assembly.world_builder import SLOT_OCTETS, slot_octets
from orchestrator.engine.datapath import mmsg_batch
from orchestrator.fuzz.invariant_check import check_plan
from orchestrator.live.live_session import Session
from orchestrator.plan.field_types import LONGEST_FRAME
from orchestrator.progress import silent
from orchestrator.registry import Registry
from tests.orchestrator.worlds import assembled, at, line_of_three

RATE = 25 * 10**7


@pytest.mark.parametrize(
    ("longest", "room"), [(0, SLOT_OCTETS), (2048, 2048), (2049, 2112), (9000, 9024), (9216, 9216)]
)
def test_a_frame_has_room(longest: int, room: int) -> None:
    assert slot_octets(longest) == room


def test_the_longest_frame_of_a_plan_can_be_padded() -> None:
    assert mmsg_batch.LONGEST == LONGEST_FRAME


def test_a_simulated_world_keeps_no_octets() -> None:
    table = line_of_three()
    table["traffic"]["gen"]["frame"] = 9_000
    assert len(assembled(table).world.octets) == 1


@pytest.mark.software
@pytest.mark.shares_cores
@pytest.mark.parametrize("frame", [1500, 2048, 2049, 9216])
def test_frames_of_every_length_arrive(frame: int) -> None:
    """At a tenth of the pace; they were taken for those of strangers."""
    table = line_of_three()
    table["traffic"]["gen"] |= {"frame": frame, "rate": RATE}
    resolved = check_plan(table, "software")
    session = Session(resolved, "software", pace=0.1, cores=1)
    recording = Registry.load().target("software").run(resolved, silent, session)
    sent, received = (
        at(recording, "gen", name, table["duration"]) for name in ("frames_sent", "frames_received")
    )
    assert sent > 5
    assert sent - 2 <= received <= sent
    assert recording.fidelity is not None
    assert recording.fidelity["lost_outside_queues"]["not understood"] == 0
