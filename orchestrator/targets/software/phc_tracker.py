"""Thread that tracks the clocks of NICs over a run and hands their mapping to the data path.

The thread is idle between readings; each takes some ten microseconds of a core.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.engine.datapath.phc_mapping import write_clock_mapping
from orchestrator.errors import RunFailed
from orchestrator.targets.software import ptp_clock
from orchestrator.targets.software.datapath_thread import Thread
from orchestrator.targets.software.ptp_clock import ClockLine

EVERY_S = 1.0
SOON_S = 0.1
"""Before the run: from the first reading to the second, which gives a slope."""


class NicClocks(threading.Thread):
    """`clocks`: port of the plan -> descriptor of its NIC's clock; several may have the same."""

    def __init__(self, threads: Sequence[Thread], clocks: Mapping[str, int]) -> None:
        super().__init__(name="nic-clocks", daemon=True)
        self._clocks = dict(clocks)
        self._joins = {port: ClockLine() for port in clocks}
        self._wires = [
            (thread.rig.clocks, wire, port)
            for thread in threads
            for wire, port in enumerate(thread.wires)
            if port in clocks
        ]
        self._ended = threading.Event()
        self.failed: str | None = None

    def begin(self) -> None:
        """Read all twice, and go on in the background. Raises RunFailed for one that cannot be."""
        try:
            self.refresh()
            self._ended.wait(SOON_S)
            self.refresh()
        except OSError as error:
            raise RunFailed(f"a NIC's clock cannot be read: {error.strerror}") from error
        self.start()

    def refresh(self) -> None:
        """Read every clock, and hand its new line to the data path. Raises OSError."""
        for port, clock in self._clocks.items():
            self._joins[port].add(ptp_clock.read(clock))
        for clocks, wire, port in self._wires:
            write_clock_mapping(clocks, wire, *self._joins[port].line)

    def run(self) -> None:
        """Track the clocks until `end`; a clock that can no longer be read keeps its line and is
        reported."""
        while not self._ended.wait(EVERY_S):
            try:
                self.refresh()
            except OSError as error:
                self.failed = error.strerror
                return

    def end(self) -> dict[str, Any]:
        """Stop; for manifest and fidelity, by port: what times may be off by (s), how far
        readings were from the previous line (s), the system's rate above the NIC's, jumps."""
        self._ended.set()
        self.join()
        said: dict[str, Any] = {
            port: {
                "error_s": max(join.bound_ns, join.worst_ns) / 1e9,
                "worst_s": join.worst_ns / 1e9,
                "faster_ppb": join.line[2],
                "steps": join.steps,
            }
            for port, join in self._joins.items()
        }
        return said if self.failed is None else said | {"failed": self.failed}
