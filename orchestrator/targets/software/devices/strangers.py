"""Foreign frames: those that no node of the run sent. A DUT's own frames are no loss."""

from __future__ import annotations

from orchestrator.plan.external import facing
from orchestrator.targets.software.thread import Thread


def foreign(thread: Thread) -> int:
    """Number of foreign frames at those nodes of a thread that have no cable to a DUT."""
    at = facing(thread.assembly.resolved.plan).values()
    near = {ours.partition(".")[0] for ports in at for ours in ports.values()}
    rows = thread.assembly.indices.nodes
    counted = thread.assembly.world.nodes["foreign"]
    return sum(int(counted[row]) for name, row in rows.items() if name not in near)
