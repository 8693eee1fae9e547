"""Message schedules of every flow, from the plan's traffic sources."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator.assembly.message_dependencies import Gates, dependency_problem
from orchestrator.assembly.telemetry_space import headers, room
from orchestrator.engine.records import MESSAGE, NEVER, NONE
from orchestrator.engine.workload import ApplicationMessages, Connections
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Nic, Plan, ResolvedPlan
from orchestrator.plan.queue_pairs import packet_lengths

MOST_MESSAGES = 5_000_000
"""Of all entries together: some 300 MB."""


@dataclass(frozen=True)
class EntryMessages:
    """Messages that the flows of a traffic entry carry: MESSAGE[n] of each, `flow` not filled in
    yet, and the gates that these name, which count from those of the entries before it."""

    flows: list[np.ndarray]
    gates: Gates | None


def connections(resolved: ResolvedPlan, name: str) -> Connections:
    """The flows of a traffic entry, as its schedule sees them."""
    plan = resolved.plan
    entry = plan.traffic[name]
    rates = _line_rates(plan)
    pairs = tuple(pair for pair in entry.pairs for _ in range(entry.flows))
    via = plan.links[entry.via].rate if entry.via else 0
    frame, octets = entry_lengths(resolved, name)
    return Connections(
        name=name,
        seed=plan.seed,
        pairs=pairs,
        line_rates=np.array([via or rates[source] for source, _ in pairs], np.int64),
        frame=frame,
        start=entry.start,
        stop=plan.duration if entry.stop is None else entry.stop,
        headers=headers(room(resolved, name), octets),
        plain_headers=octets,
        cdf=tuple(entry.cdf or ()),
        priority=entry.priority,
    )


def entry_lengths(resolved: ResolvedPlan, name: str) -> tuple[int, int]:
    """Octets of a full frame of a traffic entry, and those of its headers without stamps."""
    options, frame = resolved.plan.headers.options(), resolved.plan.traffic[name].frame
    return packet_lengths(options, resolved.use("transport", name), frame, options.octets)


def _line_rates(plan: Plan) -> dict[str, int]:
    """bit/s of every NIC's first link."""
    found: dict[str, int] = {}
    for link in plan.links.values():
        for end in link.ends:
            if isinstance(plan.nodes[end], Nic):
                found.setdefault(end, link.rate)
    return found


def schedules(resolved: ResolvedPlan) -> Iterator[tuple[str, EntryMessages]]:
    """Entry by entry the messages of each of its flows.

    Raises BadInput when a schedule cannot be made, or is too long.
    """
    total, gates = 0, 0
    for name, use in resolved.uses["traffic"].items():
        if use.algorithm.messages is None:
            continue
        ends = connections(resolved, name)
        if ends.frame <= ends.headers:
            accepted = f"more than {ends.headers}B, which are headers"
            raise _refused(resolved, f"traffic.{name}.frame", ends.frame, accepted)
        try:
            made = use.algorithm.messages(use.params, ends)
        except ValueError as error:
            raise _refused(resolved, f"traffic.{name}", None, str(error)) from None
        total += len(made.size)
        if total > MOST_MESSAGES:
            accepted = f"at most {MOST_MESSAGES} messages in all; shorten the run or lower the load"
            raise _refused(resolved, f"traffic.{name}", total, accepted)
        if (text := dependency_problem(made, ends)) is not None:
            raise _refused(resolved, f"traffic.{name}", None, text)
        flows = by_flow(made, ends, gates)
        if made.waiting is None:
            yield name, EntryMessages(flows, None)
            continue
        gates += len(made.waiting.pauses)
        stop = resolved.plan.traffic[name].stop
        until = NEVER if stop is None else stop
        yield name, EntryMessages(flows, Gates.of(made.waiting, until))


def _refused(resolved: ResolvedPlan, where: str, value: object, accepted: str) -> BadInput:
    return BadInput(resolved.plan.source, [Problem(where, value, accepted)])


def by_flow(made: ApplicationMessages, ends: Connections, gates: int = 0) -> list[np.ndarray]:
    """The messages of each connection in order of time, with their frames numbered through.

    Where some wait for others the order is that of the schedule, and there are so many gates before
    its own.
    """
    waiting = made.waiting
    first = made.start if waiting is None else np.arange(len(made.start))
    order = np.lexsort((first, made.connection))
    segment = ends.frame - ends.headers
    rows = np.zeros(len(order), MESSAGE)
    rows["start"] = made.start[order]
    rows["octets"] = made.size[order]
    rows["frames"] = -(-rows["octets"] // segment)
    rows["done"] = NEVER
    for name in ("behind", "opens", "round", "step"):
        rows[name] = NONE if waiting is None else getattr(waiting, name)[order]
    for name in ("behind", "opens"):
        rows[name][rows[name] != NONE] += gates
    rows["start"][rows["behind"] != NONE] = NEVER
    edges = np.searchsorted(made.connection[order], np.arange(len(ends.pairs) + 1))
    found = [rows[first:last] for first, last in itertools.pairwise(edges)]
    for mine in found:
        mine["first"][1:] = np.cumsum(mine["frames"])[:-1]
    return found
