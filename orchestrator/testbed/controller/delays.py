"""Correction of one-way delays between machines by the clock estimates made after the run.

A frame carries the time at which its sender's machine let it go, by that machine's clock; the
receiver's machine counts the difference to its own. Each clock was translated by what was believed
of it at the start, and `Retiming` says what is to be added to its times; so to a delay the
receiver's is to be added, and the sender's taken off. Delays are counted in histograms, one per
traffic entry and phase: these are moved as a whole, by what is right in the middle of the phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.testbed.controller.retiming import Retiming


@dataclass(frozen=True)
class Shift:
    """Correction of delays between two machines (ps): `added[k]` up to mark k, and half of the
    clocks' relative drift over any such interval."""

    added: np.ndarray
    spread: int

    @classmethod
    def between(
        cls, senders: Sequence[Retiming], receiver: Retiming, marks_ps: np.ndarray
    ) -> Shift:
        """For frames of any of these senders, whose histogram is one: the middle of them."""
        edges = np.concatenate([[0], marks_ps]).astype(np.int64)
        steps = np.stack([receiver.apply(edges) - sender.apply(edges) for sender in senders])
        low = np.minimum(steps[:, :-1], steps[:, 1:]).min(axis=0)
        high = np.maximum(steps[:, :-1], steps[:, 1:]).max(axis=0)
        return cls((low + high) // 2, int((high - low).max(initial=0) + 1) // 2)


def moved(history: np.ndarray, edges: np.ndarray, added: np.ndarray) -> np.ndarray:
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


def corrected(
    history: np.ndarray,
    edges: np.ndarray,
    marks_ps: np.ndarray,
    receiver: Retiming,
    senders: Mapping[int, Sequence[Retiming]],
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
            fixed[:, group] = moved(history[:, group], edges, shift.added)
    return fixed, shifts
