"""Rows of nodes, ports, queues, limiters and flows, from the tables of the plan."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.algorithm import Algorithm
from orchestrator.assembly.clocks import drawn_phase, drift, phase
from orchestrator.assembly.dscp_classes import dscp_maps
from orchestrator.assembly.marking_histograms import histogram_rows
from orchestrator.assembly.message_schedules import entry_lengths, schedules
from orchestrator.assembly.queue_rows import add_queues
from orchestrator.assembly.route_tables import add_routes
from orchestrator.assembly.row_index import Indices, tree_of
from orchestrator.assembly.telemetry_space import headers, room
from orchestrator.assembly.world_builder import Row, SeededField, WorldBuilder
from orchestrator.engine.frames.address_index import mac_of
from orchestrator.engine.node.link_delivery import LEAST_INTERVAL_PS
from orchestrator.engine.node.transmitter import BIT_PS
from orchestrator.engine.records import (
    ECT0,
    FRAMES,
    MESSAGES,
    NEVER,
    NIC,
    NONE,
    NOT_ECT,
    PRIORITIES,
    PROGRAMS,
    SINK,
    SWITCH,
    TRANSPORT,
)
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import (
    Direction,
    External,
    Link,
    Nic,
    Node,
    Plan,
    Port,
    ResolvedPlan,
    Sink,
    Switch,
)
from orchestrator.plan.entity_names import flow_scheduler_holder
from orchestrator.plan.external_nodes import captured
from orchestrator.plan.field_types import LONGEST_FRAME
from orchestrator.plan.forwarding_hosts import forwarding_hosts
from orchestrator.plan.lossless_lanes import obeys_pfc
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.queue_pairs import frame_options
from orchestrator.plan.units import format_duration, format_rate, format_size

MESSAGE_FRAMES = 2
"""Full frames of messages that a flow's host queue takes."""
HOST_FRAMES = 16
"""Full frames of programs that a flow's host queue takes at least: two batches of its socket."""
BIT_TOKENS = 10**12
"""Tokens of a limiter's bucket per bit."""


def add_nodes(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, wires: Mapping[str, int]
) -> None:
    """Add every row of the plan. Raises BadInput for a limiter too small for its link's rate."""
    plan = resolved.plan
    kinds = {Nic: NIC, Switch: SWITCH, External: SWITCH, Sink: SINK}
    ports: dict[str, list[int]] = {name: [] for name in plan.nodes}
    links: dict[str, list[Link]] = {name: [] for name in plan.nodes}
    for entity, row in indices.port_rows.items():
        port = indices.ports[entity]
        ports[port.node].append(row)
        links[port.node].append(plan.links[port.link])
    limiters_of = plan.limiters()
    builder.headers = frame_options(plan.headers.options(), resolved.uses["transport"])
    builder.dscp_maps, classifiers = dscp_maps(plan)
    for name, node in plan.nodes.items():
        rows = ports[name]
        limiters = [indices.limiters[limiter] for limiter in limiters_of.get(name, [])]
        row = builder.add(
            builder.nodes,
            kind=kinds[type(node)],
            address=indices.node_address(name),
            first_port=min(rows, default=0),
            ports=len(rows),
            first_limiter=min(limiters, default=0),
            limiters=len(limiters),
            reaction_time=node.reaction_time if isinstance(node, Nic) else 0,
            **_reassembly(node),
            host_capacity=node.host_queue if isinstance(node, Nic) and _shares(node) else 0,
            reacting_head=NONE,
            reacting_tail=NONE,
            notification_point=_receiving_instance(builder, resolved, "notification_point", name),
            receiver=_receiving_instance(builder, resolved, "receiver", name),
            receiver_timer=NEVER,
            **_incoming(links[name]),
            shared_capacity=_shared_memory(node),
            forwards=int(name in forwarding_hosts(plan)),
            routed=int(isinstance(node, Switch) and node.forwards_by == "ip"),
            classifier=classifiers.get(name, 0),
            obeys_pfc=sum(1 << priority for priority in range(8) if obeys_pfc(node, priority)),
        )
        builder.drawn.append(SeededField("nodes", row, "lfsr", f"{name}/spread"))
    for number, lane in enumerate(indices.lanes):
        for priority in lane.priorities:
            builder.lane_of[priority] = number
    _add_ports(builder, resolved, indices, wires, links)
    add_queues(builder, resolved, indices)
    _add_limiters(builder, resolved, indices, links)
    _add_flows(builder, resolved, indices)
    add_routes(builder, plan, indices)


def _receiving_instance(builder: WorldBuilder, resolved: ResolvedPlan, kind: str, name: str) -> int:
    """The instance of a kind that sees what is delivered to a node; NONE."""
    use = resolved.use(kind, name)
    return NONE if use is None else builder.instance(f"{name}/{kind}", use.algorithm, use.params)


def _incoming(links: list[Link]) -> Row:
    """Fields of a receiver about the link by which its data comes, the fastest of its node."""
    fastest = max(links, key=lambda link: link.rate, default=None)
    if fastest is None:
        return {}
    return {"receiver_rate": fastest.rate, "receiver_overhead": fastest.overhead}


def _shared_memory(node: Node) -> int:
    """Octets that the ports of a switch share; 0 where they share none."""
    if not isinstance(node, Switch) or node.inputs is None:
        return 0
    return node.inputs.shared_memory or 0


def _reassembly(node: Node) -> Row:
    """Fields of a switch that restores the order of flows."""
    if not isinstance(node, Switch) or node.reassembly is None:
        return {}
    return {
        "order_capacity": node.reassembly.buffer,
        "order_timeout": node.reassembly.timeout,
    }


def _add_ports(
    builder: WorldBuilder,
    resolved: ResolvedPlan,
    indices: Indices,
    wires: Mapping[str, int],
    links: Mapping[str, list[Link]],
) -> None:
    plan = resolved.plan
    first_port = len(builder.ports)
    senders = {way.sender.entity: way for way in plan.directions()}
    spreads = any(
        isinstance(node, Switch) and node.spread != "none" for node in plan.nodes.values()
    )
    for entity, port in indices.ports.items():
        link = plan.links[port.link]
        back = link.delay if link.delay_back is None else link.delay_back
        line = _add_stages(builder, resolved, senders[entity], indices.port_rows[entity])
        far = senders[entity].receiver
        peer = indices.port_rows[far.entity]
        node, beyond = plan.nodes[port.node], plan.nodes[port.peer]
        restores = isinstance(node, Switch) and node.reassembly is not None
        here = not wires and line == NONE
        several = spreads and len(links[far.node]) > 1
        patient = here and not several and _may_deliver_lazily(resolved, senders[entity])
        row = builder.add(
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
            in_order=int(restores and not isinstance(beyond, Switch)),
            patience=LEAST_INTERVAL_PS if patient else 0,
            ahead=int(here and _is_count_only(resolved, senders[entity], len(links[far.node]))),
            next_hop=_next_hop(plan, indices, port, far),
        )
        builder.drawn += drift(plan, "ports", row, port.node)
        held = _has_to_be_granted(resolved, far)
        for lane in indices.lanes:
            queue = indices.queues.get(entity + lane.suffix, NONE)
            builder.add(builder.lanes, queue=queue, ready_head=NONE, ready_tail=NONE, **held)
    for row, port in enumerate(indices.ports.values(), first_port):
        builder.ports[row]["scheduler"] = _add_scheduler(builder, resolved, indices, port, row)


def _add_stages(builder: WorldBuilder, resolved: ResolvedPlan, way: Direction, port: int) -> int:
    """Add the algorithms of a link direction's delay line, each with a state of its own. Returns
    the instance of the first one; NONE where the frames take the link's delay.

    The first one draws as it would alone, each further one by its own name: so no stage changes
    what those before it draw.
    """
    staged = resolved.is_staged(way.link)
    if not staged and resolved.is_fixed(way.link):
        return NONE
    names = [way.entity, *(way.stage(n) for n in range(1, len(resolved.stages(way.link))))]
    instances = [
        builder.instance(name, use.algorithm, use.params)
        for name, use in zip(names, resolved.stages(way.link), strict=True)
    ]
    if staged:
        rows = [builder.add(builder.stages, algorithm=instance) for instance in instances]
        builder.stages_of[port] = range(rows[0], rows[-1] + 1)
    return instances[0]


def _add_scheduler(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, port: Port, row: int
) -> int:
    """Add what the lanes of a port, or the flows of each lane, offer to their scheduler. Returns
    the row behind; 0: there is none, or it would choose among lanes and there is one."""
    is_host = isinstance(resolved.plan.nodes[port.node], Nic)
    if of_flows := resolved.use("scheduler", flow_scheduler_holder(port.node)):
        return _add_flow_schedulers(builder, of_flows, indices, port, row)
    use = resolved.use("scheduler", port.node if is_host else port.entity)
    if use is None or len(indices.lanes) == 1:
        return 0
    instance = builder.instance(f"{port.entity}/scheduler", use.algorithm, use.params)
    priorities = [lane.priorities[0] for lane in indices.lanes]
    priorities += [0] * (PRIORITIES - len(priorities))
    octets = [0] * PRIORITIES
    fields = {"port": row, "algorithm": instance, "priority": priorities, "octets": octets}
    builder.schedulers.append(fields)
    return len(builder.schedulers)


def _add_flow_schedulers(
    builder: WorldBuilder, use: Use, indices: Indices, port: Port, row: int
) -> int:
    """Add what the flows of each lane of a port offer to a scheduler, which has a state for each
    lane. Returns the row behind the first one."""
    first = len(builder.schedulers) + 1
    for lane in indices.lanes:
        name = f"{port.entity}{lane.suffix}/flow-scheduler"
        instance = builder.instance(name, use.algorithm, use.params)
        none = [0] * PRIORITIES
        fields = {"port": row, "algorithm": instance, "of_flows": 1}
        builder.schedulers.append(fields | {"priority": none, "octets": none})
    return first


def _has_to_be_granted(resolved: ResolvedPlan, far: Port) -> Row:
    """Initial fields of a lane: it waits for a grant if the far end grants credits."""
    use = resolved.use("pause", far.input)
    if use is None or not use.algorithm.grants:
        return {"granted": NEVER}
    return {"granted": 0, "paused_until": NEVER}


def _next_hop(plan: Plan, indices: Indices, port: Port, far: Port) -> int:
    """The MAC address that IP frames of a port go to next where either end is an IP router; NONE.
    That of an external router is found before a run (`targets.software.dut`)."""
    ends = (plan.nodes[port.node], plan.nodes[far.node])
    if not any(isinstance(node, Switch) and node.forwards_by == "ip" for node in ends):
        return NONE
    if isinstance(ends[1], Switch):
        return int(mac_of(indices.port_address(far.entity)))
    return int(mac_of(indices.node_address(far.node)))


def _may_deliver_lazily(resolved: ResolvedPlan, way: Direction) -> bool:
    """True if frames of a link direction may be delivered late without an observable difference.

    They go to a sink, are not captured, and neither they nor a change of the link during the run
    can fill the delay line. A sink with several links that the frames of one flow may come by has
    to count them in their order, which the caller sees to.
    """
    if resolved.uses["transport"]:
        return False  # a sink answers
    sink = isinstance(resolved.plan.nodes[way.receiver.node], Sink)
    return sink and _is_unobserved(resolved, way, LEAST_INTERVAL_PS)


def _is_count_only(resolved: ResolvedPlan, way: Direction, ways_in: int) -> bool:
    """True if data frames of a link direction, when they arrive, are counted and that is all.

    They all come by this one of `ways_in` links of a NIC or sink: there their order is known when
    they are sent.
    """
    end = isinstance(resolved.plan.nodes[way.receiver.node], Nic | Sink)
    return end and ways_in == 1 and _is_unobserved(resolved, way, 0)


def _is_unobserved(resolved: ResolvedPlan, way: Direction, longer: int) -> bool:
    """True if no algorithm sees the frames of a link direction in flight or on arrival, and
    neither they, if they stay `longer` ps than its delay, nor a change of the link during the run
    can fill the delay line."""
    plan = resolved.plan
    link = plan.links[way.link]
    delay = max(link.delay, link.delay_back or 0)
    most = 2 * link.rate * (delay + longer) // BIT_PS
    return (
        resolved.use("notification_point", way.receiver.node) is None
        and resolved.use("receiver", way.receiver.node) is None
        and not {way.sender.entity, way.receiver.entity} & set(captured(plan))
        and not any(way.entity in action.entities for action in resolved.actions)
        and most + 2 * LONGEST_FRAME <= link.buffer
    )


def _add_limiters(
    builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices, links: dict[str, list[Link]]
) -> None:
    plan = resolved.plan
    problems: list[Problem] = []
    for name, limiters in plan.limiters().items():
        node, use = plan.nodes[name], resolved.use("reaction_point", name)
        assert isinstance(node, Nic)
        assert use is not None
        bucket = node.limiter
        fastest = max((link.rate for link in links[name]), default=1)
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
            row = builder.add(
                builder.limiters,
                node=indices.nodes[name],
                flow=NONE,
                rate=fastest,
                target=fastest,
                link_rate=fastest,
                timer=NEVER,
                named=len(use.algorithm.timers),
                soonest=NEVER,
                algorithm=builder.instance(limiter, use.algorithm, use.params),
                depth=bucket.depth * 8 * BIT_TOKENS,
                period=bucket.period,
                granularity=bucket.granularity,
            )
            phase = SeededField("limiters", row, "phase", f"{limiter}/phase", below=bucket.period)
            builder.drawn.append(phase)
    if problems:
        raise BadInput(plan.source, problems)


def _add_flows(builder: WorldBuilder, resolved: ResolvedPlan, indices: Indices) -> None:
    plan = resolved.plan
    routes = plan.routes()
    on_link = {(port.node, port.link): entity for entity, port in indices.ports.items()}
    builder.groups = histogram_rows(resolved, indices)
    every = dict(schedules(resolved))
    builder.gates = [one.gates for one in every.values() if one.gates is not None]
    carried = {name: iter(one.flows) for name, one in every.items()}
    rooms = {name: room(resolved, name) for name in plan.traffic}
    options = plan.headers.options()
    tos_of = [int(dscp) << 2 for dscp in builder.dscp_maps[0, :8]]
    messages = 0
    for row, flow in enumerate(plan.flows()):
        entry, use = plan.traffic[flow.entry], resolved.use("traffic", flow.entry)
        node = plan.nodes[flow.node]
        point = resolved.use("reaction_point", flow.node)
        assert isinstance(node, Nic)
        assert use is not None
        first = flow.members[0] if flow.members else flow.destination
        shortest = f"{flow.node}.{routes[flow.node][first]}"
        port = on_link[flow.node, entry.via] if entry.via else shortest
        builder.address_flow[row] = row
        if flow.members:
            destination = indices.trees[tree_of(flow)]
        else:
            destination = indices.node_address(flow.destination)
        own: Row = {"mode": FRAMES}
        if use.algorithm.programs:
            own = {"mode": PROGRAMS, "capacity": max(node.host_queue, HOST_FRAMES * entry.frame)}
        if flow.entry in carried:
            block = next(carried[flow.entry])
            block["flow"] = row
            later = phase(resolved, flow, use, plan.links[indices.ports[port].link].rate)
            block["start"][block["start"] != NEVER] += later
            builder.messages.append(block)
            full, octets = entry_lengths(resolved, flow.entry)
            no_message = headers(rooms[flow.entry], octets)
            own = _messages(messages, len(block), full, no_message) | {"headers": octets}
            messages += len(block)
        if (carrier := resolved.use("transport", flow.entry)) is not None:
            own["mode"] = TRANSPORT
            own["length"] = entry_lengths(resolved, flow.entry)[0]
            own["roce"] = carrier.params.roce_operation()
            own["highest"] = own["latest"] = carrier.params.first_sequence()
            builder.messages[-1]["first"] += carrier.params.first_sequence()
            name = f"{flow.entity}/transport"
            own["transport"] = builder.instance(name, carrier.algorithm, carrier.params)
            own["controlled"] = int(carrier.algorithm.leaves_control)
            own["stamps"] = rooms[flow.entry]
        ecn = ECT0 if point is not None and point.params.sends_ect() else NOT_ECT
        shared = int(_shares(node) and own["mode"] == FRAMES)
        first_length, longest = use.params.frame_lengths() or (entry.frame, entry.frame)
        fields: Row = {
            "node": indices.nodes[flow.node],
            "port": indices.port_rows[port],
            "lane": indices.port_rows[port] * len(indices.lanes) + builder.lane_of[entry.priority],
            "source": row,
            "destination": destination,
            "priority": entry.priority,
            "ack_priority": entry.acknowledged_in(),
            "flow_class": entry.scheduled_in(),
            "length": first_length,
            "algorithm": builder.instance(flow.entity, use.algorithm, use.params),
            "limiter": NONE,
            "next_frame": NEVER,
            "head": NONE,
            "tail": NONE,
            "capacity": max(node.host_queue, longest),
            "ready_next": NONE,
            "shared": shared,
            "open_loop": shared,
            "group": indices.groups[flow.entry],
            "copies": len(flow.members),
            "first_copy": indices.flows[flow.at(first)] if flow.members else 0,
            "order_head": NONE,
            "mark": ecn | tos_of[entry.priority],
            "ack_mark": tos_of[entry.acknowledged_in()],
            "headers": options.octets,
            "limited": int(point is not None and _from_start(point.algorithm)),
            "ack_timer": NEVER,
            "back": NONE,
        }
        builder.add(builder.flows, **(fields | own))
        builder.drawn += drift(plan, "flows", row, flow.node)
        if own["mode"] == FRAMES:
            rate = plan.links[indices.ports[port].link].rate
            builder.drawn += drawn_phase(resolved, row, flow, use, rate)
    for flow in plan.flows():
        for member in flow.members:
            idle = {"limiter": NONE, "next_frame": NEVER, "head": NONE, "tail": NONE}
            node_row = indices.nodes[member]
            builder.add(builder.flows, node=node_row, ready_next=NONE, order_head=NONE, **idle)


def _from_start(point: Algorithm) -> bool:
    """True if a flow is limited from its start by this reaction point."""
    return not {"start", "started"}.isdisjoint(point.kernels) or point.hears_acknowledgements


def _messages(first: int, count: int, frame: int, headers: int) -> Row:
    """Fields of a flow that carries the messages of `count` rows from `first` on.

    They wait where they come from: the host queue takes two full frames of them, not more.
    """
    return {
        "mode": MESSAGES,
        "first_message": first,
        "message": first,
        "arriving": first,
        "sending": first,
        "last_message": first + count,
        "segment": frame - headers,
        "capacity": MESSAGE_FRAMES * frame,
    }


def _shares(node: Node) -> bool:
    """True if the flows of a NIC share one host queue."""
    return isinstance(node, Nic) and node.host_queues == "shared"
