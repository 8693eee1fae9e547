"""Replay of a counterexample: calls the real kernel with the numbers that were found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from firmware.proof.checked_int import Checked, Fields, OutOfRange, plain_python
from firmware.proof.field_ranges import ENTITY, RECORDS, bounds_after_event
from firmware.proof.time_limit import StepLimitExceeded, step_limit
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


class _PlainKernels:
    """Kernels of an algorithm as plain Python; made once, since a search calls them often."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm
        self.values: Mapping[str, int] = {}
        self.flows: dict[int, Fields] = {}
        self._made: dict[str, Any] = {}

    def kernel(self, event: str) -> Any:
        if event not in self._made:
            instead = {
                "flow_state": self._flow_state,
                "word_at": lambda _, index: Checked(self.values.get(f"word[{int(index)}]", 0)),
                "select": lambda condition, one, other: one if condition else other,
            }
            self._made[event] = plain_python(kernels_of(self.algorithm)[event], instead)
        return self._made[event]

    def _flow_state(self, state: Any, flow: Any) -> Fields:
        if int(flow) not in self.flows:
            mine = {
                k.split("].", 1)[1]: v
                for k, v in self.values.items()
                if k.startswith("flow[") and "]." in k
            }
            self.flows[int(flow)] = Fields(shapes_of(self.algorithm.state), mine)
        return self.flows[int(flow)]


_latest: list[_PlainKernels] = []


def _plain_of(algorithm: Algorithm) -> _PlainKernels:
    if not _latest or _latest[0].algorithm is not algorithm:
        _latest[:] = [_PlainKernels(algorithm)]
    return _latest[0]


def run_kernel(
    algorithm: Algorithm,
    event: str,
    values: Mapping[str, int],
    flows: dict[int, Fields] | None = None,
) -> tuple[int | None, dict[str, Fields]]:
    """Call the kernel as plain Python. Raises OutOfRange for an int64 overflow, Endless for a call
    of more than MOST_OPERATIONS. `flows` has a receiver's state of its flows, which goes on."""
    records = records_for(algorithm, values)
    plain = _plain_of(algorithm)
    plain.values, plain.flows = values, {} if flows is None else flows
    kernel = plain.kernel(event)
    entity = records[ENTITY[algorithm.kind]]
    now = Checked(values.get("now", 0))
    given = records["state"], records["params"], entity, records["frame"], now, records["message"]
    try:
        with step_limit(MOST_OPERATIONS):
            return kernel(*given), records
    except IndexError:
        raise OutOfRange("has index beyond a tuple of constants") from None


def overflow_of(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Int64 overflow of a call; empty without one, or if the call does not end."""
    try:
        run_kernel(algorithm, event, values)
    except OutOfRange as error:
        return str(error)
    except StepLimitExceeded:
        return ""
    return ""


def field_out_of_range(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Field that a call leaves outside of its range; empty without one, or if the call does not
    end."""
    try:
        _, after = run_kernel(algorithm, event, values)
    except (OutOfRange, StepLimitExceeded):
        return ""
    return fields_outside(algorithm, records_for(algorithm, values), after)


def fields_outside(
    algorithm: Algorithm, before: Mapping[str, Fields], after: Mapping[str, Fields]
) -> str:
    """Field of the entity or the state that a call left outside of its range; empty without one."""
    entity = ENTITY[algorithm.kind]
    for record in (entity, "state"):
        old = before[record].numbers()
        for name, value in after[record].numbers().items():
            if value == old[name]:
                continue
            if record == entity:
                bounds = bounds_after_event(entity, name, RECORDS[entity][1][name].bounds)
            else:
                bounds = algorithm.bounds.get(name, (value, value))
            if not bounds[0] <= value <= bounds[1]:
                return f"{record}.{name} is left at {value}, outside of {bounds[0]} to {bounds[1]}"
    return ""


def fault_of(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Overflow or field out of range; empty without either."""
    found = overflow_of(algorithm, event, values)
    return found or field_out_of_range(algorithm, event, values)
