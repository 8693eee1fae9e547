"""State of one sweep for the views: axes, results of points so far, refused points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.batch.confidence_interval import mean_and_half
from orchestrator.terminal.escape_control import plain, plain_tree
from orchestrator.terminal.format_output import quantity

RUNNING, LOST = "running", "lost"
MOST_MESSAGES = 50
FEWEST_SLOTS, FILLED = 4, 1.5
Value = float | str
Number = tuple[float, float | None]
"""Mean over seeds, and half of its 95 % interval."""


@dataclass(frozen=True)
class Axis:
    """Axis of a sweep: the list of its values, or the ends of a range."""

    key: str
    unit: str
    is_log: bool
    values: tuple[Value, ...]
    ends: tuple[float, float]

    @classmethod
    def of(cls, header: dict[str, Any]) -> Axis:
        """As a journal and sweep.json tell an axis, with `values` or `ends`."""
        values = tuple(v if isinstance(v, str) else float(v) for v in header["values"])
        low, high = header["ends"] or (0.0, 1.0)
        unit, is_log = str(header["unit"]), header["spacing"] == "log"
        return cls(str(header["key"]), unit, is_log, values, (float(low), float(high)))

    def slot(self, value: Value, count: int) -> int:
        """In which of so many slots a value lies."""
        if self.values:
            at = self.values.index(value)
            return at if len(self.values) <= count else at * count // len(self.values)
        return min(max(int(self.share(float(value)) * count), 0), count - 1)

    def slots(self, room: int, places: int) -> int:
        """Number of slots, `room` at most; of a range, as many as that number of points fills when
        they are spread about evenly."""
        wanted = len(self.values) or max(int(FILLED * math.sqrt(places)), FEWEST_SLOTS)
        return max(min(wanted, room), 1)

    def share(self, value: float) -> float:
        """Position of a number between the ends, 0 to 1."""
        low, high = self.ends
        if self.is_log and low > 0:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low) if high > low else 0.5

    def middle(self, slot: int, count: int) -> Value:
        """The value in the middle of a slot."""
        if self.values:
            step = max(len(self.values) / count, 1)
            return self.values[min(int((slot + 0.5) * step), len(self.values) - 1)]
        low, high = self.ends
        share = (slot + 0.5) / count
        if self.is_log and low > 0:
            return float(low * (high / low) ** share)
        return low + (high - low) * share

    def text(self, value: Value, digits: int = 4) -> str:
        """A value for people."""
        if isinstance(value, str):
            return value
        return quantity(float(f"{value:.{digits}g}"), self.unit)


@dataclass
class SweepPoint:
    """Parameter point of a sweep: its values, and the results of its seeds or their mean alone."""

    values: tuple[Value, ...]
    seeds: dict[int, tuple[str, list[float | None]]] = field(default_factory=dict)
    """Seed -> verdict, numbers by column."""
    known: dict[str, Number] = field(default_factory=dict)


@dataclass
class SweepData:
    """See the module. `state` is running, done, failed, stopped or lost (its process is gone)."""

    name: str
    title: str = ""
    design: str = "grid"
    planned: int = 0
    """Places there are to be."""
    axes: list[Axis] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    """Column that is drawn -> its unit, the first that of the edge if there is one."""
    edge: float | None = None
    places: dict[int, SweepPoint] = field(default_factory=dict)
    refused: dict[int, tuple[tuple[Value, ...], str]] = field(default_factory=dict)
    """Places that make no plan, and why."""
    refused_count: int = 0
    said: list[str] = field(default_factory=list)
    state: str = RUNNING
    why: str = ""
    done: float = 0.0
    text: str = ""
    """How far it is."""
    folder: str | None = None
    process: int = 0
    version: int = 0

    @property
    def columns(self) -> list[str]:
        """Columns that can be drawn."""
        return list(self.units)

    @property
    def is_grid(self) -> bool:
        """True when the points are all combinations of the axes' values."""
        return self.design == "grid"

    def number(self, place: SweepPoint, column: str) -> Number | None:
        """Mean and half of its interval over the seeds that are known; None without any."""
        if place.known:
            return place.known.get(column)
        at = self.columns.index(column)
        rows = [row for _, (_, row) in sorted(place.seeds.items())]
        mean, half = mean_and_half([n for row in rows if (n := _at(row, at)) is not None])
        return None if mean is None else (mean, half)

    def verdicts(self) -> Counter[str]:
        """Number of points by verdict."""
        return Counter(v for place in self.places.values() for v, _ in place.seeds.values())

    def failed(self) -> Iterator[tuple[SweepPoint, int, str]]:
        """Points that are missed or invalid: place, seed, verdict."""
        for _, place in sorted(self.places.items()):
            for seed, (verdict, _) in sorted(place.seeds.items()):
                if verdict in ("missed", "invalid"):
                    yield place, seed, verdict

    def at(self, values: tuple[Value, ...]) -> str:
        """A place in words."""
        pairs = zip(self.axes, values, strict=True)
        return ", ".join(f"{axis.key} = {axis.text(value)}" for axis, value in pairs)


def _at(row: list[float | None], place: int) -> float | None:
    return row[place] if place < len(row) else None  # a column that was announced later


def new_sweep(head: dict[str, Any]) -> SweepData:
    """New sweep from the first line of a journal."""
    header = plain_tree(head)
    edge = header["edge"]
    return SweepData(
        f"{header['plan']}",
        title=str(header["title"]),
        design=str(header["design"]),
        planned=int(header["places"]),
        axes=[Axis.of(axis) for axis in header["axes"]],
        edge=None if edge is None else float(edge[1]),
        process=int(header["process"]),
    )


def take_in(data: SweepData, line: dict[str, Any]) -> None:
    """A further line of a journal (see `points.journal`)."""
    data.version += 1
    if "columns" in line:
        data.units = {plain(name): plain(unit) for name, unit in line["columns"]}
    elif "seed" in line:
        place = data.places.setdefault(line["at"], SweepPoint(_values(line)))
        place.seeds[line["seed"]] = (plain(line["verdict"]), line["n"])
    elif "at" in line:
        data.refused[line["at"]] = (_values(line), plain(line["why"]))
        data.refused_count = len(data.refused)
    elif "stage" in line:
        data.done, data.text = line["done"], plain(line["text"])
    elif "said" in line:
        data.said = [*data.said, plain(line["said"])][-MOST_MESSAGES:]
    elif "ended" in line:
        data.state, data.why = plain(line["ended"]), plain(line["text"])
        data.folder = line["folder"]


def _values(line: dict[str, Any]) -> tuple[Value, ...]:
    return tuple(plain(v) if isinstance(v, str) else float(v) for v in line["of"])
