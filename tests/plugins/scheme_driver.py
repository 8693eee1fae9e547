"""A kernel driver whose fields can be set by name, for schemes whose state has no random source."""

from __future__ import annotations

from typing import Any

from orchestrator.algorithm import Algorithm
from orchestrator.plan.algorithm_params import Params
from tests.plugins.kernel_driver import KernelDriver


class Driver(KernelDriver):
    """An instance with its parameters, ready to be called."""

    def __init__(self, algorithm: Algorithm, params: Params, **entity: int) -> None:
        super().__init__(algorithm)
        self.params[0] = params.record()[0]
        if "lfsr" in (algorithm.state.names or ()):
            self.state["lfsr"] = 12345
        self.set(**entity)

    def set(self, **fields: int) -> None:
        """Set fields of the entity."""
        for name, value in fields.items():
            self.entity[name] = value

    def come(self, event: str, now: int = 0, **frame: int) -> int:
        """Call a kernel with a frame that has these fields."""
        for name, value in frame.items():
            self.frame[name] = value
        return self.call(event, now)

    def __getattr__(self, name: str) -> Any:
        return int(self.__dict__["entity"][name][0])
