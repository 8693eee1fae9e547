"""Rows of nodes, ports, queues, limiters and flows, from what the plan says of each."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.assembly.names import Indices, is_end
from orchestrator.assembly.queues import add_queues
from orchestrator.errors import BadInput, Problem
from orchestrator.lfsr import seed_for
from orchestrator.node.arrive import PATIENCE_PS
from orchestrator.node.builder import WorldBuilder
from orchestrator.node.link import BIT_PS
from orchestrator.node.records import NEVER, NIC, NONE, SINK, SWITCH
from orchestrator.plan import Direction, Nic, Node, ResolvedPlan, Sink, Switch
from orchestrator.units import format_duration, format_rate, format_size

LONGEST_FRAME = 9216
BIT_TOKENS = 10**12
"""Tokens of a limiter's bucket per bit."""


def add_nodes(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, wires: Mapping[str, int]
) -> None:
    """Add every row of the plan. Raises BadInput for a limiter too small for its link's rate."""
    plan = resolved.plan
    kinds = {Nic: NIC, Switch: SWITCH, Sink: SINK}
    ports: dict[str, list[int]] = {name: [] for name in plan.nodes}
    for entity, row in indices.port_rows.items():
        ports[indices.ports[entity].node].append(row)
    limiters_of = plan.limiters()
    for name, node in plan.nodes.items():
        rows = ports[name]
        limiters = [indices.limiters[limiter] for limiter in limiters_of.get(name, [])]
        builder.add(
            builder.nodes,
            kind=kinds[type(node)],
            address=indices.node_address(name),
            first_port=min(rows, default=0),
            ports=len(rows),
            first_limiter=min(limiters, default=0),
            limiters=len(limiters),
            reaction_time=node.reaction_time if isinstance(node, Nic) else 0,
            host_capacity=node.host_queue if isinstance(node, Nic) and _shares(node) else 0,
            heard_head=NONE,
            heard_tail=NONE,
        )
    for number, lane in enumerate(indices.lanes):
        for priority in lane.priorities:
            builder.lane_of[priority] = number
    _add_ports(builder, resolved, indices, wires)
    add_queues(builder, resolved, indices)
    _add_limiters(builder, resolved, indices)
    _add_flows(builder, resolved, indices)
    _add_routes(builder, resolved, indices)


def _add_ports(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, wires: Mapping[str, int]
) -> None:
    plan = resolved.plan
    senders = {way.sender.entity: way for way in plan.directions()}
    for entity, port in indices.ports.items():
        link = plan.links[port.link]
        back = link.delay if link.delay_back is None else link.delay_back
        line = NONE
        use = resolved.use("delay_line", port.link)
        if use is not None and use.algorithm.name != "fixed-delay":
            line = builder.instance(senders[entity].entity, use.algorithm, use.params)
        far = senders[entity].receiver
        peer = indices.port_rows[far.entity]
        patient = not wires and _may_wait(resolved, senders[entity]) and line == NONE
        builder.add(
            builder.ports,
            node=indices.nodes[port.node],
            address=indices.port_address(entity),
            peer=peer if not wires else NONE,
            wire=wires.get(entity, NONE),
            up=1,
            rate=link.rate,
            delay=link.delay if port.forward else back,
            overhead=link.overhead,
            delay_line=line,
            control_head=NONE,
            control_tail=NONE,
            first_lane=indices.port_rows[entity] * len(indices.lanes),
            input=indices.inputs.get(port.input, NONE),
            line_head=NONE,
            line_tail=NONE,
            line_capacity=link.buffer,
            patience=PATIENCE_PS if patient else 0,
        )
        for lane in indices.lanes:
            queue = indices.queues.get(entity + lane.suffix, NONE)
            builder.add(builder.lanes, queue=queue, ready_head=NONE, ready_tail=NONE)


def _may_wait(resolved: ResolvedPlan, way: Direction) -> bool:
    """Whether frames of a link direction may be handed over late: nobody can tell the difference.

    They go to a sink, are not captured, and neither they nor a change of the link during the run
    can fill the delay line.
    """
    plan = resolved.plan
    link = plan.links[way.link]
    delay = max(link.delay, link.delay_back or 0)
    most = 2 * link.rate * (delay + PATIENCE_PS) // BIT_PS
    return (
        isinstance(plan.nodes[way.receiver.node], Sink)
        and not {way.sender.entity, way.receiver.entity} & set(plan.capture.ports)
        and not any(way.entity in action.entities for action in resolved.actions)
        and most + 2 * LONGEST_FRAME <= link.buffer
    )


def _add_limiters(builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices) -> None:
    plan = resolved.plan
    problems: list[Problem] = []
    for name, limiters in plan.limiters().items():
        node, use = plan.nodes[name], resolved.use("reaction_point", name)
        assert isinstance(node, Nic)
        assert use is not None
        bucket = node.limiter
        rates = [plan.links[p.link].rate for p in indices.ports.values() if p.node == name]
        fastest = max(rates, default=1)
        if bucket.depth * 8 * BIT_TOKENS < fastest * bucket.period:
            need = -(-fastest * bucket.period // (8 * BIT_TOKENS))
            problems.append(
                Problem(
                    f"nodes.{name}.limiter.depth",
                    format_size(bucket.depth),
                    f"a refill every {format_duration(bucket.period)} at {format_rate(fastest)} "
                    f"needs at least {format_size(need)}",
                )
            )
        for limiter in limiters:
            builder.add(
                builder.limiters,
                node=indices.nodes[name],
                flow=NONE,
                rate=fastest,
                target=fastest,
                link_rate=fastest,
                timer=NEVER,
                algorithm=builder.instance(limiter, use.algorithm, use.params),
                depth=bucket.depth * 8 * BIT_TOKENS,
                period=bucket.period,
                phase=seed_for(plan.seed, f"{limiter}/phase") % bucket.period,
                granularity=bucket.granularity,
            )
    if problems:
        raise BadInput(plan.source, problems)


def _add_flows(builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices) -> None:
    plan = resolved.plan
    routes = plan.routes()
    on_link = {(port.node, port.link): entity for entity, port in indices.ports.items()}
    builder.groups = len(indices.groups)
    for row, flow in enumerate(plan.flows()):
        entry, use = plan.traffic[flow.entry], resolved.use("traffic", flow.entry)
        node = plan.nodes[flow.node]
        assert isinstance(node, Nic)
        assert use is not None
        shortest = f"{flow.node}.{routes[flow.node][flow.destination]}"
        port = on_link[flow.node, entry.via] if entry.via else shortest
        builder.address_flow[row] = row
        builder.add(
            builder.flows,
            node=indices.nodes[flow.node],
            port=indices.port_rows[port],
            lane=indices.port_rows[port] * len(indices.lanes) + builder.lane_of[entry.priority],
            source=row,
            destination=indices.node_address(flow.destination),
            priority=entry.priority,
            length=entry.frame,
            algorithm=builder.instance(flow.entity, use.algorithm, use.params),
            limiter=NONE,
            next_frame=NEVER,
            head=NONE,
            tail=NONE,
            capacity=max(node.host_queue, entry.frame),
            ready_next=NONE,
            shared=int(_shares(node)),
            open_loop=int(_shares(node)),
            group=indices.groups[flow.entry],
        )


def _shares(node: Node) -> bool:
    """Whether the flows of a NIC share one host queue."""
    return isinstance(node, Nic) and node.host_queues == "shared"


def _add_routes(builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices) -> None:
    plan = resolved.plan
    addresses = {name: [indices.node_address(name)] for name in plan.nodes if is_end(plan, name)}
    for row, flow in enumerate(plan.flows()):
        addresses[flow.node].append(row)
    for node, ways in plan.routes().items():
        for destination, port in ways.items():
            for address in addresses.get(destination, []):
                way = indices.port_rows[f"{node}.{port}"]
                builder.routes[indices.nodes[node], address] = way
    senders = {way.sender.entity: way.receiver.entity for way in plan.directions()}
    entities = list(indices.port_rows)
    for row, flow in enumerate(plan.flows()):
        if plan.traffic[flow.entry].via is not None:
            back = senders[entities[builder.flows[row]["port"]]]
            peer = indices.nodes[indices.ports[back].node]
            builder.routes[peer, row] = indices.port_rows[back]
