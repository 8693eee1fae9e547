"""Which ports need no event for a frame that leaves: nobody feels it before he looks."""

from __future__ import annotations

from orchestrator.assembly.builder import Row, WorldBuilder
from orchestrator.engine.records import FRAMES, NEVER, NONE
from orchestrator.plan import Port, ResolvedPlan


def is_deaf(resolved: ResolvedPlan, entity: str, port: Port) -> int:
    """1: the congestion point of a buffer, if any, has nothing to do for frames that leave it.

    A kernel that does nothing may have something to do once its parameters have changed. A run that
    is changed while it goes on hears again by the port (`engine.node.port.be_in_time`), which the
    buffer of an input is not before.
    """
    use = resolved.use("congestion_point", entity)
    if use is None or "departure" not in use.algorithm.kernels:
        return 1
    changes = [each for each in resolved.actions if each.kind == "congestion_point"]
    may_change = entity == port.input or any(entity in each.entities for each in changes)
    return int(not may_change and "departure" in use.params.needless())


def mark_late(builder: WorldBuilder) -> None:
    """Mark the ports whose data leaves without events (see `engine.node.late`); all rows are there.

    There is one lane, and every frame that is data is only counted where it arrives.
    """
    counted = all(
        row.get("mode", FRAMES) == FRAMES and row.get("copies", 0) == 0 for row in builder.flows
    )
    if not counted or max(builder.lane_of) > 0:
        return
    for port in builder.ports:
        lane = builder.lanes[port["first_lane"]]
        if port["ahead"] and lane["queue"] != NONE and lane["granted"] == NEVER:
            port["late"] = int(not port["in_order"] and _is_plain(builder.queues[lane["queue"]]))


def _is_plain(queue: Row) -> bool:
    """Whether frames leave a queue by the clock alone, and leave nothing behind."""
    watched = not queue["deaf"] or queue["pause"] != NONE or queue["watchdog"] != NONE
    return not (watched or queue["crossbar"] or queue["units"])
