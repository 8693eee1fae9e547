"""The messages of every flow, from the schedules of the plan's traffic sources."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from orchestrator.assembly.stamps import headers, room
from orchestrator.engine.records import MESSAGE, NEVER
from orchestrator.engine.workload import ApplicationMessages, Connections
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Nic, Plan, ResolvedPlan

MOST_MESSAGES = 5_000_000
"""Of all entries together: some 300 MB."""


def connections(resolved: ResolvedPlan, name: str) -> Connections:
    """The flows of a traffic entry, as its schedule sees them."""
    plan = resolved.plan
    entry = plan.traffic[name]
    rates = _line_rates(plan)
    pairs = tuple(pair for pair in entry.pairs for _ in range(entry.flows))
    via = plan.links[entry.via].rate if entry.via else 0
    return Connections(
        name=name,
        seed=plan.seed,
        pairs=pairs,
        line_rates=np.array([via or rates[source] for source, _ in pairs], np.int64),
        frame=entry.frame,
        start=entry.start,
        stop=plan.duration if entry.stop is None else entry.stop,
        headers=headers(room(resolved, name)),
        cdf=tuple(entry.cdf or ()),
    )


def _line_rates(plan: Plan) -> dict[str, int]:
    """bit/s of every NIC's first link."""
    found: dict[str, int] = {}
    for link in plan.links.values():
        for end in link.ends:
            if isinstance(plan.nodes[end], Nic):
                found.setdefault(end, link.rate)
    return found


def schedules(resolved: ResolvedPlan) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Entry by entry the messages of each of its flows, MESSAGE[n], `flow` not filled in yet.

    Raises BadInput when a schedule cannot be made, or is too long.
    """
    total = 0
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
        yield name, by_flow(made, ends)


def _refused(resolved: ResolvedPlan, where: str, value: object, accepted: str) -> BadInput:
    return BadInput(resolved.plan.source, [Problem(where, value, accepted)])


def by_flow(made: ApplicationMessages, ends: Connections) -> list[np.ndarray]:
    """The messages of each connection in order of time, with their frames numbered through."""
    order = np.lexsort((made.start, made.connection))
    segment = ends.frame - ends.headers
    rows = np.zeros(len(order), MESSAGE)
    rows["start"] = made.start[order]
    rows["octets"] = made.size[order]
    rows["frames"] = -(-rows["octets"] // segment)
    rows["done"] = NEVER
    edges = np.searchsorted(made.connection[order], np.arange(len(ends.pairs) + 1))
    found = [rows[first:last] for first, last in itertools.pairwise(edges)]
    for mine in found:
        mine["first"][1:] = np.cumsum(mine["frames"])[:-1]
    return found
