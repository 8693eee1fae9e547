"""`fabric = { kind = "fat-tree", k = 4, rate = "10Gb/s" }`: a network of switches by one line.

It stands for the nodes and links that one would write down by hand (`orchestrator.plan.wiring`);
the plan's own tables go over them by name, and traffic, steps and expectations speak of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from orchestrator.plan.entries import Table
from orchestrator.plan.fields import Delay, LineRate, Overhead
from orchestrator.plan.merge import over
from orchestrator.plan.translate import translate

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


Described = Annotated[LeafSpine | FatTree, Field(discriminator="kind")]
_ADAPTER: TypeAdapter[LeafSpine | FatTree] = TypeAdapter(Described)


FABRICS: tuple[type[Fabric], ...] = (LeafSpine, FatTree)


@dataclass(frozen=True)
class Read:
    """A fabric, and its table as it was written."""

    fabric: LeafSpine | FatTree
    table: dict[str, Any]


def read(source: str, layers: Sequence[dict[str, Any]], *, bare: bool) -> Read | None:
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
        return Read(_ADAPTER.validate_python(table, context={"bare_numbers": bare}), table)
    except ValidationError as error:
        raise BadInput(source, translate(error, Described, table, KEY)) from None


def _same_kind(below: Any, above: Any) -> bool:
    tables = isinstance(below, dict) and isinstance(above, dict)
    return tables and above.get("kind", below.get("kind")) == below.get("kind")
