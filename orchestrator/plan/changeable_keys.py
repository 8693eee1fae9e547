"""Changeable keys of the timeline: maps a dotted key to the entities that hold the value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.entity_names import Direction, Port, stage_holder
from orchestrator.plan.field_types import Buffer, Delay, LineRate
from orchestrator.plan.former_names import former_of
from orchestrator.plan.input_problems import near
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Link, Nic, PortTable, Switch
from orchestrator.plan.plugin_catalog import ENTRY_KEYS, PORT_PLUGINS, Use
from orchestrator.plan.pydantic_errors import translate

SETTINGS: dict[str, Any] = {
    "service_rate": LineRate,
    "buffer": Buffer,
    "rate": LineRate,
    "delay": Delay,
    "delay_back": Delay,
}
QUEUE_KEYS = ("service_rate", "buffer")
LINK_KEYS = ("rate", "delay", "delay_back")


@dataclass(frozen=True)
class ChangeableKey:
    """Target of a changeable key.

    `kind` is "queue" (service_rate, buffer), "link" (rate, delay) or a kind of plugin;
    `holders` have the value: ports of a switch, link directions, or, for a plugin, what
    `ResolvedPlan.uses` is keyed by.
    """

    kind: str
    holders: tuple[str, ...]
    name: str


class NotChangeable(LookupError):
    """A key that leads nowhere; the message says which keys there are."""


def locate(
    plan: PlanModel, key: str, ports: dict[str, list[Port]], ways: dict[str, list[Direction]]
) -> ChangeableKey:
    """The place of a key such as nodes.switch.service_rate. Raises NotChangeable.

    `ports` are the plan's ports by node, `ways` the directions by link.
    """
    section, *rest = key.split(".")
    _among("section", section, ("nodes", "links", "traffic"))
    named: dict[str, Any] = getattr(plan, section)
    _need(rest, "a name")
    name, *rest = rest
    _among(f"name in {section}", name, named)
    if section == "nodes":
        return _in_node(name, named[name], rest, ports.get(name, []))
    if section == "links":
        return _in_link(name, named[name], rest, ways[name])
    _need(rest, "a parameter of its plugin")
    if rest[0] in ENTRY_KEYS or len(rest) > 1:
        raise NotChangeable("only the parameters of a traffic entry's plugin can change")
    return ChangeableKey("traffic", (name,), rest[0])


def _in_node(name: str, node: Any, rest: list[str], ports: list[Port]) -> ChangeableKey:
    if isinstance(node, Nic) and node.reaction_point is not None:
        _need(rest, "reaction_point and a parameter of it")
        _among("changeable key", rest[0], ("reaction_point",))
        return ChangeableKey("reaction_point", (name,), _last(rest[1:]))
    if not isinstance(node, Switch):
        raise NotChangeable(f"node {name} has nothing that can change during a run")
    _need(rest, ", ".join((*QUEUE_KEYS, *PORT_PLUGINS, "ports")))
    chosen = ports
    if rest[0] == "ports":
        _need(rest[1:], "a port")
        _among("port", rest[1], [port.name for port in ports])
        chosen, rest = [port for port in ports if port.name == rest[1]], rest[2:]
        _need(rest, ", ".join((*QUEUE_KEYS, *PORT_PLUGINS)))
    elif rest[0] == "inputs":
        return _in_inputs(name, node, rest[1:], ports)
    elif rest[0] in SETTINGS or rest[0] in PORT_PLUGINS:
        chosen = [port for port in ports if not _has_own(node, port, rest[0])]
        if not chosen:
            raise NotChangeable(f"every port of {name} has its own {rest[0]}; name the port")
    _among("changeable key", rest[0], (*QUEUE_KEYS, *PORT_PLUGINS))
    if rest[0] in QUEUE_KEYS:
        _refuse_subkey(rest)
        return ChangeableKey("queue", tuple(port.entity for port in chosen), rest[0])
    holders = [port for port in chosen if _plugin(node, port, rest[0]) is not None]
    if not holders:
        raise NotChangeable(f"node {name} has no {rest[0]} there")
    return ChangeableKey(rest[0], tuple(port.entity for port in holders), _last(rest[1:]))


def _in_inputs(name: str, node: Switch, rest: list[str], ports: list[Port]) -> ChangeableKey:
    if node.inputs is None:
        raise NotChangeable(f"node {name} has no inputs")
    _need(rest, ", ".join(("buffer", *PORT_PLUGINS)))
    _among("changeable key", rest[0], ("buffer", *PORT_PLUGINS))
    holders = tuple(port.input for port in ports)
    if rest[0] == "buffer":
        _refuse_subkey(rest)
        return ChangeableKey("queue", holders, "buffer")
    if getattr(node.inputs, rest[0]) is None:
        raise NotChangeable(f"the inputs of {name} have no {rest[0]}")
    return ChangeableKey(rest[0], holders, _last(rest[1:]))


def _in_link(name: str, link: Link, rest: list[str], ways: list[Direction]) -> ChangeableKey:
    lines = _delay_lines(link)
    _need(rest, ", ".join((*LINK_KEYS, *lines)))
    _among("changeable key", rest[0], (*LINK_KEYS, *lines))
    if rest[0] in lines:
        holder = stage_holder(name, lines.index(rest[0]))
        return ChangeableKey("delay_line", (holder,), _last(rest[1:]))
    _refuse_subkey(rest)
    there, back = (way.entity for way in ways)
    holders = {"rate": (there, back), "delay": (there,), "delay_back": (back,)}[rest[0]]
    return ChangeableKey("link", holders, "rate" if rest[0] == "rate" else "delay")


def _delay_lines(link: Link) -> list[str]:
    """The keys of a link's delay line: one, or one for each stage of a list."""
    if not isinstance(link.delay_line, tuple):
        return ["delay_line"]
    return [f"delay_line[{index}]" for index in range(len(link.delay_line))]


def _plugin(node: Switch, port: Port, kind: str) -> Any:
    own = getattr(node.ports.get(port.name, PortTable()), kind)
    return own if own is not None else getattr(node, kind)


def _has_own(node: Switch, port: Port, key: str) -> bool:
    return getattr(node.ports.get(port.name, PortTable()), key) is not None


def _among(what: str, name: str, known: Iterable[str]) -> None:
    names = list(known)
    if name not in names:
        raise NotChangeable(f"{name[:60]!r} is no {what}; {near(name, names)}")


def _need(rest: list[str], what: str) -> None:
    if not rest:
        raise NotChangeable(f"the key goes on: {what}")


def _refuse_subkey(rest: list[str]) -> None:
    if len(rest) > 1:
        raise NotChangeable(f"there is nothing below {rest[0]}")


def _last(rest: list[str]) -> str:
    _need(rest, "a parameter of the plugin")
    _refuse_subkey(rest)
    return rest[0]


def setting(name: str, value: object, where: str, *, bare: bool) -> int:
    """A new value of a queue or a link, in base units. Raises BadInput."""
    kind = SETTINGS[name]
    adapter: TypeAdapter[int] = TypeAdapter(kind)
    try:
        return adapter.validate_python(value, strict=True, context={"bare_numbers": bare})
    except ValidationError as error:
        raise BadInput(where, translate(error, kind, value, where)) from None


def parameter(use: Use, name: str, value: object, where: str, *, bare: bool) -> Use:
    """A use of a plugin with one parameter changed. Raises BadInput at `where`."""
    known = list(type(use.params).model_fields)
    former = former_of(type(use.params))
    if name not in known and name not in former:
        advice = near(name, known, former)
        accepted = f"{use.algorithm.name} has no parameter {name[:60]!r}; {advice}"
        raise BadInput(where, [Problem(f"{where}.set", name[:60], accepted)])
    try:
        params = use.params.changed(name, value, "", bare=bare)
    except BadInput as error:
        problems = [Problem(f"{where}.to", value, found.accepted) for found in error.problems]
        raise BadInput(where, problems) from None
    return Use(use.algorithm, params, use.preset)
