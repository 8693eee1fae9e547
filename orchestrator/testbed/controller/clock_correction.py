"""Correction of captures' times to the controller's clock after a run.

While a run goes on, each machine times its frames by its own clock, translated by what was known
of it at the start (offset, drift). When the run is over more is known: the exchanges during and
after it. What the later estimate says otherwise is taken out of the frames' times here.

With o0, d0 the offset and drift believed at the start and o1, d1 the later ones: a frame at our
time u after the start is met when the machine's clock has moved by m = (1 + d1) u + o1 - o0 since
what it took for the start, and gets the time t = (1 - d0) m. So u = (t / (1 - d0) + o0 - o1) /
(1 + d1). A run at another pace than real time has u and t in its own time, and so all reports
here: offsets and their errors count for as much less as its clock is slower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.engine.datapath.emulation_clock import NS_PER_US, REAL_TIME
from orchestrator.testbed.wire.clock_offset import Estimate

PPB = 1e-9


@dataclass(frozen=True)
class ClockCorrection:
    """Correction of a machine's times: `shift_ps`, and `rate` of the time itself. Corrected times
    are the controller's to within `error_ns`; all in the run's time."""

    shift_ps: int = 0
    rate: float = 0.0
    error_ns: int = 0
    method: str = ""

    @classmethod
    def of(
        cls, begun: Estimate, known: Estimate, start_ns: int, speed: int = REAL_TIME
    ) -> ClockCorrection:
        """From the estimate that the run was started with, and the one after it; `speed` in ps of
        the run per us."""
        ahead_ns = begun.offset(start_ns) - known.offset(start_ns)
        before, after = begun.drift_ppb * PPB, known.drift_ppb * PPB
        return cls(
            shift_ps=round(speed * ahead_ns / NS_PER_US / (1 + after)),
            rate=(before - after + before * after) / ((1 - before) * (1 + after)),
            error_ns=-(-known.error_ns * speed // REAL_TIME),
            method=known.method,
        )

    def apply(self, times_ps: np.ndarray) -> np.ndarray:
        """Times by the controller's clock, int64[n] ps, in the same order."""
        drifted = np.rint(times_ps * self.rate).astype(np.int64)
        return times_ps + self.shift_ps + drifted

    def apply_ns(self, times_ns: np.ndarray, pace: float) -> np.ndarray:
        """The same for times of the machine's clock that are in real time, int64[n] ns, of a run at
        that pace."""
        drifted = np.rint(times_ns * self.rate).astype(np.int64)
        return times_ns + round(self.shift_ps / (1000 * pace)) + drifted

    def furthest_ps(self, duration_ps: int) -> int:
        """The most that is added to any time from 0 to the run's end, either way."""
        ends = np.array([0, duration_ps], np.int64)
        return int(np.abs(self.apply(ends) - ends).max())

    def comment(self, machine: str) -> str:
        """For the capture's file; empty where there is but one clock."""
        if not self.error_ns:
            return ""
        return (
            f"tailback: captured on {machine}; times are by the controller's clock within "
            f"{self.error_ns} ns ({self.method}), after {self.shift_ps // 1000} ns and "
            f"{self.rate / PPB:.0f} ppb were added when the run was over"
        )

    def table(self) -> dict[str, float]:
        """For result.json: what was added to the times of captures."""
        return {"added_s": self.shift_ps / 1e12, "added_ppm": self.rate * 1e6}


# Correction of one-way delays between machines by the clock estimates made after the run.
#
# A frame carries the time at which its sender's machine let it go, by that machine's clock; the
# receiver's machine counts the difference to its own. Each clock was translated by what was
# believed
# of it at the start, and `ClockCorrection` says what is to be added to its times; so to a delay the
# receiver's is to be added, and the sender's taken off. Delays are counted in histograms, one per
# traffic entry and phase: these are moved as a whole, by what is right in the middle of the phase.


@dataclass(frozen=True)
class Shift:
    """Correction of delays between two machines (ps): `added[k]` up to mark k, and half of the
    clocks' relative drift over any such interval."""

    added: np.ndarray
    spread: int

    @classmethod
    def between(
        cls, senders: Sequence[ClockCorrection], receiver: ClockCorrection, marks_ps: np.ndarray
    ) -> Shift:
        """For frames of any of these senders, whose histogram is one: the middle of them."""
        edges = np.concatenate([[0], marks_ps]).astype(np.int64)
        steps = np.stack([receiver.apply(edges) - sender.apply(edges) for sender in senders])
        low = np.minimum(steps[:, :-1], steps[:, 1:]).min(axis=0)
        high = np.maximum(steps[:, :-1], steps[:, 1:]).max(axis=0)
        return cls((low + high) // 2, int((high - low).max(initial=0) + 1) // 2)


def shifted_histogram(history: np.ndarray, edges: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Cumulative histograms int64[marks, bins] with every interval's frames moved by `added` ps.

    Frames count as spread evenly over their bin, of [edges[b], edges[b + 1]); what would be below
    0 is in the first bin, what is beyond the last edge in the last one. Totals stay.
    """
    each = np.diff(history, axis=0, prepend=0)
    found = np.empty_like(each)
    for row, (counts, by) in enumerate(zip(each, added, strict=True)):
        below = np.concatenate([[0], np.cumsum(counts)])
        shifted = np.rint(np.interp(edges - by, edges, below)).astype(np.int64)
        shifted[0], shifted[-1] = 0, below[-1]
        found[row] = np.diff(shifted)
    return np.cumsum(found, axis=0)


def corrected_histograms(
    history: np.ndarray,
    edges: np.ndarray,
    marks_ps: np.ndarray,
    receiver: ClockCorrection,
    senders: Mapping[int, Sequence[ClockCorrection]],
) -> tuple[np.ndarray, dict[int, Shift]]:
    """Histograms int64[marks, groups, bins] that one machine counted; `senders` by group.

    Returns them corrected, and by how much each group that has frames was.
    """
    fixed, shifts = history.copy(), {}
    for group, clocks in senders.items():
        if not history[:, group].any():
            continue
        shift = shifts[group] = Shift.between(clocks, receiver, marks_ps)
        if shift.added.any():
            fixed[:, group] = shifted_histogram(history[:, group], edges, shift.added)
    return fixed, shifts
