"""MTU check: interfaces that are too narrow for the plan's frames, as a reason for losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.frame_lengths import longest_frames
from orchestrator.run.fidelity_thresholds import VALID
from orchestrator.targets.software.network_namespaces import Machines

ETHERNET, TAG = 14, 4
"""Octets that are not of a frame's MTU; the kernel lets one VLAN tag (0x8100) pass on top of
them."""


def tag_allowance(plan: Plan) -> int:
    """Octets that a plan's frames may have beyond MTU and Ethernet header: a sole VLAN tag."""
    options = plan.headers.options()
    return TAG if len(options.tags) == 1 else 0


def narrow(
    resolved: ResolvedPlan, machines: Machines, local: Mapping[str, tuple[str, int]]
) -> list[str]:
    """A sentence for each local interface whose MTU is below the plan's frames."""
    longest, allowed = longest_frames(resolved), tag_allowance(resolved.plan)
    mtus = {name: machines.mtus(name) for name, _ in local.values()}
    found = []
    for way in resolved.plan.directions():
        octets = longest[way.sender.entity]
        for port in (way.sender.entity, way.receiver.entity):
            machine, number = local.get(port, ("", 0))
            mtu = mtus[machine][number] if mtus.get(machine) else None
            if mtu is not None and mtu < octets - ETHERNET - allowed:
                found.append(
                    f"interface p{number} of {machine} ({port}) has an MTU of {mtu}, and the "
                    f"plan's frames of {octets} octets on {way.entity} need {octets - ETHERNET}"
                )
    return found


def with_narrow(fidelity: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """The fidelity of a run with such interfaces: they are the reason, and no pace mends it."""
    if not warnings or fidelity["verdict"] == VALID:
        return fidelity
    return fidelity | {"reasons": [*fidelity["reasons"], *warnings], "advised_pace": None}
