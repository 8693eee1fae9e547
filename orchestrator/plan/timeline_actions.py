"""Timeline actions: the integers that each step sets, at which time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.engine.records import (
    OF_ACK,
    OF_CNM,
    OF_DATA,
    WRONG_ICRC,
    WRONG_IPV4,
    WRONG_UDP,
)
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import entity_names
from orchestrator.plan.changeable_keys import ChangeableKey, locate, parameter, setting
from orchestrator.plan.former_names import former_of, note
from orchestrator.plan.injections import injected_direction
from orchestrator.plan.plan_checks import by_link, by_node
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.timeline_tables import FAULTS, INJECTIONS, Step
from orchestrator.plan.units import format_duration, format_rate, format_size

Uses = dict[str, dict[str, Use]]
"""Kind of plugin -> holder -> use; see ResolvedPlan."""

_TEXT = {
    "service_rate": format_rate,
    "rate": format_rate,
    "buffer": format_size,
    "delay": format_duration,
}


INJECTION = "injection"
"""Kind of the actions that inject a fault into single frames."""


@dataclass(frozen=True)
class Action:
    """One thing that happens during the run.

    `verb` "set": each of `entities` (ports, limiters, link directions, flows, named as in
    results) gets `values`: with `kind` "queue" service_rate or buffer, with "link" rate or delay,
    all in base units; with a kind of plugin, fields of the record of its parameters.
    "start", "stop": `entities` are flows. "cut", "mend": both directions of a link. "pause",
    "resume": a port.
    Kind "fault", the verbs of schedule.FAULTS: nothing in the plan's own world changes; a
    controller has them brought about. "delay_control" has the value `delay` (ps).
    Kind "injection", the verbs of timeline_tables.INJECTIONS: `entities` is the link direction
    whose sender acts, `key` the flow; `values` are packet (from 1), packets, of (records.OF_*),
    delay (ps), and damage (records.WRONG_*) where one field alone is corrupted.
    """

    at: int
    verb: str
    kind: str
    entities: tuple[str, ...]
    values: dict[str, int]
    key: str
    """As the plan has it: the dotted key, the traffic or the link."""
    to: Any = None
    """The new value as a plan writes it; None for the other verbs."""


def injections_at(actions: Iterable[Action]) -> dict[str, list[Action]]:
    """Link direction -> the injections into frames that its sender sends, in order of time."""
    found: dict[str, list[Action]] = {}
    for action in actions:
        if action.kind == INJECTION:
            for entity in action.entities:
                found.setdefault(entity, []).append(action)
    return found


def injected_frames(action: Action) -> dict[str, str | int]:
    """The frames that an injection names, for the events of a run; empty for other actions."""
    if action.kind != INJECTION:
        return {}
    return {
        "link": action.entities[0],
        "packet": action.values["packet"],
        "packets": action.values["packets"],
    }


def actions_of(plan: PlanModel, uses: Uses, *, bare: bool) -> tuple[list[Action], list[Problem]]:
    """The timeline in the order of the plan, and every step that cannot be done.

    Steps are checked in order of time, each against what the parameters are by then.
    """
    book = _Book(plan, {kind: dict(holders) for kind, holders in uses.items()}, bare)
    actions: dict[int, Action] = {}
    problems: list[Problem] = []
    for index in sorted(range(len(plan.timeline)), key=lambda index: plan.timeline[index].at):
        try:
            action = book.action(plan.timeline[index], f"timeline[{index}]")
            if action is not None:
                actions[index] = action
        except BadInput as error:
            problems += error.problems
    return [actions[index] for index in sorted(actions)], problems


class _Book:
    """Keeps what the parameters are while the timeline goes on."""

    def __init__(self, plan: PlanModel, uses: Uses, bare: bool) -> None:
        self.plan, self.uses, self.bare = plan, uses, bare
        self.ports, self.ways = by_node(plan), by_link(plan)
        self.limiters = entity_names.limiters(plan)
        self.flows: dict[str, list[str]] = defaultdict(list)
        for flow in entity_names.flows(plan):
            self.flows[flow.entry].append(flow.entity)

    def action(self, step: Step, where: str) -> Action | None:
        """Action of a step; None when its plugin has problems of its own. Raises BadInput."""
        if step.set is not None:
            return self._set(step, step.set, where)
        key = getattr(step, step.verb)
        if step.verb in INJECTIONS:
            return _injection(self.plan, step)
        if step.verb in FAULTS:
            return _fault(step, f"{where}.to", bare=self.bare)
        if step.verb in ("start", "stop"):
            flows = self.flows[key] if key in self.plan.traffic else [key]
            return Action(step.at, step.verb, "flow", tuple(flows), {}, key)
        if step.verb in ("pause", "resume"):
            return Action(step.at, step.verb, "port", (key,), {}, key)
        ways = tuple(way.entity for way in self.ways[key])
        return Action(step.at, step.verb, "link", ways, {}, key)

    def _set(self, step: Step, key: str, where: str) -> Action | None:
        place = locate(self.plan, key, self.ports, self.ways)
        if place.kind in ("queue", "link"):
            value = setting(key.rpartition(".")[2], step.to, f"{where}.to", bare=self.bare)
            text = _TEXT[place.name](value)
            values = {place.name: value}
            return Action(step.at, "set", place.kind, place.holders, values, key, text)
        if any(holder not in self.uses[place.kind] for holder in place.holders):
            return None
        changed = self._change(place, step.to, where)
        if place.name in (former := former_of(type(changed.params))):
            current = former[place.name]
            note(f"{changed.algorithm.name}: parameter", place.name, current)
            place, key = replace(place, name=current), f"{key.rpartition('.')[0]}.{current}"
        fields = changed.params.record_fields(place.name)
        values = dict(zip(fields, changed.params.record_values(place.name), strict=True))
        entities = tuple(name for holder in place.holders for name in self._at(place.kind, holder))
        to = changed.params.to_table()[place.name]
        return Action(step.at, "set", place.kind, entities, values, key, to)

    def _change(self, place: ChangeableKey, value: object, where: str) -> Use:
        """Changes the parameter for every holder; those that share one use share the new one."""
        holders = self.uses[place.kind]
        new: dict[int, Use] = {}
        for holder in place.holders:
            old = holders[holder]
            if id(old) not in new:
                new[id(old)] = parameter(old, place.name, value, where, bare=self.bare)
            holders[holder] = new[id(old)]
        return holders[place.holders[0]]

    def _at(self, kind: str, holder: str) -> list[str]:
        """The entities that a holder of a plugin stands for."""
        if kind == "reaction_point":
            return self.limiters[holder]
        if kind == "delay_line":
            link = entity_names.link_of(holder)
            index = entity_names.stage_index(holder)
            if not isinstance(self.plan.links[link].delay_line, tuple):
                return [way.entity for way in self.ways[link]]
            return [way.stage(index) for way in self.ways[link]]
        return self.flows[holder] if kind == "traffic" else [holder]


_OF = {"data": OF_DATA, "ack": OF_ACK, "cnm": OF_CNM}
_WRONG = {"ipv4_checksum": WRONG_IPV4, "udp_checksum": WRONG_UDP, "icrc": WRONG_ICRC}


def _injection(plan: PlanModel, step: Step) -> Action:
    """A fault that is injected into single frames of a flow."""
    way = injected_direction(plan, step)
    assert way is not None  # `injection_problems`
    values = {
        "packet": step.packet or 1,
        "packets": step.packets or 1,
        "of": _OF[step.of or "data"],
        "delay": step.by or 0,
    }
    if step.field is not None:
        values["damage"] = _WRONG[step.field]
    return Action(step.at, step.verb, INJECTION, (way.entity,), values, getattr(step, step.verb))


def _fault(step: Step, where: str, *, bare: bool) -> Action:
    """A failure of the testbed. Raises BadInput for a delay that is none."""
    key = getattr(step, step.verb)
    if step.to is None:
        return Action(step.at, step.verb, "fault", (), {}, key)
    delay = setting("delay", step.to, where, bare=bare)
    return Action(step.at, step.verb, "fault", (), {"delay": delay}, key, format_duration(delay))
