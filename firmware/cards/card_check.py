"""Check of the cards against a plan: refuses before the run, by name, what a card lacks."""

from __future__ import annotations

from collections.abc import Callable

from firmware.cards.card_inventory import OpenCard, Unit
from firmware.registers.register_maps import (
    FLOW_SOURCES,
    NIC,
    QCN_CP,
    QCN_RP,
    SWITCH_PORT,
    TOKEN_BUCKET,
)
from firmware.target.plan_check import on_gateware, refusal
from orchestrator.errors import Refused
from orchestrator.plan import ResolvedPlan, Sink
from orchestrator.plan.entity_names import Direction

PLUGIN_BLOCKS = {
    "reaction_point": QCN_RP,
    "congestion_point": QCN_CP,
    "pause": SWITCH_PORT,
}
"""Kind of plugin -> its register block in gateware."""
BLOCKS = {"nic": (QCN_RP, TOKEN_BUCKET, FLOW_SOURCES), "switch": (SWITCH_PORT, QCN_CP)}
"""Register blocks of a node by its kind, besides its own window."""
CABLE = "the ends of its cables are what is linked; a cable's rate and state cannot be set"


def check_plan(resolved: ResolvedPlan, served: set[str]) -> None:
    """Raises Refused for what no card can do of a plan. `served`: nodes that the testbed names."""
    plan = resolved.plan
    for name, node in plan.nodes.items():
        if isinstance(node, Sink):
            continue
        if name not in on_gateware(plan):
            raise refusal(
                name,
                "it wants to be simulated, in virtual time; cards run in real time",
                f"Take the target out of nodes.{name}, or run without --testbed.",
            )
        ports = [port for port in plan.ports() if port.node == name]
        if node.kind == "nic" and len(ports) > 1:
            lack = f"a NIC of a card has one port, the plan wants {len(ports)}"
            raise refusal(name, lack, "Use a NIC per port.")
        if name not in served:
            raise refusal(
                name,
                "no card of the testbed serves it, and cards are not joined to models",
                "Name it under `nodes` of a card, or run without --testbed.",
            )
    if plan.capture.ports:
        raise refusal(
            plan.capture.ports[0], "cards capture no frames", "Leave `capture` out of the plan."
        )
    gateware_ports = {port.entity for port in plan.ports() if port.node in served}
    for action in resolved.actions:
        rate = action.kind == "link" and "rate" in action.values
        if rate or action.verb in ("cut", "mend"):
            lack = f"the timeline has {action.verb} of {action.key}"
            raise refusal("a card", f"{lack}; {CABLE}", "Leave it out, or run without --testbed.")
        if action.verb in ("pause", "resume") and action.key not in gateware_ports:
            lack = f"the timeline has {action.verb} of {action.key}, which is on no card"
            raise refusal("a card", lack, "Leave it out, or run without --testbed.")
    for way in plan.directions():
        later = [
            a.values["delay"]
            for a in resolved.actions
            if a.kind == "link" and "delay" in a.values and way.entity in a.entities
        ]
        if max([delay_of(resolved, way), *later]) and plan.nodes[way.receiver.node].kind != "nic":
            raise refusal(
                way.receiver.entity,
                "a card delays only what a NIC of it receives (delay_line)",
                f"Delay the direction to the NIC alone: links.{way.link}.delay, delay_back.",
            )


def delay_of(resolved: ResolvedPlan, way: Direction) -> int:
    """Delay of a direction of a link (ps)."""
    link = resolved.plan.links[way.link]
    back = link.delay if link.delay_back is None else link.delay_back
    return int(link.delay if way.sender.forward else back)


def check_card(resolved: ResolvedPlan, one: OpenCard) -> None:
    """Raises Refused with the card, its lack and its blocks."""
    for node, number in one.serves.items():
        if number >= len(one.units):
            lack = f"it has no node number {number + 1}, which is to serve {node}"
            raise one.refused(lack, "Name as many `nodes` as it has.")
        unit = one.units[number]
        _check_unit(resolved, one, node, unit)
    kinds = {unit.kind for unit in (one.units[n] for n in one.serves.values())}
    if "nic" in kinds and one.clock is None:
        lack = "it lacks the register block card_clock, by which flows start"
        raise one.refused(lack, "Load a bitstream of this version.")


def _check_unit(resolved: ResolvedPlan, one: OpenCard, node: str, unit: Unit) -> None:
    plan = resolved.plan
    if unit.kind != plan.nodes[node].kind:
        lack = f"{node} is a {plan.nodes[node].kind}, node number {one.serves[node] + 1} is not"
        raise one.refused(lack, "Correct `nodes` in the testbed.")
    for kind, holders in resolved.uses.items():
        block = PLUGIN_BLOCKS.get(kind)
        for holder, use in holders.items():
            if block and holder.split(".")[0] == node and block.module not in unit.blocks:
                lack = f"it lacks the {kind} {use.algorithm.name} of {holder}"
                lack += f" (register block {block.module})"
                raise one.refused(lack, "Load a bitstream with it.")
    for block in BLOCKS[unit.kind]:
        if block.module not in unit.blocks:
            lack = f"{node} lacks the register block {block.module}"
            raise one.refused(lack, "Load a bitstream with it.")
    rates = [plan.links[port.link].rate for port in plan.ports() if port.node == node]
    if sum(rates) > unit.bits_per_s:
        lack = (
            f"the links of {node} have {sum(rates) / 1e9:g} Gb/s, "
            f"its data path has the width for {unit.bits_per_s / 1e9:g} Gb/s"
        )
        raise one.refused(lack, "Use slower links, or a wider bitstream.")
    if unit.kind == "nic":
        limiters = len(plan.limiters().get(node, ()))
        points = next(f.caps for f in unit.windows if f.map is NIC) & 0xFF
        if points < limiters:
            lack = f"it has {points} reaction points for {node}, the plan wants {limiters}"
            raise one.refused(lack, "Set fewer reaction_points, or load a bitstream with more.")
        for way in plan.directions():
            if way.receiver.node == node and delay_of(resolved, way) and unit.delay is None:
                lack = f"it lacks the register block delay_line, for {way.entity}"
                raise one.refused(lack, f"Set the delay of links.{way.link} to 0.")


def naming_card(one: OpenCard, act: Callable[[], None]) -> None:
    """Call `act`; add the card and its blocks to a refusal."""
    try:
        act()
    except Refused as error:
        raise one.refused(f"{error.who}: {error.lack}", error.remedy) from None
