"""Replay of a counterexample: calls the real kernel with the numbers that were found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from firmware.proof.checked_int import Cells, Checked, Fields, OutOfRange, plain_python
from firmware.proof.field_ranges import ENTITY, RECORDS, bounds_after_event
from firmware.proof.time_limit import ProofTimeout, StepLimitExceeded, step_limit
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
    kernel = plain_python(kernels_of(algorithm)[event], instead)
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
    entity = ENTITY[algorithm.kind]
    ranges = RECORDS[entity][1]
    taken = {name: bounds_after_event(entity, name, one.bounds) for name, one in ranges.items()}
    before = records_for(algorithm, values)
    try:
        _, after = run_kernel(algorithm, event, values)
    except (OutOfRange, StepLimitExceeded):
        return ""
    for record, bounds in ((entity, taken), ("state", algorithm.bounds)):
        old, new = before[record].numbers(), after[record].numbers()
        for name, value in new.items():
            low, high = bounds.get(name, (value, value))
            if value != old[name] and not low <= value <= high:
                return f"{record}.{name} is left at {value}, outside of {low} to {high}"
    return ""


def fault_of(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Overflow or field out of range; empty without either."""
    found = overflow_of(algorithm, event, values)
    return found or field_out_of_range(algorithm, event, values)


# Reachability of a counterexample: short sequences of events from a new state.
#
# The state of a counterexample is within inductive bounds, but not every such state is reachable.
# Tried are the call itself on an initial state, one or two other kernels before it, and repeated
# calls, with the counterexample's parameters and records. If none of these shows the fault, nothing
# follows.

MOST_REPEATS = 8


def reaching_events(algorithm: Algorithm, event: str, values: Mapping[str, int]) -> str:
    """Sequence of events that ends with `event` and shows the fault; empty without one, or after
    the time limit."""
    for before in _sequences(algorithm, event):
        state = _initial_state(algorithm, values)
        try:
            for one in before:
                _, records = run_kernel(algorithm, one, {**values, **state})
                state = _state_of(records["state"], values)
            shown = fault_of(algorithm, event, {**values, **state})
        except (OutOfRange, StepLimitExceeded):
            continue
        except ProofTimeout:
            break
        if shown:
            return ", ".join([*before, event])
    return ""


def _sequences(algorithm: Algorithm, event: str) -> Iterator[list[str]]:
    yield []
    events = list(kernels_of(algorithm))
    yield from ([one] for one in events)
    yield from ([one, other] for one in events for other in events if one != other)
    yield from ([event] * times for times in range(2, MOST_REPEATS))


def _initial_state(algorithm: Algorithm, values: Mapping[str, int]) -> dict[str, int]:
    """Initial state: zeros, and seeds other than 0."""
    begun = {name: 0 for name in values if name.startswith("state.")}
    seeds = [name for name in algorithm.state.names or () if name in ("lfsr", "lfsr_alike")]
    return begun | {f"state.{name}": values.get(f"state.{name}", 0) or 1 for name in seeds}


def _state_of(state: Fields, values: Mapping[str, int]) -> dict[str, int]:
    """State after a call, without values of the counterexample's own state."""
    found = {name: 0 for name in values if name.startswith("state.")}
    found |= {f"state.{name}": value for name, value in state.numbers().items()}
    for name, cells in vars(state).items():
        if isinstance(cells, Cells):
            for place, value in cells.items():
                found[f"state.{name}[{', '.join(map(str, place))}]"] = int(value)
    return found
