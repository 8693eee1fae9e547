"""Confirmation of a long sweep: asks once, as soon as the duration is known.

On a target in real time that is before the first run. For simulated points the estimate comes soon
after a slow one has begun, else after a few, spread over the whole sweep, are done.
"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.batch.experiment import SIMULATED
from orchestrator.batch.result_store import Store
from orchestrator.batch.sweep_design import Sweep
from orchestrator.batch.sweep_listener import SweepListener
from orchestrator.plan.units import parse_duration

Agree = Callable[[int, float], bool]
"""Takes the most points and their seconds; returns whether to go on. It may be called again with
better estimates, and confirms a short sweep without a question."""


class SweepDeclined(Exception):
    """The user declined the sweep."""


class Confirmation:
    """Confirmation by the user, until it is closed; the sweep then goes on, however long it
    takes."""

    def __init__(self, agree: Agree) -> None:
        self._agree: Agree | None = agree

    def put(self, points: int, seconds: float | None) -> None:
        """Ask for confirmation; None: the duration is unknown. Raises NotAgreed."""
        if self._agree is None or seconds is None:
            return
        if not self._agree(points, seconds):
            raise SweepDeclined

    def close(self) -> None:
        """Ask no more: a sweep that has begun needs no attention."""
        self._agree = None


def real_time_estimate(sweep: Sweep, store: Store, onlooker: SweepListener) -> float | None:
    """Least time (s) of the missing points on a target in real time; None if simulated.

    Parameter points that are not chosen yet are assumed to take as long as the others.
    """
    if sweep.target == SIMULATED:
        return None
    kept, durations = 0, list[int]()
    for point in sweep.points(range(len(sweep.places)), sweep.seeds, onlooker):
        kept += store.get(point) is not None
        durations.append(parse_duration(point.subject.table["duration"]))
    if not durations:
        return None
    pace = float(sweep.how.get("pace", 1))
    return (sweep.most - kept) * sum(durations) / len(durations) / 1e12 / pace
