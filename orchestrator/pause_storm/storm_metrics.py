"""Exporter of a storm: what each observer of each port has counted so far."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from orchestrator.metrics_export import process_families as process
from orchestrator.metrics_export.run_readings import Reading, state_readings
from orchestrator.pause_storm.far_end import FarEnd
from orchestrator.pause_storm.hold_accounting import OBSERVERS, OWN
from orchestrator.pause_storm.storm_report import GAPLESS, LAPSED, UNPROVEN, observer_table
from orchestrator.pause_storm.storm_request import StormRequest
from orchestrator.pause_storm.storm_state import StormState

VERDICTS = (GAPLESS, LAPSED, UNPROVEN)
FROM_TABLE = {
    "frames": process.STORM_FRAMES,
    "lapses": process.STORM_LAPSES,
    "lapsed_s": process.STORM_LAPSED,
    "longest_lapse_s": process.STORM_LONGEST,
    "worst_margin_s": process.STORM_MARGIN,
}
"""Key of an observer's table in the report -> family."""


class StormExporter:
    """Exporter of one storm. `observe` and `finish` are called by the storm's thread, `readings` by
    the endpoint's."""

    def __init__(self, asked: StormRequest, interfaces: Sequence[str]) -> None:
        self._priorities = [str(p) for p in asked.priorities or ()] or [""]
        self._interfaces = interfaces
        self._state: StormState | None = None
        self._far_ends: Sequence[FarEnd] = ()
        self._verdict: str | None = None

    def observe(self, state: StormState, far_ends: Sequence[FarEnd]) -> None:
        """Export this storm from now on."""
        self._far_ends, self._state = far_ends, state

    def finish(self, report: Mapping[str, Any]) -> None:
        """Export the verdict as well."""
        self._verdict = report["verdict"]

    def readings(self) -> Iterator[Reading]:
        """Current readings; none before the storm begins."""
        if self._state is None:
            return
        for row, interface in enumerate(self._interfaces):
            yield from self._of_port(self._state, row, interface)
        if self._verdict is not None:
            yield from state_readings(process.STORM_VERDICT, VERDICTS, self._verdict)

    def _of_port(self, state: StormState, row: int, interface: str) -> Iterator[Reading]:
        ledgers = [state.own[row].copy(), state.kernel[row].copy()]
        if self._far_ends:
            ledgers.append(self._far_ends[row].ledger[row].copy())
        clocks = [time.monotonic_ns(), *[time.time_ns()] * 2]
        paused = float(ledgers[OWN]["expires_ns"] > clocks[OWN])
        for priority in self._priorities:
            yield process.STORM_PAUSED, (interface, priority), paused
        for observer, ledger, now in zip(OBSERVERS, ledgers, clocks, strict=False):
            labels = (interface, observer)
            yield process.STORM_HELD, labels, held_s(ledger, now)
            for key, value in observer_table(ledger).items():
                if value is not None and (family := FROM_TABLE.get(key)) is not None:
                    yield family, labels, float(value)
        yield process.STORM_REFUSED, (interface,), float(state.holds[row]["refused"])
        yield process.STORM_MISSED, (interface,), float(state.holds[row]["missed"])


def held_s(ledger: np.void, now_ns: int) -> float:
    """Time (s) that a port was paused by one observer, the present hold included.

    `now_ns` is by the observer's clock: CLOCK_MONOTONIC of the sender, else CLOCK_REALTIME.
    """
    held = int(ledger["span_ns"]) - int(ledger["lapsed_ns"])
    if expires := int(ledger["expires_ns"]):
        held += max(min(now_ns, expires) - int(ledger["since_ns"]), 0)
    return held / 1e9
