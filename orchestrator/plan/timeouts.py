"""Refuses timeouts of transports that are shorter than the round trip of the empty path.

Such a transport takes every first segment for lost. What is compared is the least that a round trip
takes: propagation both ways, one full frame sent over every link on its way there, and the time
that the receiver may hold the answer back.
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.errors import Problem
from orchestrator.plan.entity_names import Port, ports
from orchestrator.plan.forwarding_hosts import carries
from orchestrator.plan.input_problems import Clash
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.shortest_paths import path, routes
from orchestrator.plan.timeline_actions import Action
from orchestrator.plan.units import format_duration

BIT_PS = 8 * 10**12


def timeout_problems(
    plan: PlanModel, carriers: Mapping[str, Use], actions: list[Action]
) -> list[Problem]:
    """One for each traffic entry whose transport gives up before the first answer can be back.

    `carriers`: the transports by traffic entry. A plan whose timeline changes delays or rates of
    links is left alone: its round trips differ.
    """
    waits = {name: use.params.answered_within() for name, use in carriers.items()}
    held_back = {name: use.params.answer_delay() for name, use in carriers.items()}
    limits = {name: wait for name, wait in waits.items() if wait is not None}
    if not limits or any(action.kind == "link" for action in actions):
        return []
    longest = _longest(plan, max(plan.traffic[name].frame for name in limits))
    limits = {name: wait for name, wait in limits.items() if wait <= longest + held_back[name]}
    if not limits:
        return []
    table, known = routes(plan), {port.entity: port for port in ports(plan)}
    problems: list[Problem] = []
    for name, wait in limits.items():
        entry = plan.traffic[name]
        for source, target in entry.pairs:
            taken = path(plan, table, known, source, target) if entry.via is None else ""
            if isinstance(taken, str):
                continue
            trip = round_trip(plan, taken, entry.frame) + held_back[name]
            if wait <= trip:
                held = " with ack_delay" if held_back[name] else ""
                text = (
                    f"the timeout of {format_duration(wait)} ends before an answer can be back: "
                    f"from {source} to {target} and back takes {format_duration(trip)} at least"
                    f"{held}; a longer one is expected, such as {format_duration(_remedy(trip))}"
                )
                where = f"traffic.{name}.transport.timeout"
                problems.append(Clash(where, format_duration(wait), text))
                break
    return problems


def round_trip(plan: PlanModel, taken: list[Port], frame: int) -> int:
    """ps that a frame of `frame` octets takes along these ports, and its answer's way back, of
    which only the propagation counts."""
    total = 0
    for port in taken:
        link = plan.links[port.link]
        back = link.delay if link.delay_back is None else link.delay_back
        total += link.delay + back + frame * BIT_PS // link.rate
    return total


def _longest(plan: PlanModel, frame: int) -> int:
    """ps that no round trip of a plan is longer than: one over its worst link at every node that
    sends on."""
    hops = 1 + sum(carries(plan, name) for name in plan.nodes)
    links = plan.links.values()
    worst = max(link.delay + (link.delay_back or link.delay) for link in links)
    return hops * (worst + frame * BIT_PS // min(link.rate for link in links))


def _remedy(trip: int) -> int:
    """Four round trips, in one digit of the unit below: something that a person would write."""
    wanted, step = 4 * trip, 1
    while wanted >= 10 * step:
        step *= 10
    return -(-wanted // step) * step
