"""Editable parameters of a plan: key, value, unit, bounds, live or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic.fields import FieldInfo

from orchestrator.plan import ResolvedPlan, Switch
from orchestrator.plan.algorithm_params import describe_field
from orchestrator.plan.changeable_keys import SETTINGS, NotChangeable, locate
from orchestrator.plan.field_types import FrameSize, Instant, SampleInterval
from orchestrator.plan.plan_checks import by_link, by_node
from orchestrator.plan.target_options import KEY, Models


@dataclass(frozen=True)
class Parameter:
    """Value of a plan. `live`: a running run accepts changes."""

    key: str
    value: str
    unit: str
    bounds: str
    help: str
    live: bool


_FIXED: dict[str, tuple[Any, str]] = {
    "duration": (Instant, "how long the run lasts"),
    "sample_interval": (SampleInterval, "time between two rows of samples"),
}
_HELP = {
    "service_rate": "what the port's queue is served with",
    "buffer": "octets that the queue holds",
    "rate": "of the link, each way",
    "delay": "of the link, from its first end to its second",
    "delay_back": "of the link, the other way",
}


def parameters(resolved: ResolvedPlan, at_ps: int = -1) -> list[Parameter]:
    """All that can be edited, in the order of the plan; live ones first.

    Values are those at a moment of the run, `at_ps`; -1: those it begins with.
    """
    changed = {a.key: a.to for a in resolved.actions if a.verb == "set" and a.at <= at_ps}
    found = [
        replace(p, value=_text(changed[p.key])) if p.key in changed else p for p in _all(resolved)
    ]
    return [p for p in found if p.live] + [p for p in found if not p.live]


def _all(resolved: ResolvedPlan) -> Iterator[Parameter]:
    plan = resolved.plan
    table = plan.to_table()
    ports, ways = by_node(plan), by_link(plan)

    def live(key: str) -> bool:
        try:
            locate(plan, key, ports, ways)
        except NotChangeable:
            return False
        return True

    yield Parameter("seed", str(table["seed"]), "int", ">= 0", "of all random numbers", False)
    for key, (kind, help_text) in _FIXED.items():
        yield _setting(key, table[key], kind, help_text, False)
    for name, node in plan.nodes.items():
        where = f"nodes.{name}"
        own = table["nodes"][name]
        if isinstance(node, Switch):
            lines = {plan.links[port.link].rate for port in ports.get(name, [])}
            for key in ("service_rate", "buffer"):
                value = own.get(key, "as the link" if lines else None)
                if value is not None:
                    path = f"{where}.{key}"
                    yield _setting(path, value, SETTINGS[key], _HELP[key], live(path))
    for name in plan.links:
        for key in ("rate", "delay", "delay_back"):
            path = f"links.{name}.{key}"
            yield _setting(path, table["links"][name][key], SETTINGS[key], _HELP[key], live(path))
    for path, value, use in _plugins(resolved, table):
        for info in use.algorithm.params.describe():
            key = f"{path}.{info.name}"
            shown = _text(value.get(info.name))
            yield Parameter(key, shown, _unit(info.unit), info.bounds, info.help, live(key))
    for name in plan.traffic:
        path = f"traffic.{name}.frame"
        help_text = "octets of a frame"
        yield _setting(path, table["traffic"][name]["frame"], FrameSize, help_text, False)


def target_parameters(resolved: ResolvedPlan, models: Models) -> list[Parameter]:
    """Options of the plan's target, with the values that the plan gives them."""
    target = resolved.plan.target
    given = resolved.options.to_table()
    return [
        Parameter(
            f"{KEY}.{target}.{option.key}",
            _text(given.get(option.key)),
            option.metavar or "true or false",
            f"default {option.default_text or 'none'}",
            option.help,
            False,
        )
        for option in (models[target].describe() if target in models else ())
    ]


def _plugins(
    resolved: ResolvedPlan, table: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """(path, table, use) of every plugin, each table once."""
    plan = resolved.plan
    for name, node in table["nodes"].items():
        for kind in ("reaction_point", "congestion_point", "pause"):
            if kind in node:
                holders = [name, *(port.entity for port in plan.ports() if port.node == name)]
                own = [h for h in holders if h in resolved.uses[kind]]
                if own:
                    yield f"nodes.{name}.{kind}", node[kind], resolved.uses[kind][own[0]]
            inside = node.get("inputs", {})
            if kind in inside:
                inputs = [port.input for port in plan.ports() if port.node == name]
                use = resolved.uses[kind][inputs[0]]
                yield f"nodes.{name}.inputs.{kind}", inside[kind], use
        for port, own_table in node.get("ports", {}).items():
            for kind in ("congestion_point", "pause"):
                if kind in own_table:
                    use = resolved.uses[kind][f"{name}.{port}"]
                    yield f"nodes.{name}.ports.{port}.{kind}", own_table[kind], use
    for name, entry in table["traffic"].items():
        yield f"traffic.{name}", entry, resolved.uses["traffic"][name]


def _setting(key: str, value: Any, kind: Any, help_text: str, live: bool) -> Parameter:
    info = describe_field(key, FieldInfo.from_annotation(kind))
    return Parameter(key, _text(value), _unit(info.unit), info.bounds, help_text, live)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "–" if value is None else str(value)


def _unit(unit: str) -> str:
    """The unit as it is typed: times are stored in ps and typed in other units."""
    return "s" if unit == "ps" else unit
