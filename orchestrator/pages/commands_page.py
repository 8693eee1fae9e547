"""Reference page of commands: every command with its help."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import typer

from orchestrator.cli.main import assemble
from orchestrator.cli.target_option_flags import GroupedCommand
from orchestrator.pages.markdown import code, plain, table
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes

OWN_ROOTS = ("orchestrator.", "plugins.", "traffic.", "traces.", "firmware.")
"""Packages whose commands are on the page; other plugins have pages of their own."""

INTRODUCTION = """# Commands

Data goes to stdout, progress and messages go to stderr; `--json` prints what a program may read.
`--help` behind a command says what stands here. The options of `tailback` itself are `--version`,
`--help` and those that install completion in a shell.

## Exit codes

{codes}
"""

CODES = (
    (exit_codes.MET, "done; of a run: all expectations were met, or the plan has none"),
    (exit_codes.MISSED, "some expectations were missed; of a comparison: the runs differ"),
    (
        exit_codes.BAD_INPUT,
        "bad input, or refused by a target; the message names what, where, and why",
    ),
    (
        exit_codes.INVALID,
        "the run is invalid (the machine distorted it), uncertain, stopped before its end, or "
        "failed",
    ),
    (exit_codes.BUG, "a bug in tailback; please report what it printed"),
    (130, "interrupted with Ctrl-C; other signals: 128 and the signal's number"),
)


def page() -> str:
    """The whole page."""
    codes = table(("code", "meaning"), ((code(number), text) for number, text in CODES))
    app = typer.main.get_command(assemble(Registry.load()))
    parts = [INTRODUCTION.format(codes=codes)]
    context = app.make_context("tailback", ["plans"], resilient_parsing=True)
    for path, command in _commands(app, context, ()):
        parts.append(_section(path, command))
    return "\n".join(parts)


def _commands(group: Any, context: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Every command and group of commands of these packages, in the order of the help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if getattr(command, "commands", None) is not None:
            inner = list(_commands(command, context, (*path, name)))
            if inner:
                yield (*path, name), command
                yield from inner
        elif not command.hidden and command.callback.__module__.startswith(OWN_ROOTS):
            yield (*path, name), command


def _section(path: tuple[str, ...], command: Any) -> str:
    name = " ".join(("tailback", *path))
    lines = [f"{'#' * (1 + len(path))} `{name}`\n"]
    lines.append(_prose(command.help or ""))
    if getattr(command, "commands", None) is not None:
        return "\n".join(lines)
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    lines.append(f"```text\n{name} {usage}\n```\n")
    rows = []
    groups = command.groups() if isinstance(command, GroupedCommand) else []
    grouped = {parameter.name for _, parameters in groups for parameter, _ in parameters}
    for parameter in command.get_params(context):
        if parameter.name in grouped:
            continue
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            rows.append((code(record[0]), plain(record[1] or "")))
    if rows:
        lines.append(table(("argument or option", "meaning"), rows))
    for heading, parameters in groups:
        rows = [(code(one.get_help_record(context)[0]), plain(text)) for one, text in parameters]
        lines.append(table((heading, "meaning"), rows))
    return "\n".join(lines)


def _prose(text: str) -> str:
    r"""Help as Markdown: a paragraph marked as not to be wrapped (`\b`) is a block of code."""
    parts = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            body = textwrap.dedent(paragraph.removeprefix("\b\n"))
            parts.append(f"```text\n{body}\n```\n")
        elif paragraph.strip():
            parts.append(plain(paragraph) + "\n")
    return "\n".join(parts)
