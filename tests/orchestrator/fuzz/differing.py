"""Targets that do one thing otherwise than `simulated` does: nine planted differences."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from orchestrator.fuzz.invariant_check import InvalidPlan, check_plan
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.units import RATE, SIZE
from orchestrator.recording import Recording
from orchestrator.targets.simulated import Simulated

Table = dict[str, Any]


def rates_rounded(plan: Table) -> None:
    """Links take multiples of 300 Mb/s."""
    for link in plan["links"].values():
        rate = RATE.parse(link["rate"], bare=True)
        link["rate"] = max(rate // 300_000_000, 1) * 300_000_000


def sources_too_fast(plan: Table) -> None:
    """By a half."""
    for entry in plan["traffic"].values():
        if entry["plugin"] == "cbr" and "rate" in entry:
            entry["rate"] = RATE.parse(entry["rate"], bare=True) * 3 // 2


def buffers_halved(plan: Table) -> None:
    """Those of switches."""
    for node in plan["nodes"].values():
        if node["kind"] == "switch":
            node["buffer"] = max(SIZE.parse(node.get("buffer", 150_000), bare=True) // 2, 1)


def service_as_the_link(plan: Table) -> None:
    """A queue's own rate is not known."""
    for node in plan["nodes"].values():
        node.pop("service_rate", None)


def deaf_congestion_points(plan: Table) -> None:
    """Nobody says a word of congestion."""
    for node in plan["nodes"].values():
        node.pop("congestion_point", None)
        node.get("inputs", {}).pop("congestion_point", None)


def no_pause(plan: Table) -> None:
    """Nobody is held."""
    for node in plan["nodes"].values():
        node.pop("pause", None)
        node.get("inputs", {}).pop("pause", None)


def no_reaction(plan: Table) -> None:
    """Sources hear nothing."""
    for node in plan["nodes"].values():
        node.pop("reaction_point", None)
        node.pop("reaction_points", None)


def timeline_not_read(plan: Table) -> None:
    """Nothing changes during the run."""
    plan.pop("timeline", None)


def flows_not_doubled(plan: Table) -> None:
    """One flow for each entry of the traffic."""
    for entry in plan["traffic"].values():
        entry.pop("flows", None)


DIFFERENCES: dict[str, Callable[[Table], None]] = {
    one.__name__: one
    for one in (
        rates_rounded,
        sources_too_fast,
        buffers_halved,
        service_as_the_link,
        deaf_congestion_points,
        no_pause,
        no_reaction,
        timeline_not_read,
        flows_not_doubled,
    )
}


class Differing(Simulated):
    """A target that runs another plan than it is given."""

    name = "differing"

    def __init__(self, change: Callable[[Table], None]) -> None:
        super().__init__()
        self._change = change

    def run(self, resolved: ResolvedPlan, progress: Any, session: Any = None) -> Recording:
        """Raises NoPlan where nothing differs, or what is left is no plan."""
        table = resolved.plan.model_dump(by_alias=True, exclude_unset=True)
        other = copy.deepcopy(table)
        self._change(other)
        if other == table:
            raise InvalidPlan("nothing differs")
        return super().run(check_plan(other | {"target": "simulated"}), progress)
