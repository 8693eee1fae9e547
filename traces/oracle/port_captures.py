"""Assignment of capture files to the ports of a plan and their directions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.errors import BadInput
from orchestrator.plan import Inputs, Nic, Plan, PortTable, ResolvedPlan, Sink, Switch
from orchestrator.plan.forwarding_hosts import forwarding_hosts
from traces.capture import open_capture
from traces.oracle.captured_streams import INCOMING, OUTGOING, StreamSource
from traces.pcapng.pcapng_blocks import epoch_of

LEAST_SNAP = 106
"""Octets of a frame that must be kept: a congestion notification message whole."""


@dataclass
class CapturedPort:
    """One interface of a file that stands for a port of the plan."""

    path: str
    interface: int
    port: str
    directions: set[int]
    dropped: int
    snaplen: int
    last_ns: int
    """Time of its last frame."""


@dataclass
class CapturedPorts:
    """All captures, by port."""

    ports: dict[str, CapturedPort]
    epoch_ns: int | None
    """Start of the run; None when no file states it."""
    notes: list[str] = field(default_factory=list)


def read_ports(paths: Sequence[str | os.PathLike[str]], plan: Plan) -> CapturedPorts:
    """Find out what the captures hold. Raises BadInput for a file that is none, or no port's."""
    found = CapturedPorts({}, None)
    known = {port.entity: port.entity for port in plan.ports()}
    known |= {entity.replace(".", "-", 1): entity for entity in known.values()}
    for path in paths:
        with open_capture(path) as stream:
            directions: dict[int, set[int]] = {}
            last: dict[int, int] = {}
            for batch in stream.batches():
                for index in set(batch.interface.tolist()):
                    mine = batch.interface == index
                    directions.setdefault(index, set()).update(
                        int(one) for one in set(batch.direction[mine].tolist())
                    )
                    last[index] = int(batch.time_ns[mine][-1])
            if stream.damage is not None:
                found.notes.append(f"{stream.path}: read up to the damage at {stream.damage}")
            epoch = epoch_of(stream.comment)
            if epoch is not None and found.epoch_ns not in (None, epoch):
                raise BadInput(stream.path, "is of another run: it began at another time")
            found.epoch_ns = epoch if epoch is not None else found.epoch_ns
            for index, interface in enumerate(stream.interfaces):
                port = known.get(interface.name)
                if port is None:
                    raise BadInput(
                        stream.path,
                        f"interface {interface.name!r} is no port of the plan; it has "
                        f"{', '.join(sorted(port.entity for port in plan.ports()))}",
                    )
                if port in found.ports:
                    raise BadInput(stream.path, f"{port} stands in {found.ports[port].path} too")
                found.ports[port] = CapturedPort(
                    stream.path,
                    index,
                    port,
                    directions.get(index, set()),
                    interface.dropped or 0,
                    interface.snaplen,
                    last.get(index, 0),
                )
    return found


def horizon_ns(seen: CapturedPort, epoch_ns: int) -> int | None:
    """End of a capture that lost its last frames before the run ended."""
    return seen.last_ns - epoch_ns if seen.dropped else None


@dataclass
class Node:
    """A node with what was captured of it."""

    name: str
    inputs: list[StreamSource]
    outputs: list[StreamSource]
    lacks: list[str]
    """Reason why it cannot be judged; empty when it can."""


def by_programs(resolved: ResolvedPlan) -> str:
    """Reason why a run whose frames come from programs cannot be replayed; else empty."""
    for entry, use in resolved.uses["traffic"].items():
        if use.algorithm.programs:
            return f"traffic.{entry}: frames of programs are not in the plan, nor fed to nodes"
    return ""


def by_stamps(resolved: ResolvedPlan) -> str:
    """Reason why a run whose frames carry hop stamps cannot be replayed; else empty."""
    for node, use in resolved.uses["reaction_point"].items():
        if use.params.stamped_hops() > 0:
            return f"{node}: the stamps that {use.algorithm.name} reads are not fed to nodes"
    return ""


def by_answers(resolved: ResolvedPlan, name: str) -> str:
    """Reason why a node cannot be judged for the answers of destinations; else empty.

    A switch sends answers on as they come. What a NIC makes of them goes by round trips, which a
    capture has in whole ns.
    """
    if isinstance(resolved.plan.nodes[name], Switch):
        return ""
    if name in forwarding_hosts(resolved.plan):
        return f"{name} forwards: which frames it has from others is not followed"
    for node, use in resolved.uses["receiver"].items():
        called = use.algorithm.name
        return f"nodes.{node}.receiver: what a NIC makes of credits of '{called}' is not followed"
    for entry, use in resolved.uses["transport"].items():
        ends = {target for _, target in resolved.plan.traffic[entry].pairs}
        if sinks := sorted(end for end in ends if isinstance(resolved.plan.nodes.get(end), Sink)):
            return (
                f"traffic.{entry}: what a NIC makes of acknowledgements of "
                f"'{use.algorithm.name}' from {sinks[0]} is not followed"
            )
    return ""


def answering(resolved: ResolvedPlan) -> frozenset[str]:
    """The sinks that send anything: what they acknowledge, credit, notify or turn round."""
    plan, uses = resolved.plan, resolved.uses
    ends = {end for entry in uses["transport"] for _, end in plan.traffic[entry].pairs}
    ends |= uses["receiver"].keys() | uses["notification_point"].keys()
    return frozenset(end for end in ends if isinstance(plan.nodes.get(end), Sink))


def node_of(resolved: ResolvedPlan, name: str, found: CapturedPorts, exact_peers: bool) -> Node:
    """Captures by which a node can be judged.

    `exact_peers`: a frame has the same time at both ends of a link (simulated), so that one end
    stands for the other.
    """
    node, plan = Node(name, [], [], []), resolved.plan
    ways, answer = plan.directions(), answering(resolved)
    for way in ways:
        if way.receiver.node == name:
            if isinstance(plan.nodes[way.sender.node], Sink) and way.sender.node not in answer:
                continue
            place = _stream_of(found, way.receiver.entity, INCOMING, way.sender.entity, exact_peers)
            if place is not None:
                node.inputs.append(place)
            elif isinstance(plan.nodes[name], Switch) or _talks_back(plan, way.sender.node):
                node.lacks.append(f"what came in at {way.receiver.entity} was not captured")
        elif way.sender.node == name:
            place = _stream_of(found, way.sender.entity, OUTGOING, way.receiver.entity, exact_peers)
            if place is not None:
                node.outputs.append(place)
    if not node.outputs:
        node.lacks.append("nothing that it sent was captured")
    for place in (*node.inputs, *node.outputs):
        snap = found.ports[place.seen_at].snaplen
        if 0 < snap < LEAST_SNAP:
            node.lacks.append(
                f"{place.seen_at} keeps {snap} octets of a frame; {LEAST_SNAP} are needed"
            )
    return node


def _talks_back(plan: Plan, name: str) -> bool:
    """True if a node can send anything to a NIC that matters there."""
    node = plan.nodes[name]
    if not isinstance(node, Switch):
        return isinstance(node, Nic)
    own: list[Switch | PortTable | Inputs] = [node, *node.ports.values()]
    own += [node.inputs] if node.inputs else []
    return any(one.congestion_point or one.pause for one in own)


def _stream_of(
    found: CapturedPorts, port: str, direction: int, peer: str, exact_peers: bool
) -> StreamSource | None:
    own = found.ports.get(port)
    if own is not None and 0 not in own.directions:
        return StreamSource(own.path, own.interface, direction, port, port)
    other = found.ports.get(peer)
    if exact_peers and other is not None and 0 not in other.directions:
        opposite = OUTGOING if direction == INCOMING else INCOMING
        return StreamSource(other.path, other.interface, opposite, port, peer)
    return None
