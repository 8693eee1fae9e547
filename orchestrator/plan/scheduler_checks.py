"""Checks of schedulers: those of lanes, and those of the flows of a NIC."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.errors import Problem
from orchestrator.plan.entity_names import flow_scheduler_holder, flows, lanes
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Nic
from orchestrator.plan.plugin_catalog import FLOW_SCHEDULER, SCHEDULER, Use


def scheduler_problems(
    plan: PlanModel, found: Mapping[str, tuple[str, Use]], uses: Mapping[str, Mapping[str, Use]]
) -> Iterator[Problem]:
    """Problems of `scheduler` and `flow_scheduler`; `found`: by key path, `uses`: by kind and
    holder."""
    each = {path: use for path, (kind, use) in found.items() if kind == SCHEDULER}
    of_lanes = {at: use for at, use in each.items() if not at.endswith(f".{FLOW_SCHEDULER}")}
    yield from _of_lanes(plan, of_lanes)
    for name, node in plan.nodes.items():
        use = uses[SCHEDULER].get(flow_scheduler_holder(name))
        if isinstance(node, Nic) and use is not None:
            yield from _of_flows(plan, name, node, use)


def _of_lanes(plan: PlanModel, each: Mapping[str, Use]) -> Iterator[Problem]:
    """A scheduler needs lanes to choose from, and settings that fit these."""
    every = lanes(plan)
    used = tuple(lane.priorities[0] for lane in every)
    for path, use in each.items():
        if not any(lane.suffix for lane in every):
            text = 'all priorities share one lane; priorities = "separate" is expected'
            yield Clash(path, use.algorithm.name, text)
        elif (unfit := use.params.unfit_for(used)) is not None:
            yield Clash(path, use.algorithm.name, unfit)


def _of_flows(plan: PlanModel, name: str, node: Nic, use: Use) -> Iterator[Problem]:
    """A flow scheduler needs a queue for each flow, lanes that take turns, and settings that fit
    the classes of the flows."""
    path, called = f"nodes.{name}.{FLOW_SCHEDULER}", use.algorithm.name
    if node.host_queues == "shared":
        text = 'the flows share a queue, in order of arrival; host_queues = "per-flow" is expected'
        yield Clash(path, called, text)
    if node.scheduler is not None:
        text = (
            f"the lanes of {name} have the scheduler '{node.scheduler.plugin}', which has to know "
            "the next frame of each lane; leave one of the two out"
        )
        yield Clash(path, called, text)
    mine = {flow.entry for flow in flows(plan) if flow.node == name}
    classes = sorted({plan.traffic[entry].scheduled_in() for entry in mine})
    if classes and (unfit := use.params.unfit_for(tuple(classes))) is not None:
        yield Clash(path, called, unfit)
