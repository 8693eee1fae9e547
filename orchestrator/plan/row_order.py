"""Row order: ranks nodes, links and traffic entries by where they are and what they are called.

Numbers decide: of events at one instant the entity with the lower number is first, hashes of paths
and draws for a place in a full queue take numbers of nodes and flows, and of several shortest paths
the one over the first link is taken. So numbers follow from names and from the network, not from
the order in which a plan's tables stand:

- nodes: NICs, then switches, those nearer to a NIC first, then sinks;
- links: by their two ends;
- traffic entries: by their sources, then by their destinations, then by how many flows they may be;
- what is equal in that, by name, where h2 stands before h10.

What people read (samples, results, reports) keeps the order of the tables.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

from orchestrator.plan.plan_model import PlanModel, memoized
from orchestrator.plan.plan_tables import Nic, Node, Sink, Traffic

_COPY = "plan in row order"
AnyPlan = TypeVar("AnyPlan", bound=PlanModel)


def by_number(name: str) -> tuple[Any, ...]:
    """Sort key of a name: digits in it count as the number that they are; no two names share it."""
    parts = re.split(r"(\d+)", name)
    return ([(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts if p], name)


@memoized
def row_order(plan: PlanModel) -> dict[str, list[str]]:
    """Table -> its names in the order of their rows."""
    away = _links_from_nic(plan)
    far = len(plan.nodes)

    def node_key(name: str) -> tuple[Any, ...]:
        return (_stage(plan.nodes[name]), away.get(name, far), by_number(name))

    nodes = sorted(plan.nodes, key=node_key)
    rank = {name: row for row, name in enumerate(nodes)}

    def link_key(name: str) -> tuple[Any, ...]:
        return (sorted(rank.get(end, far) for end in plan.links[name].ends), by_number(name))

    def traffic_key(name: str) -> tuple[Any, ...]:
        entry = plan.traffic[name]
        ends = [[rank.get(end, far) for end in _names(side)] for side in (entry.from_, entry.to)]
        return (*ends, _most_flows(entry), by_number(name))

    return {
        "nodes": nodes,
        "links": sorted(plan.links, key=link_key),
        "traffic": sorted(plan.traffic, key=traffic_key),
        "groups": sorted(plan.groups, key=by_number),
    }


def in_row_order(plan: AnyPlan) -> AnyPlan:
    """The same plan with its tables in row order; `plan` itself where they are."""
    order = row_order(plan)
    if all(list(getattr(plan, table)) == names for table, names in order.items()):
        return plan
    tables = {table: getattr(plan, table) for table in order}
    made = plan.model_copy(
        update={t: {name: tables[t][name] for name in names} for t, names in order.items()}
    )
    # a copy shares what was found out about a plan, which is in the order of its tables
    made._memo = plan.memo.setdefault(_COPY, {})
    return made


def _stage(node: Node) -> int:
    """Where on the way of frames a node is: it sends, forwards or receives."""
    return 0 if isinstance(node, Nic) else 2 if isinstance(node, Sink) else 1


def _names(side: Any) -> list[str]:
    return [side] if isinstance(side, str) else list(side)


def _most_flows(entry: Traffic) -> int:
    """At most so many flows, whatever pairs the plan's seed draws."""
    sources, destinations = len(_names(entry.from_)), len(_names(entry.to))
    pairs = sources * destinations if entry.pairing == "all" else max(sources, destinations)
    return pairs * entry.flows * (2 if entry.bidirectional else 1)


def _links_from_nic(plan: PlanModel) -> dict[str, int]:
    """Node -> links from the nearest NIC; without those that no NIC reaches."""
    beside: dict[str, list[str]] = {}
    for link in plan.links.values():
        first, second = link.ends
        for here, there in ((first, second), (second, first)):
            beside.setdefault(here, []).append(there)
    found = {name: 0 for name, node in plan.nodes.items() if isinstance(node, Nic)}
    front = list(found)
    while front:
        reached = {other: found[name] + 1 for name in front for other in beside.get(name, ())}
        front = [name for name in reached if name not in found]
        found |= {name: reached[name] for name in front}
    return found
