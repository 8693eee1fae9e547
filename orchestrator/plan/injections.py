"""Injections of the timeline: which port they act at, and which flows they can name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.engine.records import NOT_ROCE
from orchestrator.errors import Problem
from orchestrator.plan import entity_names
from orchestrator.plan.entity_names import Direction, Flow
from orchestrator.plan.input_problems import Clash, unknown
from orchestrator.plan.plan_model import PlanModel, memoized
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.queue_pairs import operation_of
from orchestrator.plan.shortest_paths import routes
from orchestrator.plan.timeline_tables import INJECTIONS, Step


@memoized
def _flows(plan: PlanModel) -> dict[str, Flow]:
    """The flows of a plan by name."""
    return {flow.entity: flow for flow in entity_names.flows(plan)}


def injected_direction(plan: PlanModel, step: Step) -> Direction | None:
    """The link direction whose sender an injection acts at; None where the plan leaves it open."""
    ways = {way.sender.entity: way for way in entity_names.directions(plan)}
    if step.port is not None:
        return ways.get(step.port)
    flow = _flows(plan)[getattr(step, step.verb)]
    here = [way for way in ways.values() if way.sender.node == flow.node]
    if step.of == "cnm":
        near = [way for way in ways.values() if way.receiver.node == flow.node]
        return _only(near, plan.traffic[flow.entry].via)
    if step.of == "ack":
        back = [way for way in ways.values() if way.sender.node == flow.destination]
        return _only(back, None)
    if via := plan.traffic[flow.entry].via:
        return _only(here, via)
    first = flow.members[0] if flow.members else flow.destination
    return ways.get(f"{flow.node}.{routes(plan)[flow.node].get(first)}")


def _only(ways: list[Direction], link: str | None) -> Direction | None:
    """The direction over a link, or the only one that there is."""
    chosen = [way for way in ways if link in (None, way.link)]
    return chosen[0] if len(chosen) == 1 else None


def injection_problems(plan: PlanModel, step: Step, where: str) -> Iterator[Problem]:
    """Problems of a step's flow and port; none of a step that injects nothing."""
    if step.verb not in INJECTIONS:
        return
    name, known = getattr(step, step.verb), _flows(plan)
    if name not in known:
        mine = [flow.entity for flow in known.values() if flow.entry == name]
        if mine:
            text = f"{name} has {len(mine)} flows; one of them is expected: {mine[0]} ..."
            yield Problem(f"{where}.{step.verb}", name, text)
        else:
            yield unknown(f"{where}.{step.verb}", "flow", name, known)
        return
    ports = {port.entity: port for port in entity_names.ports(plan)}
    if step.port is not None and step.port not in ports:
        yield unknown(f"{where}.port", "port", step.port, ports)
        return
    if step.port is not None and not entity_names.is_ours(plan, ports[step.port].node):
        text = f"{ports[step.port].node} is external; an emulated port is expected"
        yield Clash(f"{where}.port", step.port, text)
        return
    way = injected_direction(plan, step)
    if way is None or not entity_names.is_ours(plan, way.sender.node):
        kind = {"ack": "acknowledgements", "cnm": "congestion messages"}.get(step.of or "", "data")
        text = f"{kind} of {name} may leave by several ports; 'port' is expected, which names one"
        yield Clash(f"{where}.port", None, text)


def duplicate_problems(plan: PlanModel, uses: Mapping[str, Mapping[str, Use]]) -> Iterator[Problem]:
    """Duplicates of datagrams of messages: their receiver counts frames, not sequence numbers."""
    for index, step in enumerate(plan.timeline):
        flow = _flows(plan).get(step.duplicate or "")
        if flow is None or flow.entry not in uses["traffic"] or flow.entry in uses["transport"]:
            continue
        if uses["traffic"][flow.entry].algorithm.messages is not None:
            text = (
                f"the frames of {flow.entity} are datagrams of messages, whose receiver does not "
                f"notice a duplicate; give traffic.{flow.entry} a transport, or leave the step out"
            )
            yield Clash(f"timeline[{index}].duplicate", flow.entity, text)


def check_problems(plan: PlanModel, uses: Mapping[str, Mapping[str, Use]]) -> Iterator[Problem]:
    """Checks that `corrupt` is to write wrong in packets that have none."""
    for index, step in enumerate(plan.timeline):
        flow = _flows(plan).get(step.corrupt or "")
        if step.field is None or flow is None or flow.entry not in uses["traffic"]:
            continue
        text = ""
        if getattr(uses["traffic"][flow.entry].algorithm, "programs", False):
            text = f"the packets of {flow.entry} are those of programs, which are sent as they are"
        elif step.field == "ipv4_checksum" and plan.headers.ip == 6:
            text = "IPv6 has no header checksum; 'udp_checksum' or headers.ip = 4 is expected"
        elif (
            step.field == "icrc"
            and step.of != "cnm"
            and operation_of(uses["transport"].get(flow.entry)) == NOT_ROCE
        ):
            text = (
                f"only RoCEv2 packets have an ICRC, and traffic.{flow.entry} is no RoCEv2 queue "
                "pair; a transport that is one is expected, such as 'rc'"
            )
        if text:
            yield Clash(f"timeline[{index}].field", step.field, text)


def copied_datagrams(plan: PlanModel, uses: Mapping[str, Mapping[str, Use]]) -> Iterator[Problem]:
    """Links that duplicate frames at random, in a plan with datagrams of messages."""
    copying = {
        holder: use
        for holder, use in uses["delay_line"].items()
        if use.params.most_copies() > 0 and entity_names.link_of(holder) in plan.links
    }
    datagrams = (
        name
        for name, use in uses["traffic"].items()
        if use.algorithm.messages is not None and name not in uses["transport"]
    )
    entry = next(datagrams, None) if copying else None
    if entry is None:
        return
    for holder, use in copying.items():
        text = (
            f"the frames of {entry} are datagrams of messages, whose receiver does not notice a "
            f"duplicate; give traffic.{entry} a transport, or leave {use.algorithm.name} out"
        )
        link = entity_names.link_of(holder)
        yield Clash(f"links.{link}.delay_line", use.algorithm.name, text)
