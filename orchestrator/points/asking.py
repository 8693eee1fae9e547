"""Confirmation of a long sweep: asks once, as soon as the duration is known.

On a target in real time that is before anything runs. Simulated points tell it: slow ones soon
after they have begun, the others when a few of them, of places all over the sweep, are done.
"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.plan.units import parse_duration
from orchestrator.points.onlooker import Onlooker
from orchestrator.points.store import Store
from orchestrator.points.subject import SIMULATED
from orchestrator.points.sweep import Sweep

Agree = Callable[[int, float], bool]
"""Of points at most and seconds: whether to go on. It may be asked again while both are guessed
better, and says yes to what is short."""


class NotAgreed(Exception):
    """Somebody said no."""


class Question:
    """What is put to somebody until it is closed; then the sweep goes on, however long it takes."""

    def __init__(self, agree: Agree) -> None:
        self._agree: Agree | None = agree

    def put(self, points: int, seconds: float | None) -> None:
        """Ask; None: it is not known how long. Raises NotAgreed."""
        if self._agree is None or seconds is None:
            return
        if not self._agree(points, seconds):
            raise NotAgreed

    def close(self) -> None:
        """Ask no more: nobody has to look after a sweep that has begun."""
        self._agree = None


def in_real_time(sweep: Sweep, store: Store, onlooker: Onlooker) -> float | None:
    """Seconds that what is missing takes at least, all its frames being real; None if simulated.

    All points of a sweep whose places are not chosen yet are taken to be as long as those that are.
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
