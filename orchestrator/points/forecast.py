"""Forecast of a batch: number of points to run and their duration."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.points.carry import cores
from orchestrator.points.left import spoken
from orchestrator.points.store import Store
from orchestrator.points.subject import Point


def forecast(points: Sequence[Point], store: Store, jobs: int | None) -> str:
    """One sentence; the time is from earlier points of the same plan with any settings."""
    missing = {point.digest: point for point in points if store.get(point) is None}
    kept = len(points) - len(missing)
    text = f"{len(points)} points" + (f", {kept} of them from before" if kept else "")
    if not missing:
        return f"{text}: nothing has to be run"
    costs = store.costs(next(iter(missing.values())).subject.name)
    if not costs:
        return f"{text}; how long that takes is known once the first is run"
    workers = min(jobs or cores(), len(missing))
    seconds = sum(costs) / len(costs) * len(missing) / workers
    return f"{text}, roughly {spoken(seconds)} with {workers} at once"
