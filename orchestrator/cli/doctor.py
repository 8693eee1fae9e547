"""`tailback doctor`: capabilities of this machine, missing ones, and the command that adds each."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from orchestrator.registry import Registry
from orchestrator.terminal import format_output

MEASURE_S = 1.0
COLOURS = {"ok": "green", "note": "yellow", "missing": "red"}


def doctor(
    measure: Annotated[
        bool, typer.Option("--measure", help="Also measure wake-up lateness, for two seconds.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Report this machine's capabilities, and the command that adds each missing one.

    It changes nothing. The exit code is always 0.
    """
    from orchestrator.run import machine_diagnosis

    findings = machine_diagnosis.diagnose(Registry.load(), MEASURE_S if measure else 0.0)
    if as_json:
        format_output.print_json([dataclasses.asdict(finding) for finding in findings])
        return
    from rich.text import Text

    rows = [
        [
            Text(finding.status, COLOURS[finding.status]),
            finding.what,
            "\n".join(part for part in (finding.found, finding.remedy) if part),
        ]
        for finding in findings
    ]
    format_output.console().print(format_output.table(("", "what", "found, and what to do"), rows))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)
