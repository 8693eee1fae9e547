"""Fidelity of runs with DUTs: losses of the interfaces that lead to them."""

from __future__ import annotations

from typing import Any

from orchestrator.engine.datapath.neighbour_replies import ANSWERED, ANSWERS
from orchestrator.plan.external_nodes import facing
from orchestrator.run.fidelity_thresholds import DEGRADED, VALID
from orchestrator.targets.software.datapath_thread import Thread


def foreign(thread: Thread) -> int:
    """Number of foreign frames at those nodes of a thread that have no cable to a DUT, less the
    frames with a wrong checksum or ICRC that its ports have sent to any such node: the sum over all
    threads of a run is that of frames that the plan does not explain."""
    plan = thread.assembly.resolved.plan
    at = facing(plan).values()
    near = {ours.partition(".")[0] for ports in at for ours in ports.values()}
    rows, world = thread.assembly.indices.nodes, thread.assembly.world
    counted = world.nodes["foreign"]
    found = sum(int(counted[row]) for name, row in rows.items() if name not in near)
    return found - sum(
        sent_wrong(thread, way.sender.entity)
        for way in plan.directions()
        if way.sender.entity in thread.wires and way.receiver.node not in near
    )


def sent_wrong(thread: Thread, port: str) -> int:
    """Number of frames with a wrong checksum or ICRC that a port of a thread has sent to a node of
    the plan, which counts them as foreign frames."""
    world = thread.assembly.world
    injector = int(world.ports[thread.assembly.indices.port_rows[port]]["injector"])
    return int(world.injectors[injector - 1]["sent_wrong"]) if injector else 0


def answered(thread: Thread) -> dict[str, int]:
    """Port of a thread that faces a DUT -> ARP requests and neighbour solicitations that its host
    answered."""
    rows = thread.assembly.indices.port_rows
    ports = thread.rig.neighbours.ports
    return {
        port: int(ports[row, ANSWERED])
        for port, row in rows.items()
        if port in thread.wires and ports[row, ANSWERS]
    }


def with_devices(fidelity: dict[str, Any], dut_cables: dict[str, Any]) -> dict[str, Any]:
    """The fidelity of a run with the cables of its devices. A loss of a local interface looks
    like a loss of the device: it is reported, and such a run is not valid."""
    replies = fidelity.pop("answered", {})
    if not dut_cables:
        return fidelity
    for ports in dut_cables.values():
        for row in ports.values():
            row["answered"] = replies.get(row["port"], 0)
    reasons = [
        f"{DEGRADED}: {row['interface']}, which leads to {port}, lost or damaged {row['lost']} "
        "frames by its own counters; they look as if the device had lost them"
        for ports in dut_cables.values()
        for port, row in ports.items()
        if row["lost"] > 0
    ]
    verdict = fidelity["verdict"]
    if reasons and verdict == VALID:
        verdict = DEGRADED
    reasons = [*fidelity["reasons"], *reasons]
    return fidelity | {"verdict": verdict, "reasons": reasons, "external": dut_cables}
