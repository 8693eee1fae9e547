"""Memory of a world: for certain, and for frames up to what the machine has.

What a run takes for frames is decided by those that are under way at once, and known afterwards.
Beforehand there is an upper bound: every queue and link at its fullest, all at once
(`assembly.descriptor_bound`). It is not demanded. A world has room for that many frames, or for as
many as the memory holds that is available; only a run in which more are under way is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.engine.frames import telemetry_header
from orchestrator.engine.records import FRAME, MADE
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.units import format_size

WORD = 8
LEAST_FRAMES = 4096
"""Frames that every world has room for."""
SHARE = 0.75
"""Of the available memory: what frames may take."""
MOST_MADE = (1 << 31) - 1
"""Rows of `made`: their numbers have 32 bits."""


@dataclass(frozen=True)
class Room:
    """Frames that a world has room for, and how many could be under way at once."""

    frames: int
    bound: int
    octets: int
    """Memory of one of them."""


def frame_octets(stamps: int) -> int:
    """Memory of a frame with room for the stamps of `stamps` hops (0: none in this plan)."""
    words = telemetry_header.FIRST + telemetry_header.WORDS * stamps if stamps else 0
    return FRAME.itemsize + WORD + words * WORD  # and its place on the stack of unused ones


def frames_within(bound: int, stamps: int, memory: int | None) -> Room:
    """Room for `bound` frames, or for as many as `SHARE` of `memory` octets hold (None: no
    limit).

    The rest is for all else: the records of nodes, samples, the analysis and the report.
    """
    octets = frame_octets(stamps)
    most = bound if memory is None else max(int(memory * SHARE) // octets, LEAST_FRAMES)
    return Room(min(bound, most), bound, octets)


def made_within(bound: int, memory: int | None) -> int:
    """Rows for `bound` frames in host queues, or for as many as `SHARE` of `memory` octets hold."""
    most = MOST_MADE if memory is None else max(int(memory * SHARE) // MADE.itemsize, LEAST_FRAMES)
    return min(bound, most, MOST_MADE)


def check_certain(resolved: ResolvedPlan, certain: int, memory: int | None) -> None:
    """Raises BadInput where `certain` octets, which a run takes whatever happens in it, are more
    than the `memory` that is available (None: not known)."""
    if memory is None or certain <= memory:
        return
    problem = Problem(
        "sample_interval, links",
        f"{certain} octets of records and samples",
        f"{memory} octets of memory are available here; a longer sample_interval, fewer nodes and "
        "links, or a machine with more memory is expected",
    )
    raise BadInput(str(resolved.plan.source), [problem])


def exhausted(resolved: ResolvedPlan, room: Room, now: int) -> BadInput:
    """The refusal of a run in which more frames are under way than memory holds, at `now` (ps)."""
    problem = Problem(
        "nodes, links",
        f"more than {room.frames} frames under way by {now / 1e12:.9g} s",
        f"they take {format_size(room.octets)} of memory each, and no more were available when the "
        f"run began; full queues and links could hold {room.bound}, which is "
        f"{room.bound * room.octets / 1e9:.3g} GB. Smaller `buffer`s, fewer hosts, less traffic, "
        "or a machine with more memory is expected",
    )
    return BadInput(str(resolved.plan.source), [problem])
