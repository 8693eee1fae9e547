"""Sentences about the stalls of a run: count, causes, and affected control loops."""

from __future__ import annotations

from typing import Any

from orchestrator.terminal.format_output import quantity

BY = {
    "work": "the plan's own work",
    "processes": "other processes",
    "stopped": "a stop of the data path",
    "hypervisor": "the hypervisor",
    "unexplained": "something unexplained",
}
"""Causes of `orchestrator.run.datapath_stalls`, for people."""


MACHINES = 20
"""Most machines that are listed one by one."""


def sentences(fidelity: object) -> list[str]:
    """Sentences about `fidelity["stalls"]` of a result.json, none where it is missing or malformed:
    one sentence, or one for each of several machines and one about their loops."""
    table = _table(fidelity, "stalls")
    felt, counted = _number(table, "felt"), _counted(table)
    if felt is None or counted is None:
        return []
    some = _number(table, "count")
    machines = _machines(table)
    if not machines:
        return [f"{counted}; {_impact(table, felt)}" if some else counted]
    shown = [f"on {name}, {text}" for name, text in machines[:MACHINES]]
    if (more := len(machines) - MACHINES) > 0:
        shown.append(f"on {more} more machines as result.json has it")
    return [*shown, _impact(table, felt)] if some else shown


def as_entry(fidelity: object) -> dict[str, str]:
    """Stall sentences as an entry of a console message; empty without sentences."""
    said = sentences(fidelity)
    return {"stalls": "; ".join(said)} if said else {}


def _machines(table: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and sentence of each machine, in runs of several."""
    found = []
    machines = _table(table, "machines")
    for name in machines:
        row = _table(machines, name)
        untold = row.get("untold")
        said = f"unknown: {untold}" if isinstance(untold, str) else _counted(row)
        if said is not None:
            found.append((name, said))
    return found


def _counted(table: dict[str, Any]) -> str | None:
    """Number of stalls, their causes and durations."""
    count, floor = _number(table, "count"), _number(table, "floor_s")
    if count is None or floor is None:
        return None
    if not count:
        return f"none above {_time(floor)}"
    by = [f"{_number(row, 'count') or 0:.0f} by {BY[name]}" for name, row in _causes(table)]
    text = f"{count:.0f} above {_time(floor)}"
    text += f": {', '.join(by)}" if by else ""
    if (longest := _number(table, "longest_s")) is not None:
        text += f"; the longest {_time(longest)}"
    if missing := _number(table, "not_logged"):
        text += f"; {missing:.0f} more were not logged"
    return text


def _causes(table: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Causes that occurred, the longest total time first."""
    causes = _table(table, "causes")
    rows = [(name, _table(causes, name)) for name in BY if isinstance(causes.get(name), dict)]
    return sorted(rows, key=lambda one: -(_number(one[1], "time_s") or 0.0))


def _impact(table: dict[str, Any], felt: float) -> str:
    loops = _table(table, "loops")
    if not loops:
        return "the plan has no control loop"
    if felt:
        rows = [name for name in loops if _number(_table(loops, name), "felt")]
        at = f" (at {', '.join(rows[:3])}{', ...' if len(rows) > 3 else ''})" if rows else ""
        return f"{felt:.0f} of them delayed control loops{at}"
    machines = _table(table, "machines")
    some = any("untold" in _table(machines, name) for name in machines)
    none = f"no control loop was affected{' on machines with reports' if some else ''}"
    name, row = next(iter(loops.items()))
    row = row if isinstance(row, dict) else {}
    gone, reaction = (_number(row, key) for key in ("longest_s", "reaction_time_s"))
    if gone is None or reaction is None:
        return none
    most = f"{_time(gone)} of its time at the most"
    return f"{none}: {most}, and {name} reacts in {_time(reaction)}"


def _table(of: object, key: str) -> dict[str, Any]:
    found = of.get(key) if isinstance(of, dict) else None
    return found if isinstance(found, dict) else {}


def _number(of: dict[str, Any], key: str) -> float | None:
    found = of.get(key)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _time(value: float) -> str:
    return quantity(value, "s")
