"""Replay of a counterexample: calls the real kernel with the numbers that were found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from firmware.proof.checked import Checked, Fields, OutOfRange, unwrapped
from firmware.proof.deadline import Endless, counted
from firmware.proof.ranges import ENTITY, RECORDS, leaving
from orchestrator.algorithm import Algorithm
from orchestrator.engine.records import FRAME

MOST_OPERATIONS = 20_000
"""Most operations of a call of a kernel; a longer one is inconclusive."""
CELL = re.compile(r"(\w+)\.(\w+)\[(-?\d+(?:, -?\d+)*)\]")


def shapes_of(dtype: np.dtype) -> dict[str, tuple[int, ...]]:
    return {name: dtype[name].shape for name in dtype.names or ()}


def kernels_of(algorithm: Algorithm) -> dict[str, Any]:
    """All kernels by name, those of named timers included."""
    named = {f"timers.{name}": kernel for name, kernel in algorithm.timers.items()}
    return {**algorithm.kernels, **named}


def records_for(algorithm: Algorithm, values: Mapping[str, int]) -> dict[str, Fields]:
    """The records of a call; `values` by "record.field" or "record.field[index]"."""
    entity = ENTITY[algorithm.kind]
    dtypes = {
        "state": algorithm.state,
        "params": algorithm.params.dtype(),
        entity: RECORDS[entity][0],
        "frame": FRAME,
        "message": FRAME,
    }
    made = {}
    for name, dtype in dtypes.items():
        mine = {key.partition(".")[2]: v for key, v in values.items() if key.startswith(f"{name}.")}
        made[name] = Fields(shapes_of(dtype), mine)
    for key, value in values.items():
        match = CELL.fullmatch(key)
        if match and match[1] in made:
            place = tuple(int(one) for one in match[3].split(","))
            getattr(made[match[1]], match[2])[place] = value
    return made


def run_kernel(
    algorithm: Algorithm, event: str, values: Mapping[str, int]
) -> tuple[int | None, dict[str, Fields]]:
    """Call the kernel as plain Python. Raises OutOfRange for an int64 overflow, Endless for a call
    of more than MOST_OPERATIONS."""
    records = records_for(algorithm, values)
    flows: dict[int, Fields] = {}

    def flow_state(state: Any, flow: Any) -> Fields:
        if int(flow) not in flows:
            mine = {
                k.split("].", 1)[1]: v
                for k, v in values.items()
                if k.startswith("flow[") and "]." in k
            }
            flows[int(flow)] = Fields(shapes_of(algorithm.state), mine)
        return flows[int(flow)]

    instead = {
        "flow_state": flow_state,
        "word_at": lambda address, index: Checked(values.get(f"word[{int(index)}]", 0)),
        "select": lambda condition, one, other: one if condition else other,
    }
    kernel = unwrapped(kernels_of(algorithm)[event], instead)
    entity = records[ENTITY[algorithm.kind]]
    now = Checked(values.get("now", 0))
    given = records["state"], records["params"], entity, records["frame"], now, records["message"]
    try:
        with counted(MOST_OPERATIONS):
            return kernel(*given), records
    except IndexError:
        raise OutOfRange("has index beyond a tuple of constants") from None


def overflow_of(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Int64 overflow of a call; empty without one, or if the call does not end."""
    try:
        run_kernel(algorithm, event, values)
    except OutOfRange as error:
        return str(error)
    except Endless:
        return ""
    return ""


def left_outside(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Field that a call leaves outside of its range; empty without one, or if the call does not
    end."""
    entity = ENTITY[algorithm.kind]
    ranges = RECORDS[entity][1]
    taken = {name: leaving(entity, name, one.bounds) for name, one in ranges.items()}
    before = records_for(algorithm, values)
    try:
        _, after = run_kernel(algorithm, event, values)
    except (OutOfRange, Endless):
        return ""
    for record, bounds in ((entity, taken), ("state", algorithm.bounds)):
        old, new = before[record].numbers(), after[record].numbers()
        for name, value in new.items():
            low, high = bounds.get(name, (value, value))
            if value != old[name] and not low <= value <= high:
                return f"{record}.{name} is left at {value}, outside of {low} to {high}"
    return ""


def trouble_of(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Overflow or field out of range; empty without either."""
    found = overflow_of(algorithm, event, values)
    return found or left_outside(algorithm, event, values)
