"""Kernel runner: calls an algorithm's kernels on records for each event of a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from firmware.equivalence.event_sequence import Event, Sequence
from orchestrator.algorithm import Algorithm
from orchestrator.engine.jit import DISABLED, call_kernel, compiled, kernel_address, record_address
from orchestrator.engine.records import FRAME, NEVER
from orchestrator.rtl_module import ENTITY_NAMES

TIMERS = {
    "congestion_point": "congestion_point_timer",
    "pause": "pause_timer",
    "watchdog": "watchdog_timer",
    "reaction_point": "timer",
    "receiver": "receiver_timer",
}
"""Field of an entity that holds the next call of the kernel `timer`, by kind."""


@compiled
def _call(kernel, state, params, entity, frame, now, message):
    return call_kernel(kernel, state, params, entity[0], frame[0], now, message[0])


@dataclass(frozen=True)
class Step:
    """An executed event: the numbers before and after it."""

    event: Event
    before: dict[str, int]
    after: dict[str, int]


class Kernels:
    """Kernels of an algorithm, compiled once; `run` starts from a new state."""

    def __init__(self, algorithm: Algorithm) -> None:
        self._algorithm = algorithm
        name, dtype = ENTITY_NAMES[algorithm.kind]
        self._dtypes = {"state": algorithm.state, "params": algorithm.params.dtype(), name: dtype}
        self._dtypes |= {"frame": FRAME, "message": FRAME}
        self._entity = name
        # state per flow of a receiver or congestion point follows the first: two flows
        self._records = {
            one: self._made(dtype, 4 if one == "state" else 1)
            for one, dtype in self._dtypes.items()
        }
        self._addresses = [record_address(self._records[one]) for one in ("state", "params")]
        self._kernels = {
            event: kernel_address(kernel, algorithm.state, self._dtypes["params"], dtype)
            for event, kernel in [*algorithm.kernels.items(), *algorithm.timers.items()]
        }

    @staticmethod
    def _made(dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
        made = np.zeros(count, dtype)
        return made.view(np.recarray) if DISABLED else made

    def run(self, sequence: Sequence) -> Iterator[Step]:
        """Run each event, except a timer's that is not set."""
        records, entity = self._records, self._records[self._entity]
        for name in ("state", self._entity):
            records[name].view(np.int64)[:] = 0
        timer = TIMERS.get(self._algorithm.kind, "")
        names = entity.dtype.names or ()
        for name in {timer, "timers"} & set(names):
            entity[name] = NEVER
        model = self._algorithm.params.from_table(dict(sequence.params), bare=True)
        records["params"][0] = model.record()[0]
        for name, value in sequence.values.items():
            self._set(name, value)
        for event in sequence.events:
            now = event.now
            if event.event == "timer" and timer:
                due = int(entity[timer][0])
                if due == NEVER:
                    continue
                now = max(now, due)
            for name in ("frame", "message"):
                records[name].view(np.int64)[:] = 0
            for name, value in event.values.items():
                self._set(name, value)
            before = self._numbers() | {"now": now}
            arguments = (
                self._kernels[event.event],
                *self._addresses,
                entity,
                records["frame"],
            )
            result = int(_call(*arguments, now, records["message"]))  # type: ignore[call-arg]
            yield Step(event, before, self._numbers() | {"now": now, "result": result})

    def _set(self, name: str, value: int) -> None:
        record, _, field = name.partition(".")
        self._records[record][field][0] = value

    def _numbers(self) -> dict[str, int]:
        found = {}
        for record, array in self._records.items():
            for field in array.dtype.names or ():
                if not array.dtype[field].shape:
                    found[f"{record}.{field}"] = int(array[field][0])
        return found
