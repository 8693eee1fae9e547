"""`tailback freeze`: records the expectations of a plan, with the time, before it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import batch_options as shared
from orchestrator.cli import plans as shipped
from orchestrator.registry import Registry
from orchestrator.terminal import format_output


def freeze(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="A shipped plan by name, or a TOML file.",
            autocompletion=shipped.complete,
        ),
    ],
    changes: shared.Changes = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A new file; default: NAME.frozen.json here."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Record a plan's expectations, with the time, before it is run.

    `tailback run --frozen FILE` writes the digest and the time into the run's manifest and its
    report, and lists later changes of the plan. To prove the time, publish the digest or give it
    to others.

    \b
      tailback freeze mine.toml
      tailback run mine.toml --frozen mine.frozen.json

    \b
    Exit codes: 0 frozen, 2 bad input, or a plan that expects nothing.
    """
    from orchestrator.run.frozen_expectations import write_frozen
    from orchestrator.terminal.plan_loading import load_plan

    resolved = load_plan(plan, changes or []).check(Registry.load()).plan
    frozen = write_frozen(resolved, out or Path(f"{resolved.name}.frozen.json"))
    if as_json:
        summary = {"file": frozen.source, "at": frozen.at, "expectations": frozen.digest}
        format_output.print_json(summary)
        return
    print(f"file       {frozen.source}\nat         {frozen.at}")
    print(f"expects    {len(resolved.expect)}, sha256 {frozen.digest}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(freeze)
