"""Borrowed NICs: interfaces of this machine that a run's nodes use and the run does not own."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any

from orchestrator.targets.software.network_namespaces import Machine, Machines

Handed = dict[str, dict[str, Any]]
"""Node -> {"socket": descriptor, "ports": {its port, as in results: interface index}, "next_hops":
{such a port: MAC address of the router that it faces}}."""


@dataclass
class BorrowedMachine(Machine):
    """NICs of a node, behind one socket that another process has opened."""

    indices: list[int] = field(default_factory=list)
    next_hops: dict[str, int] = field(default_factory=dict)

    @property
    def interfaces(self) -> list[int]:
        """Interface indices in the network namespace of the opening process."""
        return self.indices


def outside_of(node: str) -> str:
    """Name of the machine of a node's NICs; no node has such a name."""
    return f"{node}/nics"


def add_borrowed_nics(
    machines: Machines, node: str, there: dict[str, Any], counted: bool = True
) -> dict[str, tuple[str, int]]:
    """Add a node's NICs to the machines; where each of its ports is.

    `counted`: whether what is lost in them counts with what veth pairs lose.
    """
    name = outside_of(node)
    indices = list(there["ports"].values())
    machine = BorrowedMachine(name, -1, peers=[""] * len(indices), indices=indices, counted=counted)
    machine.next_hops = there.get("next_hops", {})
    machine.raw = socket.socket(fileno=there["socket"])
    machines.machines[name] = machine
    return {port: (name, number) for number, port in enumerate(there["ports"])}
