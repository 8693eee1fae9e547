"""Expansion of a plan's ranges, lists and templates into single tables.

In this order: what the plan is based on (layers, scaled), taking out (`without`), names in braces
(ranges), templates; then the plan's own entries go over those of its base by name. An expectation
of the same metric, of the same thing, in the same phase goes over the base's; steps come behind.
What a fabric stands for lies below all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import name_ranges, network_fabric
from orchestrator.plan.base_plans import Layer, scaled
from orchestrator.plan.expansion_budget import MOST_TEMPLATES, Budget
from orchestrator.plan.input_problems import Clash, join, shown
from orchestrator.plan.name_ranges import Axis, NoRange, Picks
from orchestrator.plan.table_overlay import LIKE, Templates, listed_over, over, remove_keys
from orchestrator.plan.timeline_tables import VERBS

TABLES = ("nodes", "links", "traffic", "phases", "programs")
"""Sections of named tables."""
LISTED = {
    "timeline": (*VERBS, "port"),
    "expect": ("metric", "of", "phase"),
    "figure": (),
    "mutant": ("name",),
}
"""Sections that are lists of tables, and the keys of those that hold names."""
SPELT = {
    "figure": ("of", "labels", "phases", "levels", "with", "variants"),
    "mutant": ("drop", "misses", "expected_misses"),
}
"""Keys of a section's tables that are names, one or a list; one in braces stands for several."""
MEANS = ("base", "scale", "without", "lists", "templates", network_fabric.KEY)
"""Keys of a plan that are gone once it is expanded."""


def expand(source: str, data: dict[str, Any], *, bare: bool = False) -> dict[str, Any]:
    """`data` of a plan without a base, every range and template written out; `bare`: ints are base
    units. Raises BadInput."""
    if "base" in data:
        raise BadInput(source, [Clash("base", None, "'Plan.load' reads it, from a file or a text")])
    return compose([Layer(source, data)], bare=bare)


def compose(layers: Sequence[Layer], *, bare: bool = False) -> dict[str, Any]:
    """The data that layers, the lowest first, come to. Raises BadInput."""
    raw = _at_own_rates(layers)
    expansion = _Expansion(layers[-1].source, raw, bare=bare)
    result = expansion.fabric()
    for layer, data in zip(layers, raw, strict=True):
        expansion.problems.clear()
        remove_keys(result, data.get("without"), expansion.lists, expansion.problems)
        result = expansion.over(result, data)
        if layer is layers[-1] and not expansion.problems:
            expansion.unused(data)
        if expansion.problems:
            raise BadInput(layer.source, expansion.problems)
    return result


def _at_own_rates(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    """The layers' data, each scaled by all that lie above it."""
    by, found = Fraction(1), list[dict[str, Any]]()
    for layer in reversed(layers):
        problems: list[Problem] = []
        found.insert(0, layer.data if by == 1 else scaled(layer.data, by, "", problems))
        if problems:
            raise BadInput(layer.source, problems)
        by *= layer.scale
    return found


@dataclass(frozen=True)
class _Entry:
    """One table as written: `axes` are those of its name; `where` and `text` say what it is."""

    where: str
    text: str
    table: Any
    axes: list[Axis]

    @property
    def block(self) -> object:
        """Neighbours of one block are made together; without a named list one is its own."""
        label = self.axes[0].label if self.axes else None
        return label or id(self)


class _Expansion:
    def __init__(self, source: str, raw: Sequence[dict[str, Any]], *, bare: bool) -> None:
        self.problems: list[Problem] = []
        self._source = source
        self._budget = Budget(source)
        self._used_lists: set[str] = set()
        self._laid: dict[tuple[str, str], tuple[Any, int]] = {}
        tables: dict[str, Any] = {}
        written: dict[str, Any] = {}
        for data in raw:
            tables = over(tables, _table(data, "templates", self.problems))
            written = over(written, _table(data, "lists", self.problems))
        self._templates = Templates(tables, self.problems)
        self._fabric = network_fabric.read(source, raw, bare=bare)
        if self._fabric is not None:
            written = self._with_levels(self._fabric, written)
        self.lists: dict[str, list[str]] = {}
        for name in written:
            self._list(name, written, ())
        if self.problems:
            raise BadInput(source, self.problems)

    def _with_levels(
        self, made: network_fabric.FabricTable, written: dict[str, Any]
    ) -> dict[str, Any]:
        """The plan's lists and those of its fabric's levels, if the fabric is not too large."""
        self._budget.fabric(network_fabric.KEY, network_fabric.size(made.fabric), made.table)
        levels = network_fabric.levels(made.fabric)
        for name in levels:
            if name in written:
                text = "the fabric has a list of this name; call yours something else"
                self.problems.append(Clash(f"lists.{name}", name, text))
        return {**levels, **written}

    def fabric(self) -> dict[str, Any]:
        """Nodes and links of the plan's fabric, one for each word of the lists in its prefix."""
        if self._fabric is None:
            return {}
        prefix, table = self._fabric.fabric.prefix, self._fabric.table
        axes = self._axes(f"{network_fabric.KEY}.prefix", prefix)
        if self.problems:
            raise BadInput(self._source, self.problems)
        count = name_ranges.count(axes) - 1  # one is counted already
        self._budget.fabric(
            network_fabric.KEY, count * network_fabric.size(self._fabric.fabric), table
        )
        nodes: dict[str, Any] = {}
        links: dict[str, Any] = {}
        for chosen in name_ranges.picks(axes):
            named = {"prefix": name_ranges.named(prefix, axes, chosen)}
            one = self._fabric.fabric.model_copy(update=named)
            nodes |= network_fabric.nodes(one)
            links |= network_fabric.links(one, table)
        return {"nodes": nodes, "links": links}

    def _list(self, name: str, written: dict[str, Any], above: tuple[str, ...]) -> None:
        """Writes out the words of a list, and before them those of the lists that it names."""
        where, value = f"lists.{name}", written[name]
        if name in self.lists:
            return
        if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
            accepted = "a list of words, such as ['a', 'b{1..3}'], is expected"
            self.problems.append(Problem(where, shown(value), accepted))
        elif name in above or len(above) >= MOST_TEMPLATES:
            way = " of ".join((*above[-3:], name))
            self.problems.append(Clash(where, name, f"{way}: a list is not made of itself"))
        else:
            for inner in name_ranges.labels(value):
                if inner in written:
                    self._list(inner, written, (*above, name))
            self.lists[name] = self._all(where, value)
            return
        self.lists[name] = []

    def over(self, below: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
        """A layer's data, expanded, over what was there."""
        result = dict(below)
        for key, value in data.items():
            if key in TABLES and isinstance(value, dict):
                made = dict(self._section(key, value))
                result[key] = over(result.get(key, {}), made)
            elif key in LISTED and isinstance(value, list):
                result[key] = listed_over(key, result.get(key, []), list(self._listed(key, value)))
            elif key == "groups" and isinstance(value, dict):
                groups = {n: self._all(f"groups.{n}", named) for n, named in value.items()}
                result[key] = over(result.get(key, {}), groups)
            elif key == "capture" and isinstance(value, dict):
                result[key] = over(result.get(key, {}), self._capture(value))
            elif key == "headers" and isinstance(value, dict):
                result[key] = over(result.get(key, {}), value)
            elif key not in MEANS:
                result[key] = value
        return result

    def _capture(self, table: dict[str, Any]) -> dict[str, Any]:
        if "ports" not in table:
            return table
        return {**table, "ports": self._all("capture.ports", table["ports"])}

    def _section(self, section: str, tables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """(name, table) of everything that a section of named tables makes."""
        taken: set[str] = set()
        entries = [
            self._entry(f"{section}.{shown(name)}", name, table, name)
            for name, table in tables.items()
        ]
        for entry, chosen in self._in_order(entries):
            name = name_ranges.named(entry.text, entry.axes, chosen)
            if name in taken:
                problem = Problem(f"{section}.{name}", name, "a name that is not taken yet")
                self.problems.append(problem)
            taken.add(name)
            yield name, self._made(section, name, entry, chosen)

    def _entry(self, where: str, name: str, table: Any, *texts: str) -> _Entry:
        """An entry whose `texts` hold ranges, counted against the budget at once."""
        axes = self._axes(where, *texts)
        if axes:
            self._budget.entries(where, name_ranges.count(axes), table)
        return _Entry(where, name, table, axes)

    def _made(self, section: str, name: str, entry: _Entry, chosen: Picks) -> Any:
        """The table of one name: over its template, with values and names put in."""
        table = entry.table
        if isinstance(table, dict) and LIKE in table:
            like = (
                name_ranges.filled(table[LIKE], entry.axes, chosen) if entry.axes else table[LIKE]
            )
            table = self._laid_under(entry, like)
        table = name_ranges.filled(table, entry.axes, chosen) if entry.axes else table
        if section != "traffic" or not isinstance(table, dict):
            return table
        ends = [end for end in ("from", "to") if end in table]
        return {**table, **{end: self._all(f"traffic.{name}.{end}", table[end]) for end in ends}}

    def _laid_under(self, entry: _Entry, like: Any) -> Any:
        """An entry's table over its template; what is made of it is counted."""
        place = (entry.where, str(like))
        if place not in self._laid:
            table = self._templates.laid_under(entry.table, entry.where, like)
            self._laid[place] = (table, self._budget.size(entry.where, table))
        table, size = self._laid[place]
        self._budget.values(entry.where, size)
        return table

    def _listed(self, section: str, tables: list[Any]) -> Iterator[Any]:
        """Every table that a list of tables makes: one for each of the names it stands for."""
        entries = []
        for index, table in enumerate(tables):
            where = f"{section}[{index}]"
            table = self._templates.laid_under(table, where)
            texts = [table[key] for key in _named_keys(section, table)]
            entries.append(self._entry(where, "", table, *texts))
        for entry, chosen in self._in_order(entries):
            made = self._step(section, entry, chosen) if entry.axes else entry.table
            yield self._spelt(section, entry.where, made)

    def _spelt(self, section: str, where: str, table: Any) -> Any:
        """A figure or a mutant with all that the texts of its lists and keys stand for."""
        if not isinstance(table, dict):
            return table
        made = dict(table)
        for key in SPELT.get(section, ()):
            if key in table:
                made[key] = self._all(f"{where}.{key}", table[key])
        if section == "mutant" and isinstance(table.get("set"), dict):
            made["set"] = {
                name: value
                for key, value in table["set"].items()
                for name in self._names(f"{where}.set", key)
            }
        return made

    def _step(self, section: str, entry: _Entry, chosen: Picks) -> dict[str, Any]:
        made, skip = dict[str, Any](), 0
        keys = _named_keys(section, entry.table)
        for key, value in entry.table.items():
            if key in keys:
                made[key] = name_ranges.named(value, entry.axes, chosen, skip)
                skip += sum(axis.label is None for axis in name_ranges.axes(value, self.lists))
            else:
                made[key] = name_ranges.filled(value, entry.axes, chosen)
        return made

    def _in_order(self, entries: list[_Entry]) -> Iterator[tuple[_Entry, Picks]]:
        """Every entry with every combination; what begins with one named list in blocks of it."""
        for _, neighbours in groupby(entries, key=lambda entry: entry.block):
            block = list(neighbours)
            first = block[0].axes
            for value in range(len(first[0].values)) if first else (None,):
                for entry in block:
                    rest = name_ranges.picks(entry.axes[1:] if first else [])
                    yield from ((entry, (*(() if value is None else (value,)), *r)) for r in rest)

    def _axes(self, where: str, *texts: Any) -> list[Axis]:
        found: list[Axis] = []
        for text in texts:
            try:
                found += name_ranges.axes(text, self.lists, found)
            except NoRange as error:
                self.problems.append(Problem(where, shown(text), str(error)))
                return [Axis(None, [])]
        self._used_lists |= {axis.label for axis in found if axis.label}
        return found

    def _all(self, where: str, value: Any) -> Any:
        """A name, or a list of names, with all that they stand for; a single one stays a text."""
        if isinstance(value, str):
            found = self._names(where, value)
            return value if found == [value] else found
        if not isinstance(value, list):
            return value
        every: list[Any] = []
        for element in value:
            every += self._names(where, element) if isinstance(element, str) else [element]
        return every

    def _names(self, where: str, text: str) -> list[str]:
        if "{" not in text:
            return [text]
        try:
            found = name_ranges.axes(text, self.lists)
        except NoRange as error:
            self.problems.append(Problem(where, shown(text), str(error)))
            return []
        self._used_lists |= {axis.label for axis in found if axis.label}
        self._budget.names(where, name_ranges.count(found))
        return [name_ranges.named(text, found, chosen) for chosen in name_ranges.picks(found)]

    def unused(self, data: dict[str, Any]) -> None:
        """Templates and lists of the plan itself that nothing uses: most likely slips."""
        for section, used in (("templates", self._templates.used), ("lists", self._used_lists)):
            for name in data.get(section, {}):
                if name not in used:
                    text = "nothing uses it; use it or leave it out"
                    self.problems.append(Clash(join(section, name), name, text))


def _table(data: dict[str, Any], key: str, problems: list[Problem]) -> dict[str, Any]:
    value = data.get(key, {})
    if isinstance(value, dict):
        return value
    problems.append(Problem(key, shown(value), "a table is expected"))
    return {}


def _named_keys(section: str, table: Any) -> list[str]:
    """The keys of a step or an expectation that hold names, as they were written."""
    if not isinstance(table, dict):
        return []
    return [key for key in table if key in LISTED[section] and isinstance(table[key], str)]
