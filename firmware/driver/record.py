"""The records of a plan's world as the driver reads and fills them.

What a node is to be is in the rows that the assembly has made of the plan, and the timeline writes
into them; the driver carries it to registers. What registers count goes into the same rows, so
that samples and metrics are made as for a simulated node.
"""

from __future__ import annotations

from typing import Any

from orchestrator.assembly import Assembly
from orchestrator.engine.records import NEVER, NONE


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

    def flows(self, node: str) -> list[int]:
        """Rows of a NIC's flows, in the order of the gateware's flows."""
        number = self.indices.nodes[node]
        return [row for row, flow in enumerate(self.world.flows) if flow.node == number]

    def limiters(self, node: str) -> list[int]:
        """Rows of a NIC's limiters."""
        record = self.world.nodes[self.indices.nodes[node]]
        return list(range(record.first_limiter, record.first_limiter + record.limiters))

    def taken_hold(self, port: int) -> int | None:
        """What the timeline has said of a port since the last call: 1 hold it, 0 let it go on.

        The word is taken off the row, whose time under PAUSE is counted by the gateware.
        """
        row = self.world.ports[port]
        until, row.paused_until = int(row.paused_until), 0
        return None if until == 0 else int(until == NEVER)

    def has(self, instance: int) -> bool:
        """Whether there is an algorithm."""
        return bool(instance != NONE)

    def param(self, instance: int, name: str) -> int:
        """A parameter of an algorithm's instance, as of now."""
        return int(self.world.memory[self._offsets[f"params{instance}", 0, name]])

    def state(self, instance: int, name: str) -> int:
        """A field of an algorithm's state as the run began: of use for seeds."""
        return int(self.world.memory[self._offsets[f"state{instance}", 0, name]])
