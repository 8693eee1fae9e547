"""Values of parameters at a time of a run: initial values and the changes up to that time."""

from __future__ import annotations

from typing import Any

from orchestrator.console.run_data import RunData


def holder_of(data: RunData, kind: str, entity: str) -> str:
    """Key in `uses` of the plugin at a queue: switch.sink for its lane switch.sink/p3."""
    uses = data.resolved.uses[kind] if data.resolved else {}
    return entity if entity in uses else entity.rpartition("/")[0]


def parameter(data: RunData, kind: str, entity: str, name: str, at_ps: int) -> int | None:
    """A parameter of the plugin at a queue (bytes, ps, bit/s); None where it has none."""
    if data.resolved is None:
        return None
    holder = holder_of(data, kind, entity)
    use = data.resolved.use(kind, holder)
    value: Any = getattr(use.params, name, None) if use is not None else None
    if not isinstance(value, int):
        return None
    for action in data.resolved.actions:
        if (
            action.at <= at_ps
            and action.verb == "set"
            and action.kind == kind
            and holder in action.entities
            and name in action.values
        ):
            value = action.values[name]
    return value


def lines_of(data: RunData, entity: str, at_ps: int) -> list[tuple[str, int]]:
    """The set point and the thresholds of PAUSE that hold for a queue now."""
    found = []
    for kind, name, label in (
        ("congestion_point", "set_point", "set point"),
        ("pause", "high", "PAUSE above"),
        ("pause", "low", "resume below"),
    ):
        value = parameter(data, kind, entity, name, at_ps)
        if value is not None:
            found.append((label, value))
    return found


def is_held(data: RunData, way: str, at_ps: int) -> bool:
    """Return whether the sender of a link direction is paused, by PAUSE or by a command."""
    if not data.has(way, "paused_ps"):
        return False
    first, last = data.span(at_ps - 1, at_ps)
    first = max(min(first, last - 2), 0)
    column = data.index[way]["paused_ps"]
    return bool(last - first > 1 and data.values[last - 1, column] > data.values[first, column])


def cut_links(data: RunData, at_ps: int) -> set[str]:
    """Links that were cut, and not mended since."""
    return _standing(data, at_ps, "cut", "mend")


def paused_ports(data: RunData, at_ps: int) -> set[str]:
    """Ports that a step has paused, and none resumed since."""
    return _standing(data, at_ps, "pause", "resume")


def _standing(data: RunData, at_ps: int, begins: str, ends: str) -> set[str]:
    """Entities whose last step up to a time is `begins`."""
    last = {
        m.entity: m.what for m in data.moments if m.time_ps <= at_ps and m.what in (begins, ends)
    }
    return {entity for entity, what in last.items() if what == begins}
