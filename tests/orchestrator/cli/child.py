"""A `tailback` with commands that fail in every way; run as a script by test_main.py."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import typer

from orchestrator.cli import __main__
from orchestrator.errors import BadInput, Problem, RunFailed
from orchestrator.registry import Registry
from orchestrator.run.run_folder import RunFolder
from orchestrator.terminal import exit_codes, format_output

ERRORS = {
    "bad": BadInput("plan.toml", [Problem("seed", -1, "an integer from 0")]),
    "failed": RunFailed("software: the data path stopped"),
    "os": PermissionError(13, "Permission denied", "/some/file"),
    "bug": KeyError("no such thing"),
    "interrupt": KeyboardInterrupt(),
    "exit": typer.Exit(exit_codes.MISSED),
}


def fail(how: str) -> None:
    """Raise an error of this kind."""
    raise ERRORS[how]


def wait(base: Path) -> None:
    """Open a run folder and stay in it."""
    with RunFolder.open(base, "plan"):
        print("begun", flush=True)
        time.sleep(60)


def chatter() -> None:
    """Print more than a pipe holds."""
    for number in range(100_000):
        print(number)


def tables() -> None:
    """Likewise, as tables are printed."""
    out = format_output.console()
    for number in range(20_000):
        out.print(number)


def contribute(app: typer.Typer) -> None:
    """A plugin's `tailback_commands`."""
    for command in (fail, wait, chatter, tables):
        app.command()(command)


if __name__ == "__main__":
    real = Registry([])
    real.manager.register(SimpleNamespace(tailback_commands=contribute), "good")
    real.manager.register(SimpleNamespace(tailback_commands=lambda app: 1 / 0), "broken")
    Registry.load = classmethod(lambda cls: real)  # type: ignore[method-assign,assignment]
    __main__.main()
