"""Run as a script: simulates the plan named, prints how its congestion point and engine came."""

from __future__ import annotations

import json
import sys

from orchestrator.assembly import assemble
from orchestrator.engine import jit
from orchestrator.engine.kernel_events import CP_ARRIVAL
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.records import NONE
from orchestrator.plan import Plan
from orchestrator.registry import Registry


def main(path: str) -> None:
    """One JSON document."""
    registry = Registry.load()
    resolved = Plan.load(path, registry).check(registry)
    world = assemble(resolved).world
    simulate(world, resolved.plan.duration, 1 << 40)
    points = [row for row in world.queues["congestion_point"] if row != NONE]
    found = {
        "uncompiled": jit.DISABLED,
        "kernels": [int(world.instances[row].kernels[CP_ARRIVAL]) for row in points],
        "engine_from_cache": [entry.loaded for entry in simulate.entries.values()],
        "feedback": int(world.queues["feedback_sent"].sum()),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
