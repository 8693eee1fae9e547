"""What a target is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from orchestrator.errors import Refused
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import Report
from orchestrator.recording import Recording


class Cards(Protocol):
    """Who knows a testbed's cards: `orchestrator.testbed.inventory.Testbed` does."""

    @property
    def name(self) -> str:
        """Of the testbed."""

    @property
    def cards(self) -> Mapping[str, Any]:
        """What is said of each card, by its name."""


class Target(Protocol):
    """A place where the nodes of a plan can live.

    One that can be watched and changed while it runs has an attribute `live` that is true, and its
    `run` takes a third argument, the `orchestrator.live.session.Session` or None; one whose time
    can be paced has a true `paced`, one whose data path can be kept to fewer cores a true `spins`
    (both by the session). One that runs on cards has `at(testbed)`, the same target on
    those that the testbed names.
    """

    name: str
    summary: str

    def probe(self) -> Refused | None:
        """Why this target cannot be used on this machine, with the remedy; None when it can."""

    def run(self, resolved: ResolvedPlan, progress: Report) -> Recording:
        """Run a plan. Raises Refused, BadInput or RunFailed."""
