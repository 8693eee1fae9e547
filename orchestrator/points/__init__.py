"""Many points: runs of plans of which only the numbers are wanted.

A point is a resolved plan, a seed, and the sources of everything that makes its result. What it
yields is what `orchestrator.run.judging.measure` says of it: metrics, error bars, fidelity, notes.
Expectations are judged of that later, so that a changed band makes nothing run again.
"""

from orchestrator.points.carry import Found, carry_out
from orchestrator.points.store import Store
from orchestrator.points.subject import Point, Subject

__all__ = ["Found", "Point", "Store", "Subject", "carry_out"]
