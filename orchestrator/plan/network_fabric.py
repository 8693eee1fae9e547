"""`fabric = { kind = "fat-tree", k = 4, rate = "10Gb/s" }`: a network of switches by one line.

It stands for the nodes and links that one would write down by hand
(`orchestrator.plan.network_fabric`);
the plan's own tables go over them by name, and traffic, steps and expectations speak of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from orchestrator.errors import BadInput
from orchestrator.plan.field_types import Delay, LineRate, Overhead
from orchestrator.plan.plan_tables import Table
from orchestrator.plan.pydantic_errors import translate
from orchestrator.plan.table_overlay import over

KEY = "fabric"
PREFIX = re.compile(r"(?![-_])(?:[A-Za-z0-9_-]|\{[A-Za-z][A-Za-z0-9_]*\}){0,40}")


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("an even number is expected: half of a switch's ports lead up")
    return number


def _prefix(text: str) -> str:
    if not PREFIX.fullmatch(text):
        raise ValueError("how names begin, such as 'left-', or '{net}-' for a list, is expected")
    return text


class Fabric(Table):
    """Hosts (NICs) below switches below switches; every switch has paths of equal length."""

    kind: str
    rate: LineRate
    """Of the links to hosts."""
    uplink_rate: LineRate | None = None
    """Of the links between switches; default: `rate`."""
    delay: Delay = 0
    """Of the links to hosts, each way."""
    uplink_delay: Delay | None = None
    """Of the links between switches, each way; default: `delay`."""
    overhead: Overhead = 0
    """Octets added to every frame's time on each wire."""
    spread: Literal["flows", "frames", "none"] = "flows"
    """The same key of all of its switches: over paths of equal length (ECMP) each flow takes one,
    by a hash, or each frame one, at random; none: all take the first."""
    prefix: Annotated[str, AfterValidator(_prefix)] = ""
    """Begins all names of its nodes and links. `{net}-` makes one fabric for each word of the
    plan's list `net`."""


class LeafSpine(Fabric):
    """Leaves with hosts, and spines that join every leaf to every other. Nodes: h1, h2, ... leaf by
    leaf, leaf1 ..., spine1 ...; links: each host's as it is called, leaf1-up1 ... to the spines in
    turn. Lists: `hosts`, `leaves`, `spines`."""

    kind: Literal["leaf-spine"]
    leaves: int = Field(ge=1, le=1024)
    """Switches with hosts."""
    spines: int = Field(ge=1, le=1024)
    """Switches above them."""
    hosts: int = Field(ge=1, le=1024)
    """Of every leaf."""
    uplinks: int | None = Field(None, ge=1, le=1024)
    """Of every leaf, a multiple of `spines`; default: one to each spine. Fewer, or slower ones,
    than hosts: the leaf is oversubscribed."""

    @field_validator("uplinks")
    @classmethod
    def _alike(cls, uplinks: int | None, before: ValidationInfo) -> int | None:
        spines = before.data.get("spines")
        if uplinks and spines and uplinks % spines:
            raise ValueError(f"as many to each of {spines} spines: a multiple of that is expected")
        return uplinks


class FatTree(Fabric):
    """k pods of k/2 edge and k/2 aggregation switches, below (k/2)² core switches, all with k ports
    (Al-Fares et al., SIGCOMM 2008). Nodes: h1, h2, ... edge by edge, edge1 ... and agg1 ... pod by
    pod, core1 ...; links: each host's as it is called, edge1-up1 ... to the pod's aggregation
    switches, agg1-up1 ... to k/2 cores. Lists: `hosts`, `edges`, `aggs`, `cores`."""

    kind: Literal["fat-tree"]
    k: Annotated[int, AfterValidator(_even)] = Field(ge=2, le=32)
    """Ports of a switch, an even number."""
    hosts: int | None = Field(None, ge=1, le=1024)
    """Of every edge switch; default: k/2. More of them: it is oversubscribed."""


AnyFabric = Annotated[LeafSpine | FatTree, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[LeafSpine | FatTree] = TypeAdapter(AnyFabric)


FABRICS: tuple[type[Fabric], ...] = (LeafSpine, FatTree)


@dataclass(frozen=True)
class FabricTable:
    """A fabric, and its table as it was written."""

    fabric: LeafSpine | FatTree
    table: dict[str, Any]


def read(source: str, layers: Sequence[dict[str, Any]], *, bare: bool) -> FabricTable | None:
    """The fabric of a plan and of what it is based on, the lowest first; None where there is none.

    Keys of a layer go over those below it; another `kind` begins anew. `bare`: ints are base units.
    Raises BadInput.
    """
    table: Any = None
    for data in layers:
        if KEY in data:
            above = data[KEY]
            table = over(table, above) if _same_kind(table, above) else above
    if table is None:
        return None
    try:
        return FabricTable(_ADAPTER.validate_python(table, context={"bare_numbers": bare}), table)
    except ValidationError as error:
        raise BadInput(source, translate(error, AnyFabric, table, KEY)) from None


def _same_kind(below: Any, above: Any) -> bool:
    tables = isinstance(below, dict) and isinstance(above, dict)
    return tables and above.get("kind", below.get("kind")) == below.get("kind")


# Nodes and links of a fabric, as a plan without a fabric would write them.
#
# Quantities stay as they were written, so that what is made reads, and is refused, as if by hand.

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
