"""Plans from containerlab's topology files.

Format as containerlab's manual documents it: `topology.nodes` with `kind` (also from `defaults`,
`kinds` and `groups`), `topology.links` with `endpoints`, in the brief form ["a:eth1", "b:eth1"] or
the extended one with `type` and tables of `node` and `interface`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from orchestrator.interchange.imported_plan import Imported, node_names, slug, with_duration
from orchestrator.interchange.source_text import SourceText
from orchestrator.plan.input_problems import near
from orchestrator.plan.units import format_duration, format_rate

HOST_KINDS = frozenset({"linux", "host"})
"""Kinds that are machines rather than switches."""
OUTSIDE = frozenset({"mgmt-net", "host", "macvlan", "vxlan", "vxlan-stitch", "dummy"})
"""Types of links that leave the topology."""
RESERVED = frozenset({"host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"})
"""Words in the place of a node, in the brief form, that stand for something outside."""
DURATION = 10 * 10**9
MOST = 12_000


@dataclass(frozen=True)
class Mark:
    """A value of a YAML file and its line, from 1."""

    value: Any
    line: int


class _Loader(yaml.SafeLoader):
    """Loads mappings as dictionaries of `Mark`s, which know their lines."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Mark]:
    loader.flatten_mapping(node)
    found: dict[Any, Mark] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, list | dict | set):
            raise yaml.constructor.ConstructorError(
                None, None, "a key is a list or a table", key_node.start_mark
            )
        value = loader.construct_object(value_node, deep=True)
        found[key] = Mark(value, value_node.start_mark.line + 1)
    return found


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


@dataclass(frozen=True)
class _Table:
    """A mapping of the file, its key path, and the line that it begins on."""

    source: SourceText
    path: str
    values: dict[Any, Mark]
    line: int

    def get(self, key: str) -> Mark | None:
        """The value of a key; None where it is not there or empty."""
        found = self.values.get(key)
        return None if found is None or found.value is None else found

    def table(self, key: str, *, needed: bool = False) -> _Table:
        """The mapping of a key; an empty one where it is not there. Raises BadInput."""
        found = self.get(key)
        path = f"{self.path}.{key}" if self.path else key
        if found is None:
            if needed:
                raise self.source.refused(path, "missing", "a mapping is expected", self.line)
            return _Table(self.source, path, {}, self.line)
        if not isinstance(found.value, dict):
            raise self.source.refused(path, found.value, "a mapping is expected", found.line)
        return _Table(self.source, path, found.value, found.line)

    def text(self, key: str, default: str = "") -> str:
        """The text of a key. Raises BadInput for anything else."""
        found = self.get(key)
        if found is None:
            return default
        if not isinstance(found.value, str):
            path = f"{self.path}.{key}" if self.path else key
            raise self.source.refused(path, found.value, "a text is expected", found.line)
        return found.value


def import_containerlab(name: str | None, path: Path, rate: int, delay: int) -> Imported:
    """The plan of a topology file; every link has `rate` (bit/s) and `delay` (ps).

    `name` is that of the plan, by default the lab's. Raises BadInput.
    """
    source = SourceText.read(path)
    top = _load(source)
    topology = top.table("topology", needed=True)
    nodes = topology.table("nodes", needed=True)
    if not 0 < len(nodes.values) <= MOST:
        accepted = f"from 1 to {MOST} nodes are expected"
        raise source.refused("topology.nodes", len(nodes.values), accepted, nodes.line)
    for node, mark in nodes.values.items():
        if not isinstance(node, str):
            raise source.refused("topology.nodes", node, "a name in quotes is expected", mark.line)
    kinds = {node: _kind(topology, nodes.table(node)) for node in nodes.values}
    names = node_names(kinds, source.name)
    ends, outside = _links(source, topology, kinds)
    degree = Counter(node for pair in ends for node in pair)
    made = Imported("containerlab", [path.name], {})
    made.data["name"] = name or slug(top.text("name", "lab"), "lab")
    made.data["nodes"] = {
        names[node]: {"kind": "nic" if kind in HOST_KINDS and degree[node] == 1 else "switch"}
        for node, kind in kinds.items()
        if degree[node]
    }
    made.data["links"] = {
        f"l{number}": {
            "ends": [names[node] for node in pair],
            "rate": format_rate(rate),
            "delay": format_duration(delay),
        }
        for number, pair in enumerate(ends)
    }
    if not ends:
        raise source.refused("topology.links", 0, "a link between two nodes is expected", top.line)
    with_duration(made.data, DURATION)
    _comments(made, kinds, degree, outside, rate, delay)
    return made


def _load(source: SourceText) -> _Table:
    try:
        data = yaml.load("\n".join(source.lines), _Loader)  # safe: _Loader is a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = None if mark is None else mark.line + 1
        raise source.refused("YAML", error.problem or "error", "YAML is expected", line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise source.refused("YAML", text, "YAML is expected") from None
    if not isinstance(data, dict):
        raise source.refused("file", "no mapping", "'name' and 'topology' are expected", 1)
    return _Table(source, "", data, 1)


def _kind(topology: _Table, node: _Table) -> str:
    """The kind of a node: its own, its group's, or the default. Raises BadInput without any."""
    group = topology.table("groups").table(node.text("group")) if node.text("group") else None
    default = topology.table("defaults").text("kind")
    kind = node.text("kind") or (group.text("kind") if group else "") or default
    if not kind:
        accepted = "a kind is expected, here, in its group or in topology.defaults"
        raise node.source.refused(f"{node.path}.kind", "missing", accepted, node.line)
    return kind


def _links(
    source: SourceText, topology: _Table, kinds: dict[str, str]
) -> tuple[list[tuple[str, str]], int]:
    """Ends of the links between nodes, and how many others there are."""
    listed = topology.get("links")
    if listed is None:
        return [], 0
    if not isinstance(listed.value, list):
        raise source.refused("topology.links", listed.value, "a list is expected", listed.line)
    found: list[tuple[str, str]] = []
    outside = 0
    for number, link in enumerate(listed.value):
        where = f"topology.links[{number}]"
        if not isinstance(link, dict):
            raise source.refused(where, link, "a mapping is expected", listed.line)
        line = min((mark.line for mark in link.values()), default=listed.line)
        table = _Table(source, where, link, line)
        given = table.get("endpoints")
        if table.text("type", "veth") in OUTSIDE:
            outside += 1
            continue
        if given is None or not isinstance(given.value, list) or len(given.value) != 2:
            value = "missing" if given is None else given.value
            raise source.refused(f"{where}.endpoints", value, "a list of two is expected", line)
        ends = [_node_of(source, f"{where}.endpoints", one, given.line) for one in given.value]
        if any(end in RESERVED and end not in kinds for end in ends):
            outside += 1
            continue
        for end in ends:
            if end not in kinds:
                accepted = f"a node is expected; {near(end, kinds)}"
                raise source.refused(f"{where}.endpoints", end, accepted, given.line)
        if ends[0] == ends[1]:
            accepted = "two different nodes are expected"
            raise source.refused(f"{where}.endpoints", ends[0], accepted, given.line)
        found.append((ends[0], ends[1]))
    return found, outside


def _node_of(source: SourceText, where: str, end: Any, line: int) -> str:
    """The node of an endpoint: "a:eth1" or a mapping with `node`. Raises BadInput."""
    if isinstance(end, dict):
        return _Table(source, where, end, line).text("node")
    node, colon, interface = end.partition(":") if isinstance(end, str) else ("", "", "")
    if not (node and colon and interface):
        raise source.refused(where, end, 'an endpoint such as "a:eth1" is expected', line)
    return str(node)


def _comments(
    made: Imported, kinds: dict[str, str], degree: Counter[str], outside: int, rate: int, delay: int
) -> None:
    hosts = sum(node["kind"] == "nic" for node in made.data["nodes"].values())
    switches = len(made.data["nodes"]) - hosts
    made.taken += [
        f"{hosts} hosts, which are nodes of kind linux with one link, and {switches} switches, "
        "which are all others",
        f"{len(made.data['links'])} links",
    ]
    made.not_taken.append(
        "rates and delays, which the file does not say: every link has "
        f"{format_rate(rate)} and {format_duration(delay)} (--rate, --delay)"
    )
    if lonely := [node for node in kinds if not degree[node]]:
        shown = ", ".join(lonely[:5]) + (", ..." if len(lonely) > 5 else "")
        made.not_taken.append(f"{len(lonely)} nodes without a link to another: {shown}")
    if outside:
        made.not_taken.append(f"{outside} links that leave the topology")
    made.not_taken.append("images, configurations, addresses and commands of nodes, and traffic")
