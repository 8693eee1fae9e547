"""Reader of a run's resolved `plan.toml` for reports.

The plan's own models would do as well, but would refuse the plan of a run whose plugin is not
installed here; its report must still open.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from orchestrator.plan import Plan, units
from orchestrator.plan.figure_tables import Figure
from orchestrator.plan.size_limits import MOST_FIGURES


class Unreadable(ValueError):
    """A key of the plan that does not hold what it should; the message names it."""


@functools.lru_cache(maxsize=2)
def checked(text: str) -> Plan:
    """The plan itself, for what depends on its network; each figure of a report asks. Raises
    BadInput."""
    return Plan.load(text)


def _table(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: {value!r} is not accepted; a table is")
    return value


def figures(plan: dict[str, Any]) -> list[Figure]:
    """Figures that a plan defines, in order."""
    tables = plan.get("figure", [])
    if not isinstance(tables, list):
        raise Unreadable(f"figure: {tables!r} is not accepted; a list of tables is")
    found = []
    for index, table in enumerate(tables[:MOST_FIGURES]):
        try:
            found.append(Figure.model_validate(table))
        except ValidationError as error:
            one = error.errors()[0]
            where = ".".join(map(str, one["loc"]))
            raise Unreadable(f"figure[{index}].{where}: {one['msg']}") from error
    return found


def phases(plan: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """[from, to) of each phase in ps, in order of time."""
    found: dict[str, tuple[int, int]] = {}
    for name, phase in _table(plan.get("phases"), "phases").items():
        phase = _table(phase, f"phases.{name}")
        ends = []
        for key in ("from", "to"):
            try:
                ends.append(units.parse_duration(phase.get(key)))
            except units.UnitError as error:
                raise Unreadable(f"phases.{name}.{key}: {phase.get(key)!r}: {error}") from error
        found[name] = (ends[0], ends[1])
    return dict(sorted(found.items(), key=lambda item: item[1]))


def set_points(plan: dict[str, Any], ports: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Set point in bytes of those of the ports (node, entity) whose congestion point has one."""
    nodes = _table(plan.get("nodes"), "nodes")
    found: dict[str, int] = {}
    for node, entity in ports:
        where, point = _congestion_point(_table(nodes.get(node), f"nodes.{node}"), node, entity)
        if "set_point" in point:
            try:
                found[entity] = units.parse_size(point["set_point"])
            except units.UnitError as error:
                raise Unreadable(f"{where}.set_point: {point['set_point']!r}: {error}") from error
    return found


def _congestion_point(switch: dict[str, Any], node: str, entity: str) -> tuple[str, dict[str, Any]]:
    """(path, table) of what watches a port (s.d, s.d/p3) or an input (s.h1/in); {} for nothing."""
    name, *sides = entity.removeprefix(f"{node}.").split("/")
    if "in" in sides:
        where = f"nodes.{node}.inputs"
        holder = _table(switch.get("inputs"), where)
        return f"{where}.congestion_point", _table(holder.get("congestion_point"), where)
    overrides = _table(switch.get("ports"), f"nodes.{node}.ports")
    port = _table(overrides.get(name), f"nodes.{node}.ports.{name}")
    where = f"nodes.{node}.congestion_point"
    return where, _table(port.get("congestion_point", switch.get("congestion_point")), where)
