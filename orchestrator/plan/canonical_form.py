"""Canonical form of a plan: every default written out, every quantity as its shortest text."""

from __future__ import annotations

from typing import Any

from orchestrator.plan.expectation_checks import unit_of
from orchestrator.plan.metric_registry import Unit
from orchestrator.plan.plan_checks import is_setting
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.units import DURATION, RATE, SIZE

NOT_IN_RUN = {"mutant", "seeds", "sweep"}
"""Keys that describe a plan and not its run: no run, and no digest of one, changes with it."""
PRESENTATION = ("figure",)
"""Keys that a run's folder keeps for its report, without effect on the run."""
_QUANTITIES = {"buffer": SIZE, "delay": DURATION, "delay_back": DURATION}


def essence(plan: PlanModel) -> dict[str, Any]:
    """Data that determines a run: the canonical data without descriptions."""
    return {key: value for key, value in canonical(plan).items() if key not in PRESENTATION}


def canonical(plan: PlanModel) -> dict[str, Any]:
    """Data that read back give an equal plan; plugins' tables stay as they were written.

    Mutants, seeds and sweeps stay out: a run is none of them. So does a service rate that
    follows the link's rate, because it has no number of its own.
    """
    data = plan.model_dump(by_alias=True, exclude_none=True, exclude=NOT_IN_RUN)
    for key in ("figure", "more_priorities", "targets"):
        if not data[key]:
            del data[key]
    if plan.headers == type(plan.headers)():
        del data["headers"]
    for link in data["links"].values():
        link.setdefault("delay_back", link["delay"])
        link["ends"] = list(link["ends"])
        if isinstance(link["delay_line"], tuple):
            link["delay_line"] = list(link["delay_line"])
    for entry in data["traffic"].values():
        if "cdf" in entry:
            entry["cdf"] = [list(point) for point in entry["cdf"]]
    for expect in data["expect"]:
        unit = unit_of(expect["metric"], expect.get("relative_to"))
        for bound in ("min", "max"):
            if bound in expect:
                expect[bound] = _bound_text(expect[bound], unit)
    for step in data["timeline"]:
        if "set" in step and is_setting(step["set"]):
            quantity = _QUANTITIES.get(step["set"].rpartition(".")[2], RATE)
            step["to"] = quantity.format(quantity.parse(step["to"], bare=True))
    return data


def _bound_text(value: Any, unit: Unit) -> Any:
    quantity = unit.quantity
    return quantity.format(quantity.parse(value, bare=True)) if quantity else value
