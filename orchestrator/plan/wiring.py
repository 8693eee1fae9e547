"""Nodes and links of a fabric, as a plan without a fabric would write them.

Quantities stay as they were written, so that what is made reads, and is refused, as if by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.plan.fabric import FatTree, LeafSpine

Tables = dict[str, dict[str, Any]]
"""Name, with the prefix's braces as they are -> table."""
Levels = dict[str, list[str]]
"""Name of a list -> the nodes of a level, without the prefix."""
Up = Iterator[tuple[str, str, str]]
"""(name, lower end, upper end) of links between switches."""


def levels(fabric: LeafSpine | FatTree) -> Levels:
    """The nodes of a fabric, level by level, hosts first."""
    if isinstance(fabric, LeafSpine):
        above = {"leaves": ("leaf", fabric.leaves), "spines": ("spine", fabric.spines)}
    else:
        half = fabric.k // 2
        each = fabric.k * half
        above = {"edges": ("edge", each), "aggs": ("agg", each), "cores": ("core", half * half)}
    switches = {name: numbered(*level) for name, level in above.items()}
    lowest = next(iter(switches.values()))
    return {"hosts": numbered("h", len(lowest) * hosts_of(fabric)), **switches}


def hosts_of(fabric: LeafSpine | FatTree) -> int:
    """Hosts of every lowest switch."""
    if isinstance(fabric, LeafSpine):
        return fabric.hosts
    return fabric.hosts or fabric.k // 2


def size(fabric: LeafSpine | FatTree) -> int:
    """Number of nodes and links, counted without making them."""
    if isinstance(fabric, LeafSpine):
        up = fabric.leaves * (fabric.uplinks or fabric.spines)
        return fabric.leaves * (2 * fabric.hosts + 1) + fabric.spines + up
    half = fabric.k // 2
    edges = fabric.k * half
    return edges * (2 * hosts_of(fabric) + 2) + half * half + 2 * edges * half


def numbered(word: str, count: int) -> list[str]:
    """h1, h2, ..."""
    return [f"{word}{number}" for number in range(1, count + 1)]


def nodes(fabric: LeafSpine | FatTree) -> Tables:
    """Hosts, then switches from the lowest level up."""
    hosts, *switches = levels(fabric).values()
    switch = {"kind": "switch", "spread": fabric.spread}
    made: Tables = {fabric.prefix + name: {"kind": "nic"} for name in hosts}
    return made | {fabric.prefix + name: dict(switch) for level in switches for name in level}


def links(fabric: LeafSpine | FatTree, written: dict[str, Any]) -> Tables:
    """Those of hosts, each called as its host, then those between switches from the lowest up.

    `written` is the fabric's table, whose quantities they get.
    """
    hosts, lowest, *_ = levels(fabric).values()
    given = {key: value for key, value in written.items() if value is not None}
    near: dict[str, Any] = {k: given[k] for k in ("rate", "delay", "overhead") if k in given}
    far = near | {key: given[up] for key in ("rate", "delay") if (up := f"uplink_{key}") in given}
    each = hosts_of(fabric)
    made: Tables = {}
    for number, host in enumerate(hosts):
        made[fabric.prefix + host] = _link(fabric.prefix, host, lowest[number // each], near)
    for name, below, above in _upwards(fabric):
        made[fabric.prefix + name] = _link(fabric.prefix, below, above, far)
    return made


def _link(prefix: str, below: str, above: str, like: dict[str, Any]) -> dict[str, Any]:
    return {"ends": [prefix + below, prefix + above], **like}


def _upwards(fabric: LeafSpine | FatTree) -> Up:
    """The links between switches: the n-th one of a switch is called so, leaf1-up2."""
    if isinstance(fabric, LeafSpine):
        for leaf in range(1, fabric.leaves + 1):
            for up in range(fabric.uplinks or fabric.spines):
                yield f"leaf{leaf}-up{up + 1}", f"leaf{leaf}", f"spine{up % fabric.spines + 1}"
        return
    half = fabric.k // 2
    places = [
        (pod, mine, up) for pod in range(fabric.k) for mine in range(half) for up in range(half)
    ]
    for pod, mine, up in places:
        edge = pod * half + mine + 1
        yield f"edge{edge}-up{up + 1}", f"edge{edge}", f"agg{pod * half + up + 1}"
    for pod, mine, up in places:
        agg = pod * half + mine + 1
        yield f"agg{agg}-up{up + 1}", f"agg{agg}", f"core{mine * half + up + 1}"
