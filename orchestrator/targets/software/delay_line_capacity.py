"""Check before a real-time run: delay lines hold the frames under way on their links.

A link of rate r and delay d has r * d / 8 octets on the way when it is full. A delay line has room
for `buffer` octets, and drops what is more; frames wait in memory that is set aside before the run.
What a delay line of a plugin adds counts where it says how much (`Params.most_added`).
"""

from __future__ import annotations

from orchestrator.assembly.descriptor_bound import descriptors
from orchestrator.assembly.world_builder import slot_octets
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.node.link_delivery import LEAST_INTERVAL_PS
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Direction, ResolvedPlan
from orchestrator.plan.frame_lengths import longest_frames
from orchestrator.plan.time_varying import OverTime
from orchestrator.plan.units import format_duration, format_rate, format_size
from orchestrator.run.machine_info import free_bytes

BYTE_PS = 8 * 10**12
"""Ps that a byte takes at 1 bit/s."""
US = 10**6
"""Ps: capacities are reported in whole microseconds."""


def check_lines(resolved: ResolvedPlan, worlds: int, memory: int | None = None) -> None:
    """Raises BadInput where frames under way do not fit: into a link's `buffer`, or, those of all
    `worlds` together (one for each thread), into `memory` octets. None: what is free here; where
    the system does not tell, memory is not checked."""
    longest = longest_frames(resolved)
    found: dict[str, tuple[int, Problem]] = {}
    for way in resolved.plan.directions():
        needed, problem = _overfull(resolved, way, longest[way.sender.entity])
        if problem is not None and needed > found.get(way.link, (0, problem))[0]:
            found[way.link] = (needed, problem)  # of both ways, which share a buffer's size
    problems = [problem for _, problem in found.values()]
    if not problems:
        memory = free_bytes() if memory is None else memory
        held = None if memory is None else _too_much(resolved, worlds, memory)
        problems = [] if held is None else [held]
    if problems:
        raise BadInput(f"{resolved.plan.source}, on target software", problems)


def room_for(rate: int, delay: int, longest: int, overhead: int) -> int:
    """Octets that a line of `rate` (bit/s) and `delay` (ps) holds at the most, frames of up to
    `longest` octets back to back, each `overhead` longer on the wire.

    Of the frames under way one has left the transmitter in part only, and one is just begun; both
    count in full. The loop may be late by PATIENCE_PS.
    """
    sent = rate * (delay + LEAST_INTERVAL_PS) * longest // (BYTE_PS * (longest + overhead))
    return sent + 2 * longest


def _extremes(resolved: ResolvedPlan, way: Direction) -> tuple[int, int]:
    """The highest rate (bit/s) and longest delay (ps) of a direction, the timeline's included."""
    times = OverTime(resolved)
    added = sum(use.params.most_added() or 0 for use in resolved.stages(way.link))
    return max(times.rates(way)), max(times.delays(way)) + added


def _overfull(resolved: ResolvedPlan, way: Direction, longest: int) -> tuple[int, Problem | None]:
    """Octets that a direction's frames, back to back, need; what is wrong where they do not fit."""
    link = resolved.plan.links[way.link]
    rate, delay = _extremes(resolved, way)
    if delay == 0 or longest == 0:  # no frame waits, or none is sent
        return 0, None
    needed = room_for(rate, delay, longest, link.overhead)
    if needed <= link.buffer:
        return needed, None
    paid = longest + link.overhead
    fits = (link.buffer - 2 * longest) * BYTE_PS * paid // (rate * longest) - LEAST_INTERVAL_PS
    shorter = f", or a delay of at most {format_duration(fits // US * US)}" if fits >= US else ""
    return needed, Problem(
        f"links.{way.link}.buffer",
        format_size(link.buffer),
        f"{way.entity} at {format_rate(rate)} with a delay of {format_duration(delay)} has up to "
        f"{needed} octets under way, and more than the buffer are dropped; a buffer of at least "
        f"{format_size(needed)} is expected{shorter}",
    )


def _too_much(resolved: ResolvedPlan, worlds: int, memory: int) -> Problem | None:
    """The link with most under way, where the memory for all frames is not to be had here."""
    longest = max(longest_frames(resolved).values(), default=0)
    frame = slot_octets(longest) + empty_descriptors(1).itemsize
    needed = worlds * descriptors(resolved) * frame
    ways = {way: _extremes(resolved, way) for way in resolved.plan.directions()}
    if needed <= memory or not ways:
        return None
    most = max(ways, key=lambda way: ways[way][0] * ways[way][1])
    rate, delay = ways[most]
    return Problem(
        f"links.{most.link}.delay",
        format_duration(delay),
        f"frames that wait in queues and delay lines need up to {needed} octets of memory, and "
        f"{memory} are free here; most are under way on {most.entity}, at {format_rate(rate)}: "
        f"less rate x delay, or a smaller links.{most.link}.buffer "
        f"({format_size(resolved.plan.links[most.link].buffer)}), is expected",
    )
