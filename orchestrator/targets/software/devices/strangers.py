"""Frames that no node of a run sent. What devices of others send of their own is no loss."""

from __future__ import annotations

from orchestrator.plan.external import facing
from orchestrator.targets.software.thread import Thread


def foreign(thread: Thread) -> int:
    """So many came to nodes of a thread that no device of others is cabled to."""
    at = facing(thread.assembly.resolved.plan).values()
    near = {ours.partition(".")[0] for ports in at for ours in ports.values()}
    rows = thread.assembly.indices.nodes
    counted = thread.assembly.world.nodes["foreign"]
    return sum(int(counted[row]) for name, row in rows.items() if name not in near)
