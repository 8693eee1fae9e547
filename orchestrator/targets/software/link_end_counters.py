"""Counters of both ends of each link, combined: one `LinkCounts` per direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from orchestrator.engine.datapath.link_counters import (
    RECEIVED,
    RECEIVED_LATE,
    RECEIVED_PS,
    RECEIVED_REPEATED,
    SENT,
    SENT_LATE,
    SENT_PS,
    SENT_REPEATED,
    WORDS,
)
from orchestrator.plan import Plan
from orchestrator.run.guarded_link import GuardedLink
from orchestrator.run.link_conservation import LinkCounts
from orchestrator.targets.software.datapath_thread import Thread
from orchestrator.targets.software.dut.dut_fidelity import sent_wrong
from orchestrator.targets.software.network_namespaces import Machines

DEPARTED, LEFT, DROPPED, CAME = range(WORDS, WORDS + 4)
END_WORDS = WORDS + 4
"""A port's counts: those of the data path, then what its emulated port sent less what its link was
to lose, then what its interface sent, gave up and received (-1: not known here)."""


def ends_of(
    threads: Iterable[Thread], machines: Machines, local: Mapping[str, tuple[str, int]]
) -> dict[str, list[int]]:
    """The counts of every port of these threads, when all is quiet."""
    found = {}
    known = {name: machines.interface_counters(name) for name in _owned_machines(machines)}
    for thread in threads:
        world, rows = thread.assembly.world, thread.assembly.indices.port_rows
        for wire, port in enumerate(thread.wires):
            machine, number = local[port]
            counts = known[machine][number] if machine in known else None
            record = world.ports[rows[port]]
            found[port] = [
                *(int(word) for word in thread.rig.tally[wire]),
                int(record["frames_out"] - record["frames_lost"]) + sent_wrong(thread, port),
                counts["tx_packets"] if counts else -1,
                counts["tx_dropped"] + counts["tx_errors"] if counts else 0,
                counts["rx_packets"] if counts else -1,
            ]
    return found


def given_up(ends: Iterable[Sequence[int]], dropped: int, unsent: int, left: int = 0) -> int:
    """Frames that interfaces took from us and never sent, of `dropped` by their own counters.

    A frame that an interface refuses is offered again some thousand times, and each try counts
    there: no more frames are lost than did not leave. Those that we gave up, `unsent`, are counted
    apart. `left` through interfaces of which `ends` does not know.
    """
    offered = 0
    for row in ends:
        offered += row[SENT]
        left += max(row[LEFT], 0)
    return min(dropped, max(offered - left - unsent, 0))


def _owned_machines(machines: Machines) -> list[str]:
    """Machines whose interfaces belong to this run alone, without borrowed NICs."""
    return [name for name, machine in machines.machines.items() if machine.descriptor >= 0]


def crossings_of(
    plan: Plan,
    parts: Sequence[Mapping[str, Sequence[int]]],
    ended_ps: int,
    guarded: Mapping[str, GuardedLink] | None = None,
) -> list[LinkCounts]:
    """Every direction of every link whose two ends were counted.

    `parts`: the ports of each machine. Times are compared where both ends have one clock.
    `guarded`: by direction, what the guards of links counted; these count order and copies, too.
    """
    guarded = guarded or {}
    part_of = {port: part for part, ends in enumerate(parts) for port in ends}
    found = []
    for way in plan.directions():
        sender, receiver = way.sender.entity, way.receiver.entity
        if sender not in part_of or receiver not in part_of:
            continue
        here, there = parts[part_of[sender]][sender], parts[part_of[receiver]][receiver]
        link = plan.links[way.link]
        back = link.delay if link.delay_back is None else link.delay_back
        alike = part_of[sender] == part_of[receiver]
        guard = guarded.get(way.entity)
        found.append(
            LinkCounts(
                entity=way.entity,
                sent=here[SENT],
                received=there[RECEIVED],
                left=_counted(here[LEFT]),
                dropped=given_up([here], here[DROPPED], unsent=0),
                came=_counted(there[CAME]),
                departed=here[DEPARTED],
                repeated=there[RECEIVED_REPEATED] - here[SENT_REPEATED]
                if guard is None
                else guard.total("repeated"),
                reordered=there[RECEIVED_LATE] - here[SENT_LATE]
                if guard is None
                else guard.total("reordered"),
                delay_ps=link.delay if way.sender.forward else back,
                extra_ps=_extra(here, there, ended_ps) if alike else None,
                guarded=guard,
            )
        )
    return found


def _counted(count: int) -> int | None:
    return None if count < 0 else count


def _extra(here: Sequence[int], there: Sequence[int], ended_ps: int) -> int | None:
    """From when frames were due to when they were taken in, in all; the sums may have wrapped."""
    missing = here[SENT] - there[RECEIVED]
    if missing < 0:
        return None
    off = there[RECEIVED_PS] + missing * ended_ps - here[SENT_PS]
    return (off + 2**63) % 2**64 - 2**63
