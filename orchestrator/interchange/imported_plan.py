"""A plan made from files of another tool: its tables, its flows, and what was not taken."""

from __future__ import annotations

import csv
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from orchestrator.errors import BadInput
from orchestrator.plan.field_types import SLUG
from orchestrator.plan.size_limits import MOST_FLOWS, MOST_LIMITERS
from orchestrator.plan.units import format_duration

FLOWS_KEY = "file"
HEADER = ("source", "destination", "size_B", "start_ps", "priority", "entry")
"""Columns of the flow file."""
MOST_CONNECTIONS = 20_000
"""Connections of a plan: up to here each flow of a file has its own."""
CLOCKS = {"clock_ppm": 0, "phase": "aligned"}
"""Clocks and starts as simulators have them: all equal, and at the time that the file says."""
MOST_LIMITERS_OF_NIC = 4096
SAMPLES = 2_000_000
"""Values that an imported plan samples at the most."""
WIDTH = 98


class FlowRow(NamedTuple):
    """One message: names of its ends, octets, ps of the run, priority, traffic entry."""

    source: str
    destination: str
    size: int
    start: int
    priority: int
    entry: str


@dataclass
class Imported:
    """A plan's data, the flows beside it, and sentences for its comments."""

    tool: str
    """Whose files these are, for the first comment."""
    files: list[str]
    data: dict[str, Any]
    taken: list[str] = field(default_factory=list)
    not_taken: list[str] = field(default_factory=list)
    rows: list[FlowRow] = field(default_factory=list)

    def to_toml(self) -> str:
        """The plan as text, with comments on what was taken and what was not."""
        lines = [f"# Made by `tailback import {self.tool}` from {' and '.join(self.files)}."]
        for head, sentences in (("Taken", self.taken), ("Not taken", self.not_taken)):
            if sentences:
                lines += ["#", f"# {head}:"]
            for sentence in sentences:
                lines += textwrap.wrap(
                    sentence, WIDTH, initial_indent="# - ", subsequent_indent="#   "
                )
        return "\n".join([*lines, "", *_tables(self.data)])

    def write_flows(self, path: Path) -> None:
        """Write the flow file that the plan names."""
        with path.open("x", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            writer.writerows(self.rows)


def _tables(data: Mapping[str, Any]) -> list[str]:
    """TOML of a plan's data: scalars, then a table for each group of equal nodes, then links."""
    scalars = {key: value for key, value in data.items() if not _is_section(value)}
    lines = [tomli_w.dumps(scalars)]
    for key, value in data.items():
        if not _is_section(value):
            continue
        if key == "nodes":
            for name, table in grouped(value).items():
                lines.append(tomli_w.dumps({"nodes": {name: table}}))
        elif key == "links":
            lines.append("[links]")
            lines += [f"{name} = {_inline(table)}" for name, table in value.items()]
            lines.append("")
        elif key == "traffic":
            for name, table in value.items():
                lines.append(f"[traffic.{_key(name)}]")
                lines += [f"{_key(field)} = {_wrapped(each)}" for field, each in table.items()]
                lines.append("")
        elif isinstance(value, list):
            for table in value:
                lines.append(f"[[{_key(key)}]]")
                lines += [f"{_key(field)} = {_wrapped(each)}" for field, each in table.items()]
                lines.append("")
        else:
            lines.append(tomli_w.dumps({key: value}))
    return lines


def _wrapped(value: Any) -> str:
    """A value in TOML; a list that is longer than a line goes over several."""
    text = _inline(value)
    if not isinstance(value, list) or len(text) <= WIDTH - 10:
        return text
    rows, row = [], ""
    for item in map(_inline, value):
        if row and len(row) + len(item) > WIDTH - 6:
            rows.append(row)
            row = ""
        row += f"{item}, "
    return "[\n" + "".join(f"    {each.rstrip()}\n" for each in (*rows, row)) + "]"


def _is_section(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_is_section, value)))


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else tomli_w.dumps({name: 0})[:-5]


def grouped(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Tables by name or range of names: neighbours that are equal and numbered through, as one."""
    found: dict[str, Any] = {}
    run: list[str] = []
    names = list(nodes)
    for at, name in enumerate(names):
        run.append(name)
        following = names[at + 1] if at + 1 < len(names) else None
        if following is None or not (nodes[following] == nodes[name] and _follows(following, name)):
            found[_range(run)] = nodes[name]
            run = []
    return found


def _follows(name: str, before: str) -> bool:
    one, other = (re.fullmatch(r"(.*?)(0|[1-9][0-9]{0,8})", text) for text in (name, before))
    return bool(one and other and one[1] == other[1] and int(one[2]) == int(other[2]) + 1)


def _range(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    ends = [re.fullmatch(r"(.*?)(0|[1-9][0-9]*)", name) for name in (names[0], names[-1])]
    first, last = (end for end in ends if end is not None)
    return f"{first[1]}{{{first[2]}..{last[2]}}}"


def slug(text: str, fallback: str) -> str:
    """A name that a plan accepts: other signs than letters, digits, - and _ become -."""
    found = re.sub(r"[^A-Za-z0-9_-]+", "-", text).lstrip("-_")[:63]
    return found if SLUG.fullmatch(found) else fallback


def node_names(texts: Iterable[str], source: str) -> dict[str, str]:
    """Name in a file -> name in the plan. Raises BadInput where two become equal."""
    found: dict[str, str] = {}
    owners: dict[str, str] = {}
    for text in texts:
        name = slug(text, f"n{len(found)}")
        if name in owners:
            sentence = f"the nodes {owners[name]!r} and {text!r} would both be called {name!r}"
            raise BadInput(source, f"{sentence}; rename one of them")
        found[text], owners[name] = name, text
    return found


def with_flows(made: Imported, flow_file: str, entry: Mapping[str, Any]) -> None:
    """Add the traffic entries that carry `made.rows`, and as many limiters to each NIC.

    `entry` is what all of them have. Every row has a connection of its own while these are no more
    than MOST_CONNECTIONS; else the rows of a pair share as many as fit.
    """
    most = _connections_of_pair(made.rows)
    counts: dict[tuple[str, int], Counter[tuple[str, str]]] = {}
    for row in made.rows:
        counts.setdefault((row.entry, row.priority), Counter())[row.source, row.destination] += 1
    traffic: dict[str, Any] = {}
    sent: Counter[str] = Counter()
    for (name, priority), pairs in counts.items():
        each = [pair for pair, count in pairs.items() for _ in range(min(count, most))]
        sent.update(source for source, _ in each)
        traffic[name] = {
            "plugin": "flows",
            FLOWS_KEY: flow_file,
            **({"rows": "entry"} if len(counts) > 1 else {}),
            **({"priority": priority} if priority else {}),
            **entry,
            "from": [source for source, _ in each],
            "to": [target for _, target in each],
        }
    made.data["traffic"] = traffic
    shared = sum(sum(pairs.values()) for pairs in counts.values()) - sum(sent.values())
    made.taken.append(
        f"{len(made.rows)} flows, over {sum(sent.values())} connections"
        + (f"; {shared} of them wait for an earlier one of their pair" if shared else "")
    )
    limiters = {name: max(sent[name], 1) for name in made.data["nodes"]}
    for name, node in made.data["nodes"].items():
        if "reaction_point" in node:
            even = max(limiters.values()) * len(limiters) <= MOST_LIMITERS
            count = max(limiters.values()) if even else limiters[name]
            node["reaction_points"] = min(count, MOST_LIMITERS_OF_NIC)


def _connections_of_pair(rows: Sequence[FlowRow]) -> int:
    """The most connections that each pair may have."""
    counts = Counter((row.entry, row.source, row.destination) for row in rows)
    if len(counts) > MOST_FLOWS:
        raise BadInput(
            "flows", f"{len(counts)} pairs of nodes; at most {MOST_FLOWS} connections are possible"
        )
    most = max(counts.values(), default=1)
    while most > 1 and sum(min(count, most) for count in counts.values()) > MOST_CONNECTIONS:
        most //= 2
    return most


def with_duration(data: dict[str, Any], duration: int) -> None:
    """Add the duration (ps), and an interval that keeps the samples few: at most 500 rows."""
    flows = sum(len(entry["from"]) for entry in data.get("traffic", {}).values())
    limiters = sum(node.get("reaction_points", 1) for node in data["nodes"].values())
    columns = 30 * len(data["links"]) + 6 * limiters + 4 * flows + 2 * len(data["nodes"])
    rows = max(min(SAMPLES // columns, 500), 5)
    data["duration"] = format_duration(duration)
    data["sample_interval"] = format_duration(-(-duration // (rows * 10**6)) * 10**6)
