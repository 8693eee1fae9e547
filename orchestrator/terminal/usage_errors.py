"""Usage errors in the form of all other errors: problem, accepted values, remedy.

typer says such things in its parser's and pydantic's words ("Input should be a valid integer,
unable to parse string as an integer"), after a line of usage.
"""

from __future__ import annotations

import re
from typing import Any

import typer

from orchestrator.errors import Problem
from orchestrator.plan.input_problems import Missing, shown, unknown

UsageError: Any = typer.BadParameter.__mro__[1]
"""What typer raises; it gives it no name of its own."""
NO_COMMAND = re.compile(r"No such command '(.*?)'", re.DOTALL)
TOO_MANY = re.compile(r"[Gg]ot unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)


def usage_message(error: Any) -> str:
    """Usage error as text: the problem, the accepted values, and the command that lists them."""
    context = error.ctx
    if context is None:
        return str(_problem(error, {}))
    problem = _problem(error, getattr(context.command, "commands", {}))
    more = f"`{context.command_path} {context.help_option_names[0]}` tells what it takes"
    return f"{problem}\n  {more}"


def _problem(error: Any, commands: dict[str, Any]) -> Problem | str:
    name = getattr(error, "option_name", "")
    param = getattr(error, "param", None)
    message = str(error.format_message())
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return unknown("command line", "option", name, _options(error.ctx))
    if kind == "BadOptionUsage":
        takes = "does not take" in message
        return Missing(name, None, "a value is expected") if not takes else f"{name} takes no value"
    if kind == "MissingParameter" and param is not None:
        return Missing(_called(param), None, getattr(param, "help", "") or "it is required")
    if kind == "BadParameter" and param is not None:
        return _value(error, param)
    if match := NO_COMMAND.search(message):
        return unknown("command line", "command", match[1], commands)
    if match := TOO_MANY.search(message):
        return f"command line: {match[1]!r} is more than it takes"
    return message[:1].lower() + message[1:]


def _value(error: Any, param: Any) -> Problem | str:
    """A value that was not understood; pydantic knows what it was."""
    found = getattr(error.__cause__, "errors", None)
    if found is None:
        return f"{_called(param)}: {error.message[:1].lower()}{error.message[1:]}"
    from orchestrator.plan.pydantic_errors import accepted

    item = found(include_url=False)[0]
    return Problem(_called(param), shown(item["input"]), accepted(item))


def _called(param: Any) -> str:
    """The name of an option or argument as people write it."""
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name).strip("[]{}.")


def _options(context: Any) -> list[str]:
    every = context.command.get_params(context) if context is not None else []
    names = (name for param in every for name in (*param.opts, *param.secondary_opts))
    return [name for name in names if name.startswith("-")]
