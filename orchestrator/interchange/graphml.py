"""GraphML: a plan's network as a graph, and a graph as a plan.

A graph that `to_graphml` wrote gives an equal plan again. Its nodes have `kind` and their settings,
its edges the name of the link and its settings, each as an attribute whose name is the dotted key
("inputs.buffer"); the rest of the plan is the graph's attribute `tailback`, in TOML.

Of another graph `kind`, `rate`, `delay`, `delay_back`, `buffer` and `overhead` are read where they
are there, and `LinkSpeedRaw` (bit/s), which the Internet Topology Zoo has. A node without a kind
is a host if it has one link, else a switch.
"""

from __future__ import annotations

import io
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import tomli_w

from orchestrator.errors import BadInput, Problem
from orchestrator.interchange.imported_plan import Imported, node_names, slug, with_duration
from orchestrator.plan import Plan
from orchestrator.plan.input_problems import shown
from orchestrator.plan.units import (
    UnitError,
    format_duration,
    format_rate,
    parse_duration,
    parse_rate,
    parse_size,
)

REST = "tailback"
"""Attribute of a graph with all of a plan that is neither node nor link."""
NAME, NUMBER, FIRST = "link", "number", "first"
"""Attributes of an edge: name of its link, its number in the plan, and ends[0]."""
KINDS = ("nic", "switch", "sink")
DURATION = 10 * 10**9
LONGEST = 200_000_000
"""Octets of a file."""
LINK_KEYS = {
    "rate": parse_rate,
    "delay": parse_duration,
    "delay_back": parse_duration,
    "buffer": parse_size,
    "overhead": parse_size,
}


def to_graphml(plan: Plan) -> bytes:
    """The plan as GraphML."""
    table = plan.to_table()
    graph = nx.MultiGraph()
    for name, node in table["nodes"].items():
        graph.add_node(name, **dict(_flat(node)))
    for number, (name, link) in enumerate(table["links"].items()):
        first, second = link["ends"]
        rest = {key: value for key, value in link.items() if key != "ends"}
        # edges of an undirected graph may be read in another order, and from their other end
        own = {NAME: name, NUMBER: number, FIRST: first}
        graph.add_edge(first, second, key=f"e{number}", **own, **dict(_flat(rest)))
    others = {key: value for key, value in table.items() if key not in ("nodes", "links")}
    graph.graph[REST] = tomli_w.dumps(others)
    made = io.BytesIO()
    nx.write_graphml_xml(graph, made)
    return made.getvalue() + b"\n"


def _flat(table: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Dotted key and value of everything in a table; a list as TOML."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            found += _flat(value, f"{before}{key}.")
        elif isinstance(value, list):
            found.append((f"{before}{key}[]", tomli_w.dumps({"x": value})))
        else:
            found.append((f"{before}{key}", value))
    return found


def _nested(attributes: dict[str, Any]) -> dict[str, Any]:
    """The table of dotted keys."""
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        table = found
        name = key
        if key.endswith("[]"):
            name, value = key[:-2], tomllib.loads(value)["x"]
        *above, last = name.split(".")
        for each in above:
            table = table.setdefault(each, {})
        table[last] = value
    return found


def import_graphml(name: str | None, path: Path, rate: int, delay: int) -> Imported:
    """The plan of a graph; links that lack a rate (bit/s) or delay (ps) have these.

    Raises BadInput.
    """
    graph = _read(path)
    if REST in graph.graph:
        return _own(name, path, graph)
    return _of_others(name, path, graph, rate, delay)


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > LONGEST:
            raise BadInput(str(path), f"is larger than {LONGEST} octets")
        graph = nx.read_graphml(path, force_multigraph=True)
    except OSError as error:
        raise BadInput(str(path), f"cannot be read: {error.strerror}") from None
    except Exception as error:  # the parsers raise what they come across
        where, text = getattr(error, "position", None), str(error) or type(error).__name__
        at = f"{path}:{where[0]}" if where else str(path)
        problem = Problem("GraphML", shown(text), "a GraphML file is expected", at=at)
        raise BadInput(str(path), [problem]) from None
    if not len(graph):
        raise BadInput(str(path), [Problem("graph", "no node", "nodes and edges are expected")])
    return graph


def _own(name: str | None, path: Path, graph: Any) -> Imported:
    """The plan that `to_graphml` wrote."""
    try:
        rest = tomllib.loads(graph.graph[REST])
        nodes = {key: _nested(table) for key, table in graph.nodes(data=True)}
        links = {}
        for one, other, table in sorted(graph.edges(data=True), key=lambda edge: edge[2][NUMBER]):
            settings = {key: table[key] for key in table if key not in (NAME, NUMBER, FIRST, "id")}
            first = table[FIRST]
            ends = [first, other if first == one else one]
            links[table[NAME]] = {"ends": ends, **_nested(settings)}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        problem = Problem(
            REST, shown(str(error)), "what `tailback export graphml` wrote is expected"
        )
        raise BadInput(str(path), [problem]) from None
    data = {**rest, **({"name": name} if name else {}), "nodes": nodes, "links": links}
    made = Imported("graphml", [path.name], data)
    made.taken.append("the whole plan, as `tailback export graphml` wrote it")
    return made


def _of_others(name: str | None, path: Path, graph: Any, rate: int, delay: int) -> Imported:
    made = Imported("graphml", [path.name], {})
    title = str(graph.graph.get("label") or graph.graph.get("Network") or path.stem)
    made.data["name"] = name or slug(title, "graph")
    labels = _labels(graph)
    names = node_names(labels.values(), str(path))
    links: dict[str, Any] = {}
    assumed: Counter[str] = Counter()
    defaults = {"rate": format_rate(rate), "delay": format_duration(delay)}
    loops = 0
    for one, other, table in graph.edges(data=True):
        if one == other:
            loops += 1
            continue
        where = f"edge {labels[one]} to {labels[other]}"
        link: dict[str, Any] = {"ends": [names[labels[one]], names[labels[other]]]}
        link |= _link_settings(path, where, table)
        for key, value in defaults.items():
            if key not in link:
                link[key] = value
                assumed[key] += 1
        links[f"l{len(links)}"] = link
    degree = Counter(end for link in links.values() for end in link["ends"])
    nodes: dict[str, Any] = {}
    guessed = 0
    for node, table in graph.nodes(data=True):
        mine = names[labels[node]]
        kind = table.get("kind")
        if kind is None:
            guessed += bool(degree[mine])
            kind = "nic" if degree[mine] == 1 else "switch"
        elif kind not in KINDS:
            accepted = f"{', '.join(KINDS)} are the kinds of nodes"
            problem = Problem(f"node {labels[node]}: kind", shown(kind), accepted, at=str(path))
            raise BadInput(str(path), [problem])
        if degree[mine]:
            nodes[mine] = {"kind": kind}
    if not links:
        raise BadInput(str(path), [Problem("graph", "no edge", "an edge is expected")])
    made.data |= {"nodes": nodes, "links": links}
    with_duration(made.data, DURATION)
    made.taken.append(f"{len(nodes)} nodes and {len(links)} links")
    if guessed:
        made.taken.append(f"kinds of {guessed} nodes: a host where it has one link, else a switch")
    for key, count in assumed.items():
        made.not_taken.append(f"{key} of {count} links, which have none: {defaults[key]} (--{key})")
    if lonely := len(graph) - len(nodes):
        made.not_taken.append(f"{lonely} nodes without a link to another")
    if loops:
        made.not_taken.append(f"{loops} edges from a node to itself")
    made.not_taken.append("traffic, which a graph does not have; all other attributes")
    return made


def _labels(graph: Any) -> dict[Any, str]:
    """Node -> its label, where all nodes have one and no two the same; else its id."""
    labels = {node: str(table.get("label", "")) for node, table in graph.nodes(data=True)}
    slugs = {slug(label, "") for label in labels.values()}
    return labels if len(slugs) == len(labels) and "" not in slugs else {n: str(n) for n in graph}


def _link_settings(path: Path, where: str, table: dict[str, Any]) -> dict[str, Any]:
    """What an edge says of a link. Raises BadInput for a value that is none."""
    found: dict[str, Any] = {}
    for key, parse in LINK_KEYS.items():
        if key in table:
            try:
                value = table[key]
                parse(value if isinstance(value, str) else f"{value}")
            except UnitError as error:
                problem = Problem(f"{where}: {key}", shown(value), str(error), at=str(path))
                raise BadInput(str(path), [problem]) from None
            found[key] = value
    raw = table.get("LinkSpeedRaw")
    if "rate" not in found and isinstance(raw, int | float) and 1000 <= raw <= 10**13:
        found["rate"] = format_rate(int(raw))
    return found
