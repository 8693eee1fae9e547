"""Plugin catalog of plans, passed as an argument, so that plans do not import the registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import former_names
from orchestrator.plan.algorithm_params import Params
from orchestrator.plan.input_problems import Unknown, join, near, shown, unknown
from orchestrator.plan.plan_tables import Traffic

PORT_PLUGINS = ("congestion_point", "pause")
"""Kinds of plugins that watch a buffer of a switch's port."""
OUTPUT_PLUGINS = (*PORT_PLUGINS, "notification_point", "watchdog")
"""Kinds of plugins that an output of a switch can have."""
SCHEDULER = "scheduler"
"""Kind of the plugins that choose the lane which a port sends from: of switches and NICs."""
FLOW_SCHEDULER = "flow_scheduler"
"""Key of a NIC for a plugin of that kind that chooses among the flows of a lane."""
MANAGEMENT = "buffer_management"
"""Kind of the plugins that limit the buffers of shared memory: of outputs and of inputs."""
ENTRY_KEYS = {field.alias or name for name, field in Traffic.model_fields.items()}
ENTRY_KEYS |= former_names.former_of(Traffic).keys()
"""Keys of a traffic entry that are the plan's; all others are its plugin's."""


class Algorithm(Protocol):
    """The part of an algorithm that plans use."""

    @property
    def name(self) -> str: ...

    @property
    def params(self) -> type[Params]: ...


class Catalog(Protocol):
    """Finds algorithms by kind (congestion_point, reaction_point, ...) and name."""

    def find(self, kind: str, name: str) -> Any:
        """An `Algorithm`. Raises LookupError, whose `known`, if it has one, lists the names."""


@dataclass(frozen=True)
class Use:
    """An algorithm with the parameters it has at one place of a plan."""

    algorithm: Any
    params: Params
    preset: str | None = None

    def to_table(self) -> dict[str, Any]:
        """As a plan writes it, every parameter spelled out; the preset stays as a name."""
        preset = {"preset": self.preset} if self.preset is not None else {}
        return {"plugin": self.algorithm.name, **preset, **self.params.to_table()}


def tables(data: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Kind, key path and content of every plugin's table in a plan's data, however broken.

    A traffic entry is one table with its plugin; the plan's own keys are left out.
    """
    for name, node in _items(data, "nodes"):
        for kind in ("reaction_point", *OUTPUT_PLUGINS, "receiver", SCHEDULER, MANAGEMENT):
            if isinstance(node.get(kind), dict):
                yield kind, f"nodes.{name}.{kind}", node[kind]
        if isinstance(node.get(FLOW_SCHEDULER), dict):
            yield SCHEDULER, f"nodes.{name}.{FLOW_SCHEDULER}", node[FLOW_SCHEDULER]
        inputs = node.get("inputs")
        for kind in (*PORT_PLUGINS, MANAGEMENT):
            if isinstance(inputs, dict) and isinstance(inputs.get(kind), dict):
                yield kind, f"nodes.{name}.inputs.{kind}", inputs[kind]
        for port, table in _items(node, "ports"):
            for kind in (*OUTPUT_PLUGINS, SCHEDULER, MANAGEMENT):
                if isinstance(table.get(kind), dict):
                    yield kind, f"nodes.{name}.ports.{port}.{kind}", table[kind]
    for name, link in _items(data, "links"):
        line = link.get("delay_line", {"plugin": "fixed-delay"})
        if isinstance(line, dict):
            yield "delay_line", f"links.{name}.delay_line", line
        for index, table in enumerate(line if isinstance(line, list | tuple) else ()):
            if isinstance(table, dict):
                yield "delay_line", f"links.{name}.delay_line[{index}]", table
    for name, entry in _items(data, "traffic"):
        own = ("plugin", "preset")
        yield (
            "traffic",
            f"traffic.{name}",
            {key: entry[key] for key in entry if key in own or key not in ENTRY_KEYS},
        )
        if isinstance(entry.get("transport"), dict):
            yield "transport", f"traffic.{name}.transport", entry["transport"]


def _items(data: Any, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    found = data.get(key)
    for name, table in found.items() if isinstance(found, dict) else ():
        if isinstance(table, dict):
            yield name, table


def look_up(catalog: Catalog, kind: str, where: str, table: dict[str, Any], *, bare: bool) -> Use:
    """The algorithm that a table names, with its parameters. Raises BadInput."""
    name, preset = table.get("plugin"), table.get("preset")
    if not isinstance(name, str):
        problem = Problem(join(where, "plugin"), shown(name), f"the name of a {kind} is expected")
        raise BadInput(where, [problem])
    try:
        algorithm: Algorithm = catalog.find(kind, name)
    except LookupError as error:
        known = getattr(error, "known", ())
        raise BadInput(where, [unknown(join(where, "plugin"), kind, name, known)]) from None
    if algorithm.name != name:
        former_names.note(kind, name, algorithm.name)
    own = ENTRY_KEYS if kind == "traffic" else {"plugin", "preset"}
    try:
        return Use(algorithm, algorithm.params.from_table(table, where, bare=bare), preset)
    except BadInput as error:
        problems = [_wider(problem, where, own, algorithm.params) for problem in error.problems]
        raise BadInput(where, problems) from None


def _wider(problem: Problem, where: str, own: set[str], params: type[Params]) -> Problem:
    """An unknown key may be a slip of one of the plan's own keys beside the parameters."""
    key = problem.where[len(where) + 1 :]
    if not isinstance(problem, Unknown) or key == "preset":
        return problem
    former = former_names.former_of(Traffic) | former_names.former_of(params)
    known = (own - former_names.former_of(Traffic).keys()) | set(params.model_fields)
    return Unknown(problem.where, problem.value, near(key, known, former))
