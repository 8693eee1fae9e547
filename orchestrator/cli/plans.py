"""`tailback plans`: lists the shipped plans and prints their text."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.errors import BadInput
from orchestrator.plan.input_problems import unknown
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes, format_output

FILE = ".toml"


def named(name: str) -> Path:
    """The file of a shipped plan. Raises BadInput with names that come near."""
    shipped = Registry.load().plans()
    if name not in shipped:
        raise BadInput("tailback plans", [unknown("NAME", "shipped plan", name, shipped)])
    return Path(shipped[name])


def complete(incomplete: str) -> list[str]:
    """For the shell: shipped plans, folders and TOML files that begin like this."""
    names = [name for name in sorted(Registry.load().plans()) if name.startswith(incomplete)]
    above, begun = os.path.split(incomplete)
    for path in sorted(Path(above).glob(f"{begun}*")):
        if path.suffix == FILE and not path.name.startswith("."):
            names.append(os.path.join(above, path.name))
        elif path.is_dir() and not path.name.startswith("."):
            names.append(os.path.join(above, path.name, ""))
    return names


def complete_name(incomplete: str) -> list[str]:
    """For the shell: shipped plans that begin like this."""
    return [name for name in sorted(Registry.load().plans()) if name.startswith(incomplete)]


def _summary(name: str, path: Path) -> dict[str, Any]:
    from orchestrator.plan.plan import composed

    plan = composed(path, Registry.load())[1]
    kept = {key: plan.get(key) for key in ("title", "paper", "duration", "target")}
    return {"name": name, **kept, "path": str(path)}


def _summaries() -> list[dict[str, Any]]:
    """Summaries of all plans but those that cannot be read, which are named on stderr."""
    found = []
    for name, path in sorted(Registry.load().plans().items()):
        try:
            found.append(_summary(name, Path(path)))
        except BadInput as error:
            exit_codes.say(f"plan {name} is left out: {error}")
    return found


def plans(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Print this plan.", autocompletion=complete_name),
    ] = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print it whole: bases, ranges, defaults.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print a JSON Schema of plans, for editors.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the shipped plans, or print one.

    \b
    A plan of your own begins as a copy of one, or on top of one:
      tailback plans quickstart > mine.toml
      printf 'base = "quickstart"\\nname = "mine"\\n' > mine.toml
      tailback run mine.toml
    """
    if schema:
        from orchestrator.plan.json_schema import plan_schema

        format_output.print_json(plan_schema())
        return
    if resolved:
        _print_resolved(name, as_json)
        return
    if name is not None:
        text = named(name).read_text(encoding="utf-8")
        if as_json:
            format_output.print_json(tomllib.loads(text))
        else:
            print(text, end="")
        return
    found = _summaries()
    if as_json:
        format_output.print_json(found)
        return
    rows = [[p["name"], p["title"] or "", p["duration"] or "", p["paper"] or ""] for p in found]
    listed = format_output.table(("plan", "title", "lasts", "paper"), rows)
    format_output.console(piped_width=format_output.LINE_PER_ROW).print(listed)


def _print_resolved(name: str | None, as_json: bool) -> None:
    """The plan as a run folder keeps it. A file will do as well as a name."""
    from orchestrator.plan import Plan
    from orchestrator.terminal.plan_loading import locate

    if name is None:
        raise BadInput("tailback plans", "--resolved needs the NAME of a plan")
    registry = Registry.load()
    plan = Plan.load(locate(name, registry.plans()), registry).check(registry).plan
    if as_json:
        format_output.print_json(plan.to_table())
    else:
        print(plan.to_toml(), end="")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(plans)
