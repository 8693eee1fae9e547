"""Table of the core's commands and their modules; only the named command's module is imported."""

from __future__ import annotations

from importlib import import_module

import typer

COMMANDS = {
    "run": "run",
    "sweep": "sweep",
    "mutate": "mutate",
    "papers": "papers",
    "explain": "explain",
    "console": "console",
    "plans": "plans",
    "plugins": "plugins",
    "headroom": "headroom",
    "network": "network",
    "hunt": "hunt",
    "doctor": "doctor",
    "calibrate": "calibrate",
    "storm": "storm",
    "clean": "clean",
    "freeze": "freeze",
    "lab": "lab",
    "agent": "agent",
    "release": "agent",
    "controller": "controller",
    "machines": "controller",
    "fetch": "remote",
    "keys": "keys",
}
"""Command -> module of this package, in the order of the help."""
TELL_OF_PLUGINS = frozenset({"plugins", "doctor"})
"""Commands that report errors of plugins, and so load all of them."""


def register(app: typer.Typer, word: str) -> None:
    """Add the command of this name, and those that its module has beside it."""
    import_module(f"orchestrator.cli.{COMMANDS[word]}").register(app)


def register_all(app: typer.Typer) -> None:
    """Add all of them."""
    for module in dict.fromkeys(COMMANDS.values()):
        import_module(f"orchestrator.cli.{module}").register(app)
