"""Records of a plan's world as the driver reads and fills them.

The assembly writes a node's configuration into rows, and so does the timeline; the driver copies it
to registers. Counters of registers are read into the same rows, so that samples and metrics are
made as for a simulated node.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from orchestrator.assembly import Assembly
from orchestrator.engine.records import NEVER, NONE, SWITCH


def count_held(row: Any, paused_ps: int) -> None:
    """Set the time that a port was held in all, as its registers count it.

    They tell no hold from the next: where the count grew from one reading to the next, again and
    again, that is taken for one hold.
    """
    grew = paused_ps - int(row.paused_ps)
    row.longest_hold_ps = int(row.longest_hold_ps) + grew if grew > 0 else 0
    row.paused_ps = paused_ps


@dataclass(frozen=True)
class NodeBlock:
    """One block of gateware of a node: a switch, or a port of a NIC with its flows and limiters.

    `name`: the node's, or the port's where the node has several blocks.
    """

    name: str
    node: str
    ports: tuple[str, ...]
    flows: tuple[int, ...] = ()
    limiters: tuple[int, ...] = ()


class Records:
    """Rows of an assembly's world by name."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.world, self.indices = assembly.world, assembly.indices
        self.plan = assembly.resolved.plan
        built: Any = assembly.built
        self._offsets: dict[tuple[str, int, str], int] = built.offsets

    def ports(self, node: str) -> list[str]:
        """Ports of a node, in the order of its rows: that of the gateware's ports."""
        return [name for name, port in self.indices.ports.items() if port.node == node]

    def node_blocks(self, node: str) -> list[NodeBlock]:
        """The blocks of gateware that are a node, in the order of its ports.

        A NIC of several ports is a block per port. A flow belongs to one of them; so do its
        limiters: a port has as many as it has flows (`firmware.target.plan_check` holds plans to
        that).
        """
        ports, row = self.ports(node), self.world.nodes[self.indices.nodes[node]]
        if row.kind == SWITCH:
            return [NodeBlock(node, node, tuple(ports))]
        limiters = range(row.first_limiter, row.first_limiter + row.limiters)
        flows = {port: self._flows(port) for port in ports}
        if len(ports) == 1:
            return [NodeBlock(node, node, tuple(ports), flows[ports[0]], tuple(limiters))]
        left = iter(limiters)
        return [
            NodeBlock(port, node, (port,), mine, tuple(islice(left, len(mine))))
            for port, mine in flows.items()
        ]

    def _flows(self, port: str) -> tuple[int, ...]:
        """Rows of the flows that a NIC sends through a port, in the gateware's order."""
        number = self.indices.port_rows[port]
        return tuple(row for row, flow in enumerate(self.world.flows) if flow.port == number)

    def taken_hold(self, port: int) -> int | None:
        """Command of the timeline for a port since the last call: 1 pause, 0 resume.

        Removes the command from the row; the gateware counts the time under PAUSE.
        """
        row = self.world.ports[port]
        until, row.paused_until = int(row.paused_until), 0
        return None if until == 0 else int(until == NEVER)

    def has(self, instance: int) -> bool:
        """Return whether the holder has an algorithm."""
        return bool(instance != NONE)

    def param(self, instance: int, name: str) -> int:
        """Current parameter of an algorithm's instance."""
        return int(self.world.memory[self._offsets[f"params{instance}", 0, name]])

    def state(self, instance: int, name: str) -> int:
        """Initial field of an algorithm's state, such as a seed."""
        return int(self.world.memory[self._offsets[f"state{instance}", 0, name]])

    def show(self, instance: int, name: str, value: int) -> None:
        """Write a field of an algorithm's state for its samples, if the algorithm has it."""
        place = self._offsets.get((f"state{instance}", 0, name))
        if place is not None:
            self.world.memory[place] = value
