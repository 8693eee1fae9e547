"""Listener interface of a sweep."""

from __future__ import annotations

from orchestrator.points.store import Row
from orchestrator.points.subject import Point, Subject
from orchestrator.progress import Progress


class Onlooker:
    """Listener for parameter points, points and progress. This base class ignores all."""

    def place(self, at: int, subject: Subject) -> None:
        """A parameter point begins."""

    def refused(self, at: int, why: str) -> None:
        """A parameter point has no valid plan."""

    def point(self, point: Point, row: Row) -> None:
        """A point has a result, new or from the store."""

    def progress(self, progress: Progress) -> None:
        """The progress of the sweep."""

    def said(self, text: str) -> None:
        """A message of the workers."""


NOBODY = Onlooker()
