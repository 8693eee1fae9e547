"""Calls an algorithm's kernels as nodes do, by address, on records of its own.

Works compiled and, with NUMBA_DISABLE_JIT=1, as ordinary Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.algorithm import ENTITIES, Algorithm
from orchestrator.engine.jit import DISABLED, call_kernel, compiled, kernel_address, record_address
from orchestrator.engine.records import FRAME
from orchestrator.plan.algorithm_params import Params

Record = np.ndarray[Any, Any]


@compiled
def call_on_arrays(kernel, state, params, entity, frame, now, message):
    """`call_kernel` for records that are arrays of one."""
    return call_kernel(kernel, state, params, entity[0], frame[0], now, message[0])


class KernelDriver:
    """One instance of an algorithm with its entity, a frame and the message under construction.

    `state`, `params`, `entity`, `frame`, `message` are record arrays of shape (1,). What kernels
    may write (state, entity, message) lies in one block, so that all of it can be compared.
    """

    def __init__(self, algorithm: Algorithm) -> None:
        entity = ENTITIES[algorithm.kind]
        params = algorithm.params.dtype()
        written = (algorithm.state, entity, FRAME)
        words = [dtype.itemsize // 8 for dtype in written]
        self.written = np.zeros(sum(words), np.int64)
        ends = np.cumsum(words)
        parts = [self.written[end - size : end] for end, size in zip(ends, words, strict=True)]
        self.state, self.entity, self.message = (
            self._records(part, dtype) for part, dtype in zip(parts, written, strict=True)
        )
        self.params = self._records(np.zeros(params.itemsize // 8, np.int64), params)
        self.frame = self._records(np.zeros(FRAME.itemsize // 8, np.int64), FRAME)
        self._kernels = {
            event: kernel_address(kernel, algorithm.state, params, entity)
            for event, kernel in [*algorithm.kernels.items(), *algorithm.timers.items()]
        }
        self._addresses = record_address(self.state), record_address(self.params)

    @staticmethod
    def _records(words: Record, dtype: np.dtype[np.void]) -> Record:
        records = words.view(dtype)
        return records.view(np.recarray) if DISABLED else records

    def reset(self, params: Params, seed: int) -> None:
        """A new instance: everything 0 but the parameters and the random source."""
        self.written[:] = 0
        self.params[0] = params.record()[0]
        self.state["lfsr"] = seed

    def arguments(self, event: str) -> tuple[int, int, int]:
        """Addresses of the kernel of `event`, of the state and of the parameters."""
        return self._kernels[event], *self._addresses

    def call(self, event: str, now: int) -> int:
        """Run the kernel of `event`; what it returns."""
        return int(
            call_on_arrays(*self.arguments(event), self.entity, self.frame, now, self.message)
        )
