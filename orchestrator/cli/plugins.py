"""`tailback plugins`: lists the loaded algorithms, their origin and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.errors import BadInput
from orchestrator.plan.input_problems import unknown
from orchestrator.registry import Registry
from orchestrator.target import fitting
from orchestrator.terminal import exit_codes, format_output

if TYPE_CHECKING:
    from orchestrator.algorithm import Algorithm


def complete_name(incomplete: str) -> list[tuple[str, str]]:
    """For the shell: the plugins whose names begin like this, each with its summary."""
    found = Registry.load().algorithms
    return [(a.name, a.summary) for a in found if a.name.startswith(incomplete)]


def describe(algorithm: Algorithm) -> dict[str, Any]:
    """An algorithm as plain values."""
    return {
        "name": algorithm.name,
        "kind": algorithm.kind,
        "summary": algorithm.summary,
        "origin": algorithm.origin,
        "targets": fitting(algorithm, Registry.load().targets),
        "parameters": [
            {
                "name": field.name,
                "unit": field.unit,
                "default": field.default_text,
                "bounds": field.bounds,
                "help": field.help,
            }
            for field in algorithm.params.describe()
        ],
        "presets": {name: dict(values) for name, values in algorithm.params.presets.items()},
    }


def _parameter(p: dict[str, Any]) -> str:
    """A parameter and its default; one that must be given stands alone."""
    return p["name"] if p["default"] is None else f"{p['name']}={p['default']}"


def _show_all(found: list[dict[str, Any]]) -> None:
    rows = [
        [
            a["kind"].replace("_", " "),
            a["name"],
            " ".join(_parameter(p) for p in a["parameters"]),
            " ".join(a["presets"]),
            " ".join(a["targets"]),
            a["origin"],
        ]
        for a in found
    ]
    columns = ("kind", "plugin", "parameters and defaults", "presets", "targets", "from")
    format_output.console().print(format_output.table(columns, rows))
    print("`tailback plugins NAME` tells more of one: units, bounds, what each parameter does.")


def _show_algorithm(a: dict[str, Any]) -> None:
    out = format_output.console()
    print(f"{a['name']}: {a['summary']}")
    print(f"kind     {a['kind'].replace('_', ' ')}")
    print(f"targets  {' '.join(a['targets'])}")
    print(f"from     {a['origin']}")
    columns = ("parameter", "default", "unit", "bounds", "what it does")
    keys = ("name", "default", "unit", "bounds", "help")
    if a["parameters"]:
        rows = [["required" if p[k] is None else p[k] for k in keys] for p in a["parameters"]]
        out.print(format_output.table(columns, rows))
    for name, values in a["presets"].items():
        changes = ", ".join(f"{key} = {value}" for key, value in values.items())
        print(f"preset {name}: {changes or 'the defaults'}")


def plugins(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Name of the plugin to describe.", autocompletion=complete_name
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the plugins, or describe one.

    Of each: its kind, parameters with units and defaults, presets, targets, where it comes from.

    A plugin that cannot be loaded is named on stderr; the others work without it.

    \b
      tailback plugins
      tailback plugins qcn-cp
      tailback plugins --json
    """
    registry = Registry.load()
    found = [describe(a) for a in registry.algorithms if name in (None, a.name)]
    if name is not None and not found:
        names = (algorithm.name for algorithm in registry.algorithms)
        raise BadInput("tailback plugins", [unknown("NAME", "plugin", name, names)])
    _ = registry.targets, registry.plans()  # so that their problems are known
    for problem in registry.problems:
        exit_codes.say(problem)
    if as_json:
        format_output.print_json({"plugins": found, "problems": registry.problems})
    elif name is not None:
        for algorithm in found:
            _show_algorithm(algorithm)
    else:
        _show_all(found)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(plugins)
