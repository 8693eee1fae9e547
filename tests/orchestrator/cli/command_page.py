"""A command module beside the generated page: its help, arguments, options and their bounds."""

from __future__ import annotations

import functools
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from orchestrator.cli.main import assemble
from orchestrator.pages import commands_page
from orchestrator.registry import Registry

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "commands.md"


@functools.cache
def _sections() -> list[tuple[str, Any, str]]:
    """(words, command, section of the page as the code has it) of every command."""
    app: Any = typer.main.get_command(assemble(Registry.load()))
    context = app.make_context("tailback", ["plans"], resilient_parsing=True)
    return [
        (" ".join(path), command, commands_page._section(path, command))
        for path, command in commands_page._commands(app, context, ())
    ]


def check_commands(module: ModuleType) -> list[str]:
    """Compare the commands that a module has with the page; returns their words."""
    page = PAGE.read_text(encoding="utf-8")
    found = []
    for words, command, section in _sections():
        callback = getattr(command, "callback", None)
        if getattr(callback, "__module__", "") == module.__name__:
            assert section in page, f"the page has another text of `tailback {words}`"
            found.append(words)
    return found
