"""Comparison of a capsule's values with re-run values, one by one."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.plan.metric_registry import CORE
from orchestrator.plan.observables import plugin_of
from orchestrator.registry import Registry
from traces.capsule.tolerance import EXACT, Tolerance, decides

VERDICT, EXPECTATION, METRIC, POINT, PARAMETER_POINT = (
    "verdict",
    "expectation",
    "metric",
    "point",
    "place",
)
MAX_LISTED = 200
"""Figures that differ and are listed; all are counted."""


@dataclass(frozen=True)
class ComparedValue:
    """A compared value; `holds` is None where the tolerance does not judge it."""

    kind: str
    name: str
    packed: Any
    here: Any
    holds: bool | None
    unit: str = ""
    within: float | None = None
    """Accepted difference, where the spread of seeds is known."""


class ComparisonCount:
    """Number of values that hold, and the values that differ."""

    def __init__(self) -> None:
        self.kinds: dict[str, dict[str, int]] = {}
        self.differ: list[ComparedValue] = []
        """The first of them."""
        self.held: list[ComparedValue] = []
        """The first of those that hold by how seeds spread."""

    def add(self, figure: ComparedValue) -> None:
        """Count one."""
        self.many(figure.kind, figure.holds, 1)
        if figure.holds is False and len(self.differ) < MAX_LISTED:
            self.differ.append(figure)
        if figure.holds and figure.within is not None and len(self.held) < MAX_LISTED:
            self.held.append(figure)

    def take(self, other: ComparisonCount) -> None:
        """Count all of another."""
        for kind, of in other.kinds.items():
            for key, number in of.items():
                self.kinds.setdefault(kind, dict.fromkeys(of, 0))[key] += number
        self.differ = [*self.differ, *other.differ][:MAX_LISTED]
        self.held = [*self.held, *other.held][:MAX_LISTED]

    def many(self, kind: str, holds: bool | None, number: int) -> None:
        """Count several that came out the same way."""
        of = self.kinds.setdefault(kind, {"hold": 0, "differ": 0, "not_judged": 0})
        of["not_judged" if holds is None else "hold" if holds else "differ"] += number

    @property
    def all_hold(self) -> bool:
        """True if no value differs."""
        return not any(of["differ"] for of in self.kinds.values())

    def as_json(self) -> dict[str, Any]:
        """The counts as plain data, for `--json`."""
        return {
            "figures": self.kinds,
            "differ": [asdict(one) for one in self.differ],
            "held": [asdict(one) for one in self.held],
        }


def compare_runs(
    packed: dict[str, Any], here: dict[str, Any], tolerance: Tolerance
) -> ComparisonCount:
    """The figures of a run: verdict, expectations, metrics."""
    count = ComparisonCount()
    said = packed["verdict"], here["verdict"]
    open_ = "uncertain" in said and tolerance.kind != EXACT
    count.add(ComparedValue(VERDICT, "verdict", *said, open_ or said[0] == said[1]))
    for figure in (*_expectations(packed, here, tolerance), *_metrics(packed, here, tolerance)):
        count.add(figure)
    return count


def _expectations(
    packed: dict[str, Any], here: dict[str, Any], tolerance: Tolerance
) -> Iterator[ComparedValue]:
    rows, others = packed["expectations"], here["expectations"]
    for at in range(max(len(rows), len(others))):
        row = rows[at] if at < len(rows) else None
        other = others[at] if at < len(others) else None
        one = row or other or {}
        name = f"{one['metric']} of {one['of']} in {one['phase']}"
        if row is None or other is None:
            yield ComparedValue(
                EXPECTATION, name, _expectation_text(row), _expectation_text(other), False
            )
            continue
        named = all(row[key] == other[key] for key in ("metric", "of", "phase"))
        holds = named and tolerance.expectation(row, other)
        yield ComparedValue(
            EXPECTATION, name, _expectation_text(row), _expectation_text(other), holds
        )


def _expectation_text(row: dict[str, Any] | None) -> str:
    """An expectation in a word or two: "met (0.99; at least 0.9)"."""
    if row is None:
        return "not expected"
    word = "met" if row["met"] else "uncertain" if row.get("uncertain") else "not met"
    band = f"{row['min']} to {row['max']}".replace("None", "any")
    return f"{word} ({row['value']}; {band})"


def is_added_here(metric: str, packed: Container[str]) -> bool:
    """True for a metric of a plugin that is installed here and was not where the capsule was made.

    It is no difference: nothing in the capsule states a value of it. A metric of tailback's own, or
    of the state of an algorithm, is never one.
    """
    if metric in packed or metric in CORE:
        return False
    of_algorithm = plugin_of(metric)
    return not any(one.name == of_algorithm for one in Registry.load().algorithms)


def _metrics(
    packed: dict[str, Any], here: dict[str, Any], tolerance: Tolerance
) -> Iterator[ComparedValue]:
    ours, theirs = here["metrics"], packed["metrics"]
    for phase in (*theirs, *sorted(set(ours) - set(theirs))):
        entities = theirs.get(phase, {})
        for entity in (*entities, *sorted(set(ours.get(phase, {})) - set(entities))):
            known, found = entities.get(entity, {}), ours.get(phase, {}).get(entity, {})
            judge = phase in theirs and decides(theirs, phase, entity)
            for name in (*known, *sorted(set(found) - set(known))):
                if name not in known and is_added_here(name, packed["units"]):
                    continue
                pair = known.get(name), found.get(name)
                holds = tolerance.metric(name, *pair, judge)
                if (name in known) != (name in found) and tolerance.kind == EXACT:
                    holds = False
                unit = str(packed["units"].get(name, ""))
                yield ComparedValue(METRIC, f"{name} of {entity} in {phase}", *pair, holds, unit)
