"""Listener interface of a sweep."""

from __future__ import annotations

from orchestrator.points.store import Row
from orchestrator.points.subject import Point, Subject
from orchestrator.progress import Progress


class Onlooker:
    """Told of places, points and progress as they come. This one does nothing with it."""

    def place(self, at: int, subject: Subject) -> None:
        """It is the turn of a place."""

    def refused(self, at: int, why: str) -> None:
        """A place makes no plan."""

    def point(self, point: Point, row: Row) -> None:
        """What a point came to, now or before."""

    def progress(self, progress: Progress) -> None:
        """How far the sweep is."""

    def said(self, text: str) -> None:
        """What workers tell of themselves."""


NOBODY = Onlooker()
