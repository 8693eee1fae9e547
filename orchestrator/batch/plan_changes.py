"""Changes of a resolved plan, as `tailback mutate --draw` draws them.

The operators (`OPERATORS`): a number × 0.5, 0.8, 1.2, 2 or 0 (parameters of algorithms, rates,
delays, buffers, steps of the timeline), another of the values of a parameter, two thresholds of one
table swapped, a value exchanged between two nodes or links, a plugin removed (marks, PFC, a delay
line, reflected messages), a source removed, doubled or silent half way, a host without traffic, a
step of the timeline left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise
from random import Random
from typing import Any, Literal, get_args, get_origin

from orchestrator.plan import ResolvedPlan, entity_names
from orchestrator.plan.units import format_duration, format_ratio, parse_duration

FACTORS = (Fraction(1, 2), Fraction(4, 5), Fraction(6, 5), Fraction(2), Fraction(0))
NO_QUANTITY = frozenset(
    {"plugin", "preset", "kind", "ends", "from", "to", "via", "like", "pairing", "seed", "priority"}
)
"""Keys whose values name something."""
WHOLE = ("B", "ps", "b/s", "")
"""Units of which there are no fractions."""
ONE_OF_MANY = 1 / 3
"""Share of the changes that change one of several alike holders, not all of them."""
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-zA-Z]*(?:/[a-zA-Z]+)?)")
_RATIO = re.compile(r"[0-9]+/[0-9]+")
Path = tuple[str, ...]
Make = Callable[[Random, Any], tuple[str, dict[str, Any], list[str]]]
"""Draws what is left open at a place: the change for people, `set` and `drop`."""


@dataclass(frozen=True)
class PlanChange:
    """One change: dotted keys and values as of a mutant, and what it is for people."""

    operator: str
    change: str
    set: dict[str, Any] = field(default_factory=dict)
    drop: tuple[str, ...] = ()


class PlanChanges:
    """The changes that a plan has room for, by operator."""

    def __init__(self, resolved: ResolvedPlan) -> None:
        self._plan, self._resolved = resolved.plan, resolved
        self._table = resolved.plan.to_table()
        self._groups = _grouped(self._table)
        self._numbers = [key for key in self._groups if _is_scalable(key.value)]
        self._others = self._other_values()
        self.operators: dict[str, tuple[int, list[Any], Make]] = {
            "number changed": (4, self._numbers, self._number),
            "other value": (2, self._others, self._other_value),
            "thresholds swapped": (1, self._pairs(), self._swapped),
            "exchanged": (1, self._exchangeable(), self._exchanged),
            "plugin removed": (2, _removable(self._table), self._removed),
            "source removed": (1, self._sources(), self._without_source),
            "source doubled": (1, [*self._plan.traffic], self._doubled),
            "source silent": (1, self._sources(), self._silent),
            "host removed": (1, self._hosts(), self._without_host),
            "step removed": (1, [*range(len(self._plan.timeline))], self._without_step),
        }

    def draw(self, random: Random) -> PlanChange:
        """Draw an operator, and a place for it. The change may make no valid plan."""
        able = [(name, *one) for name, one in self.operators.items() if one[1]]
        name, _, places, make = random.choices(able, [one[1] for one in able])[0]
        text, changes, drop = make(random, random.choice(places))
        return PlanChange(name, f"{name}: {text}", changes, tuple(drop))

    def _number(self, random: Random, key: Leaf) -> tuple[str, dict[str, Any], list[str]]:
        scaled = [_scaled(key.value, factor) for factor in FACTORS]
        value = random.choice([one for one in scaled if one != key.value])
        paths, called = _scope(random, self._groups[key])
        return f"{called} = {value} for {key.value}", {_dotted(one): value for one in paths}, []

    def _other_values(self) -> list[tuple[Leaf, Any]]:
        choices: dict[tuple[str, str], tuple[Any, ...]] = {}
        for uses in self._resolved.uses.values():
            for use in uses.values():
                for name, model in type(use.params).model_fields.items():
                    if get_origin(model.annotation) is Literal:
                        choices[use.algorithm.name, name] = get_args(model.annotation)
        found: list[tuple[Leaf, Any]] = []
        for key in self._groups:
            if isinstance(key.value, bool):
                found.append((key, not key.value))
            of = choices.get((key.plugin, key.masked[-1]), ())
            found += [(key, other) for other in of if other != key.value]
        return found

    def _other_value(
        self, random: Random, place: tuple[Leaf, Any]
    ) -> tuple[str, dict[str, Any], list[str]]:
        key, value = place
        paths, called = _scope(random, self._groups[key])
        return f"{called} = {value} for {key.value}", {_dotted(one): value for one in paths}, []

    def _pairs(self) -> list[tuple[Leaf, Leaf]]:
        """Two numbers with the same kind of unit in one table of a plugin."""
        tables: defaultdict[Any, list[Leaf]] = defaultdict(list)
        for key in self._numbers:
            if key.plugin and _kind(key.value):
                tables[key.masked[:-1], key.plugin, tuple(self._holders(key))].append(key)
        return [
            (a, b)
            for keys in tables.values()
            for a, b in combinations(keys, 2)
            if a.value != b.value and _kind(a.value) == _kind(b.value)
        ]

    def _holders(self, key: Leaf) -> list[Path]:
        return [path[:-1] for path in self._groups[key]]

    def _swapped(
        self, random: Random, place: tuple[Leaf, Leaf]
    ) -> tuple[str, dict[str, Any], list[str]]:
        first, second = place
        changes = {_dotted(one): second.value for one in self._groups[first]}
        changes |= {_dotted(one): first.value for one in self._groups[second]}
        names = f"{_dotted(first.masked)} and {second.masked[-1]}"
        return f"{names} ({first.value}, {second.value})", changes, []

    def _exchangeable(self) -> list[tuple[Leaf, Leaf]]:
        places: defaultdict[tuple[Path, str], list[Leaf]] = defaultdict(list)
        for key in self._groups:
            places[key.masked, key.plugin].append(key)
        return [pair for keys in places.values() for pair in pairwise(keys)]

    def _exchanged(
        self, random: Random, place: tuple[Leaf, Leaf]
    ) -> tuple[str, dict[str, Any], list[str]]:
        first, second = (random.choice(self._groups[one]) for one in place)
        changes = {_dotted(first): place[1].value, _dotted(second): place[0].value}
        values = f"({place[0].value}, {place[1].value})"
        return f"{_dotted(first)} and {_dotted(second)} {values}", changes, []

    def _removed(self, random: Random, paths: list[Path]) -> tuple[str, dict[str, Any], list[str]]:
        some, called = _scope(random, paths)
        return called, {}, [_dotted(one) for one in some]

    def _sources(self) -> list[entity_names.Flow]:
        return entity_names.flows(self._plan)

    def _ends(self, entry: str) -> list[str]:
        given = self._table["traffic"][entry]["from"]
        return [given] if isinstance(given, str) else list(given)

    def _without_source(
        self, random: Random, flow: entity_names.Flow
    ) -> tuple[str, dict[str, Any], list[str]]:
        key, ends = f"traffic.{flow.entry}", self._ends(flow.entry)
        count = self._table["traffic"][flow.entry]["flows"]
        if len(ends) > 1:
            return (
                flow.entity,
                {f"{key}.from": [one for one in ends if one != flow.node]},
                [],
            )
        if count > 1:
            return flow.entity, {f"{key}.flows": count - 1}, []
        return flow.entity, {}, [key]

    def _doubled(self, random: Random, entry: str) -> tuple[str, dict[str, Any], list[str]]:
        count = 2 * self._table["traffic"][entry]["flows"]
        return entry, {f"traffic.{entry}.flows": count}, []

    def _silent(
        self, random: Random, flow: entity_names.Flow
    ) -> tuple[str, dict[str, Any], list[str]]:
        half = format_duration(parse_duration(self._table["duration"]) // 2)
        steps = [*self._table.get("timeline", []), {"at": half, "stop": flow.entity}]
        return f"{flow.entity} from {half} on", {"timeline": steps}, []

    def _hosts(self) -> list[str]:
        return sorted({one for entry in self._plan.traffic for one in self._ends(entry)})

    def _without_host(self, random: Random, host: str) -> tuple[str, dict[str, Any], list[str]]:
        changes: dict[str, Any] = {}
        drop = list[str]()
        for entry in self._plan.traffic:
            ends = self._ends(entry)
            rest = [one for one in ends if one != host]
            if not rest:
                drop.append(f"traffic.{entry}")
            elif rest != ends:
                changes[f"traffic.{entry}.from"] = rest
        return host, changes, drop

    def _without_step(self, random: Random, at: int) -> tuple[str, dict[str, Any], list[str]]:
        return f"timeline[{at}]", {}, [f"timeline[{at}]"]


@dataclass(frozen=True)
class Leaf:
    """A value of a plan; those of alike holders are one: `masked` has * for their names."""

    masked: Path
    plugin: str
    """The plugin whose parameter it is."""
    value: Any


def _grouped(table: dict[str, Any]) -> dict[Leaf, list[Path]]:
    """The values of nodes, links, traffic and timeline, with the paths of each."""
    found: dict[Leaf, list[Path]] = {}
    for path, plugin, value in _leaves(table, (), ""):
        found.setdefault(Leaf(_masked(path), plugin, value), []).append(path)
    return found


def _leaves(table: Any, path: Path, plugin: str) -> Iterator[tuple[Path, str, Any]]:
    if not path:
        for section in ("nodes", "links", "traffic", "timeline"):
            yield from _leaves(table.get(section, {}), (section,), "")
    elif isinstance(table, dict):
        plugin = table.get("plugin", plugin)
        for key, value in table.items():
            if key not in NO_QUANTITY or (path[0] == "timeline" and key == "to"):
                yield from _leaves(value, (*path, key), plugin)
    elif isinstance(table, list) and path == ("timeline",):
        for at, step in enumerate(table):
            yield from _leaves(step, (*path, str(at)), "")
    elif isinstance(table, str | int | float):
        yield path, plugin, table


def _masked(path: Path) -> Path:
    if path[0] == "timeline":
        return path
    return tuple(
        "*" if at == 1 or path[at - 1] == "ports" else part for at, part in enumerate(path)
    )


def _removable(table: dict[str, Any]) -> list[list[Path]]:
    """Tables of plugins in nodes and links, and transports, alike ones together."""
    found: defaultdict[tuple[Path, str], list[Path]] = defaultdict(list)

    def search(inner: Any, path: Path) -> None:
        if isinstance(inner, dict):
            if "plugin" in inner and (path[0] != "traffic" or len(path) > 2):
                found[_masked(path), inner["plugin"]].append(path)
            for key, value in inner.items():
                search(value, (*path, key))

    for section in ("nodes", "links", "traffic"):
        search(table.get(section, {}), (section,))
    return [paths for (masked, plugin), paths in found.items() if plugin != "fixed-delay"]


def _scope(random: Random, paths: list[Path]) -> tuple[list[Path], str]:
    """All of these paths or one of them, and what they are called."""
    if len(paths) == 1 or random.random() < ONE_OF_MANY:
        one = random.choice(paths)
        return [one], _dotted(one)
    return paths, f"{_dotted(_masked(paths[0]))} ({len(paths)} of them)"


def _dotted(path: Path) -> str:
    return ".".join(path)


def _is_scalable(value: Any) -> bool:
    """True for a number or quantity above 0: 0 times a factor is 0 again."""
    return _scaled(value, Fraction(2)) is not None and re.search("[1-9]", str(value)) is not None


def _scaled(value: Any, factor: Fraction) -> Any:
    """A number or quantity times a factor, as a plan writes it; None: it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return round(value * factor)
    if isinstance(value, float):
        return float(Fraction(repr(value)) * factor)
    if not isinstance(value, str):
        return None
    if _RATIO.fullmatch(value):
        return format_ratio(Fraction(value) * factor)
    match = _QUANTITY.fullmatch(value)
    if match is None:
        return None
    number = Fraction(match[1]) * factor
    if match[2] in WHOLE[:-1]:
        number = Fraction(round(number))
    if not match[2]:
        return format_ratio(number)
    return f"{float(number):.9f}".rstrip("0").rstrip(".") + match[2]


def _kind(value: Any) -> str:
    """Sort of a quantity: the last letters of its unit, "ratio"; empty: a count."""
    if not isinstance(value, str):
        return ""
    unit = (_QUANTITY.fullmatch(value) or ["", "", ""])[2]
    return (unit[-3:] if unit.endswith("b/s") else unit[-1:]) or "ratio"
