"""Checks of a plan's programs: that their nodes exist and their times lie within the run."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.errors import Problem
from orchestrator.plan.input_problems import Clash, unknown
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Nic
from orchestrator.plan.program_table import NODE, RDMA


def with_rdma(plan: PlanModel) -> set[str]:
    """The ends of traffic whose programs have RDMA."""
    return {
        end
        for entry in plan.traffic.values()
        if (entry.model_extra or {}).get("rdma") is True
        for pair in entry.pairs
        for end in pair
    }


def program_problems(plan: PlanModel) -> Iterator[Problem]:
    """Nodes that are none, times that are too late."""
    nics = [name for name, node in plan.nodes.items() if isinstance(node, Nic)]
    for name, program in plan.programs.items():
        where = f"programs.{name}"
        if program.node not in nics:
            yield unknown(f"{where}.node", "NIC", program.node, nics)
        for word in program.command:
            for node in NODE.findall(word):
                if node not in nics:
                    yield unknown(f"{where}.command", "NIC in braces", node, nics)
            for node in RDMA.findall(word):
                if node not in with_rdma(plan):
                    text = f"{node} has no RDMA device; traffic of its programs with rdma = true"
                    yield Clash(f"{where}.command", word, f"{text} is expected")
        late = program.start > plan.duration or (program.stop or 0) > plan.duration
        if late or (program.stop is not None and program.stop < program.start):
            text = "'start' before 'stop', both within the run, are expected"
            yield Clash(f"{where}.start", None, text)
