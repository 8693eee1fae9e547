"""Random calls of an algorithm's kernels, with the answers and records of the Python kernel."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from firmware.compiler.form_interpreter import Cell, cells_of
from firmware.compiler.record_lowering import FLOW_STATE, stride_of
from firmware.proof.checked_int import Fields, OutOfRange
from firmware.proof.counterexample_replay import kernels_of, records_for, run_kernel, shapes_of
from firmware.proof.field_ranges import ANSWERS, ENTITY, LFSR, NOW
from firmware.proof.parameter_bounds import presets_of
from firmware.proof.random_calls import random_value, ranges_of_call
from firmware.proof.term_graph import Interval
from firmware.proof.time_limit import StepLimitExceeded
from orchestrator.algorithm import Algorithm

STATE: Interval = (-(1 << 12), 1 << 16)
"""Values of a state field without declared bounds."""
SEGMENTS: Interval = (0, 300)
"""Segment numbers of a transport, whose loops run from one to another."""
FLOWS = 4
"""Flows of a receiver that calls are about."""
CARRIED = 0.8
"""Share of the calls that continue with the state and entity of the call before."""
MOST_TRIES = 40
"""Tries for each call: those that exceed an int64, or do not end, are drawn anew."""
INDEX = 64
NEAR = 5_000
"""Bound of all numbers in one of three calls; in another most are one of two small numbers."""


@dataclass(frozen=True)
class KernelCall:
    """One call: what it begins with, and what the Python kernel leaves and answers."""

    event: str
    now: int
    before: dict[Cell, int]
    after: dict[Cell, int]
    answer: int


def kernel_calls(algorithm: Algorithm, count: int, seed: int = 1) -> Iterator[KernelCall]:
    """Random calls of all kernels, with parameters within the model's bounds."""
    rng = random.Random(f"{seed}/{algorithm.name}")
    events, carried = list(kernels_of(algorithm)), dict[str, int]()
    flows: dict[int, Fields] = {}
    now = 0
    for number in range(count):
        event = events[number] if number < len(events) else rng.choice(events)
        for _ in range(MOST_TRIES):
            goes_on = rng.random() < CARRIED
            values, ranges = _values(algorithm, rng)
            values |= {
                k: v
                for k, v in carried.items()
                if goes_on and _inside(ranges, k, v) and (k[0] != "w" or rng.random() < 0.7)
            }
            if goes_on and rng.random() < 0.5:
                values["now"] = min(now + rng.choice((0, 1, 10**6, 10**9)), NOW.bounds[1])
            for name in ("frame.entered", "frame.created"):
                values[name] = min(values[name], values["now"])
            old_flows = {key: one.copied() for key, one in flows.items()} if goes_on else {}
            new_flows = {key: one.copied() for key, one in old_flows.items()}
            try:
                answer, records = run_kernel(algorithm, event, values, new_flows)
            except (OutOfRange, StepLimitExceeded):
                continue
            if any(not 0 <= flow < FLOWS for flow in new_flows):
                continue  # no such flow
            before = _cells(records_for(algorithm, values), old_flows)
            words = {k: v for k, v in values.items() if k.startswith("word[")}
            before |= {("file", "word", int(k[5:-1])): v for k, v in words.items()}
            after = _cells(records, new_flows)
            yield KernelCall(event, values["now"], before, after, int(answer or 0))
            kept = ("state", ENTITY[algorithm.kind], "params")
            carried = {k: v for k, v in values.items() if k.split(".")[0] in kept}
            carried |= _numbers({name: records[name] for name in kept}) | words
            now = values["now"]
            flows = new_flows
            break


def _values(algorithm: Algorithm, rng: random.Random) -> tuple[dict[str, int], dict[str, Interval]]:
    unbounded = {"transport": SEGMENTS, "receiver": (0, FLOWS)}.get(algorithm.kind, STATE)
    state = {
        name: LFSR.bounds
        if name in ("lfsr", "lfsr_alike")
        else algorithm.bounds.get(name, unbounded)
        for name in shapes_of(algorithm.state)
    }
    ranges = ranges_of_call(algorithm, state)
    for name, declared in ANSWERS.items():
        if rng.random() < 0.5:
            ranges[f"frame.{name}"] = declared.bounds
    if algorithm.kind == "transport":
        ranges |= dict.fromkeys(("frame.sequence", "frame.offset", "frame.delta"), SEGMENTS)
    ranges["frame.flow"] = (0, FLOWS - 1)
    style, alike = rng.randrange(3), rng.choices(range(1, 9), k=2)
    values = {}
    for name, (low, high) in ranges.items():
        if style == 0 and rng.random() < 0.8:
            values[name] = min(max(rng.choice(alike), low), high)
        else:
            values[name] = random_value(rng, low, max(low, min(high, NEAR)) if style == 1 else high)
    presets = list(presets_of(algorithm.params))
    if presets and rng.random() < 0.5:
        values |= rng.choice(presets)
    for name in shapes_of(algorithm.state):
        if rng.random() < 0.6 and f"state.{name}" in values and state[name] is STATE:
            values[f"state.{name}"] = rng.randrange(INDEX)
    return values, ranges


def _inside(ranges: dict[str, Interval], key: str, value: int) -> bool:
    """Return whether a call may begin with the value that the call before has left."""
    low, high = ranges.get(key, (value, value))
    return low <= value <= high


def _numbers(records: dict[str, Fields]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for record, fields in records.items():
        for name, value in vars(fields).items():
            if isinstance(value, int):
                numbers[f"{record}.{name}"] = int(value)
            else:
                for index, cell in value.items():
                    numbers[f"{record}.{name}[{', '.join(map(str, index))}]"] = int(cell)
    return numbers


def _cells(records: dict[str, Fields], flows: dict[int, Fields]) -> dict[Cell, int]:
    scalars = {k: v for k, v in _numbers(records).items() if not k.endswith("]")}
    cells = cells_of(scalars)
    for record, fields in records.items():
        for name, value in vars(fields).items():
            if isinstance(value, int):
                continue
            for index, cell in value.items():
                flat = index[0] if len(index) == 1 else index[0] * stride_of(value.shape[1])
                flat += index[1] if len(index) == 2 else 0
                cells[record, name, flat] = int(cell)
    for flow, fields in flows.items():
        for name, number in fields.numbers().items():
            cells[FLOW_STATE, name, flow] = number
    return cells


def differences(found: dict[Cell, int], wanted: dict[Cell, int]) -> list[str]:
    """Cells in which two memories differ, with both numbers; a missing cell holds 0."""
    return [
        f"{'.'.join(map(str, cell))}: {found.get(cell, 0)}, the kernel has {wanted.get(cell, 0)}"
        for cell in sorted({*found, *wanted})
        if cell[0] != "file" and found.get(cell, 0) != wanted.get(cell, 0)
    ]
