"""Listener interface of a sweep."""

from __future__ import annotations

from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.result_store import Row
from orchestrator.progress import Progress


class SweepListener:
    """Listener for parameter points, points and progress. This base class ignores all."""

    def begin_parameter_point(self, at: int, subject: Experiment) -> None:
        """A parameter point begins."""

    def refused(self, at: int, why: str) -> None:
        """A parameter point has no valid plan."""

    def point(self, point: Point, row: Row) -> None:
        """A point has a result, new or from the store."""

    def progress(self, progress: Progress) -> None:
        """The progress of the sweep."""

    def message(self, text: str) -> None:
        """A message of the workers."""


NO_LISTENER = SweepListener()
