"""Checks of shared memory: its buffer management, its headroom, and the pauses that use that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.errors import Problem
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Inputs, Switch
from orchestrator.plan.plugin_catalog import MANAGEMENT, Use
from orchestrator.plan.units import format_size


def memory_problems(plan: PlanModel, uses: Mapping[str, Mapping[str, Use]]) -> Iterator[Problem]:
    """Problems of `buffer_management`, `headroom` and pauses; `uses`: kind, then holder."""
    for name, node in plan.nodes.items():
        if not isinstance(node, Switch):
            continue
        if node.inputs is None or node.inputs.shared_memory is None:
            yield from _without_memory(name, node)
        if node.inputs is not None:
            yield from _headroom(name, node.inputs)
            yield from _pauses(name, node.inputs, uses["pause"])
    for holder, use in uses["pause"].items():
        if _uses_headroom(use) and not holder.endswith("/in"):
            name, called = holder.partition(".")[0], use.algorithm.name
            text = f"'{called}' uses the headroom of inputs; it belongs at nodes.{name}.inputs"
            yield Clash(f"nodes.{name}.pause", called, text)


def _uses_headroom(use: Use) -> bool:
    return bool(getattr(use.algorithm, "uses_headroom", False))


def _without_memory(name: str, node: Switch) -> Iterator[Problem]:
    """Buffer management divides memory that ports share."""
    tables = {f"nodes.{name}.{MANAGEMENT}": node.buffer_management}
    for port, table in node.ports.items():
        tables[f"nodes.{name}.ports.{port}.{MANAGEMENT}"] = table.buffer_management
    if node.inputs is not None:
        tables[f"nodes.{name}.inputs.{MANAGEMENT}"] = node.inputs.buffer_management
    for where, used in tables.items():
        if used is not None:
            text = f"'{used.plugin}' divides shared memory; 'inputs.shared_memory' is expected"
            yield Clash(where, used.plugin, text)


def _headroom(name: str, inputs: Inputs) -> Iterator[Problem]:
    """Headroom begins where a limit ends."""
    if inputs.headroom is not None and inputs.buffer_management is None:
        text = f"without a limit nothing lies in it; nodes.{name}.inputs.{MANAGEMENT} is expected"
        yield Clash(f"nodes.{name}.inputs.headroom", format_size(inputs.headroom), text)


def _pauses(name: str, inputs: Inputs, pauses: Mapping[str, Use]) -> Iterator[Problem]:
    """Headroom, and a pause that is sent once frames lie there, need each other."""
    mine = [use for at, use in pauses.items() if at.startswith(f"{name}.") and at.endswith("/in")]
    following = [use for use in mine if _uses_headroom(use)]
    where = f"nodes.{name}.inputs"
    if inputs.headroom is not None and not following:
        text = 'no pause stops what lies in it; pause = { plugin = "dynamic-pfc" } is expected'
        yield Clash(f"{where}.headroom", format_size(inputs.headroom), text)
    if inputs.headroom is None and following:
        called = following[0].algorithm.name
        text = f"'{called}' is sent when frames lie in headroom; '{where}.headroom' is expected"
        yield Clash(f"{where}.pause", called, text)
