"""Options of targets on the command line, from the models that targets contribute.

An option that several targets have is one option here, and `--help` shows it in the group of each.
Values are texts until the target's model reads them, so that a mistake is the same sentence on the
command line, in a plan and in Python.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from orchestrator.plan.target_options import Option, check_values, options_of
from orchestrator.registry import Registry

PREFIX = "target_option_"
"""Of the names of parameters: an option may be called as a keyword of Python, such as `as`."""


def options_by_key() -> dict[str, list[Option]]:
    """Every option of the targets, with what each target says of it."""
    found: dict[str, list[Option]] = {}
    for option in options_of(Registry.load().target_options):
        found.setdefault(option.key, []).append(option)
    return found


def panel(target: str) -> str:
    """Heading of a target's options in `--help`."""
    return f"Options of target {target}"


def with_target_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of every target; it gets those that are given as `options`."""
    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        if name != "options"
    ]
    taken = set(_flags(own))
    added = {}
    for key, options in options_by_key().items():
        if options[0].flag in taken:
            for option in options:
                Registry.load().problems.append(
                    f"the option {option.flag} of target {option.target} is not on this command "
                    f"line, which has one of that name; --set targets.{option.target}.{key}=VALUE "
                    "sets it"
                )
        else:
            added[PREFIX + key] = _parameter(key, options)

    @functools.wraps(command)
    def with_options(**arguments: Any) -> None:
        given = {
            name.removeprefix(PREFIX): value
            for name in added
            if (value := arguments.pop(name)) is not None
        }
        command(**arguments, options=given)

    del with_options.__wrapped__
    every = [*own, *added.values()]
    with_options.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in every}
    return with_options


def _flags(parameters: Sequence[inspect.Parameter]) -> Iterator[str]:
    for parameter in parameters:
        yield f"--{parameter.name.replace('_', '-')}"
        for mark in getattr(parameter.annotation, "__metadata__", ()):
            declared = (getattr(mark, "default", None), *(getattr(mark, "param_decls", None) or ()))
            yield from (
                flag for text in declared if isinstance(text, str) for flag in text.split("/")
            )


def _parameter(key: str, options: Sequence[Option]) -> inspect.Parameter:
    """Parameter of typer for an option; its value is text, or true where no target has a value."""
    first = options[0]
    is_flag = not any(option.metavar for option in options)
    kind: Any = bool if is_flag else list[str] if any(o.many for o in options) else str
    flag = first.flag
    if is_flag and any(option.default for option in options):
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    choices = list(dict.fromkeys(choice for option in options for choice in option.choices))

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    described: Any = typer.Option(
        flag,
        metavar=None if is_flag else next(option.metavar for option in options if option.metavar),
        help=_help(options),
        autocompletion=complete if choices else None,
        rich_help_panel=panel(first.target),
    )
    return inspect.Parameter(
        PREFIX + key,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, described],
    )


def _help(options: Sequence[Option]) -> str:
    """Each target's text behind the target's name."""
    return " ".join(f"{option.target.capitalize()}: {_text(option)}" for option in options)


def _text(option: Option) -> str:
    """What one target says of its option, with its default and its bounds."""
    default = f"Default: {option.default_text}." if option.default_text else ""
    bounds = f"[{option.bounds}]" if option.bounds else ""
    return " ".join(filter(None, (option.help, default, bounds)))


class GroupedCommand(TyperCommand):
    """A command whose `--help` has a group of options for each target."""

    def groups(self) -> list[tuple[str, list[tuple[Any, str]]]]:
        """(heading, (parameter, text) of each) of every target that has options here."""
        added = {one.name: one for one in self.params if str(one.name).startswith(PREFIX)}
        found: dict[str, list[tuple[Any, str]]] = {}
        for option in options_of(Registry.load().target_options):
            if (parameter := added.get(PREFIX + option.key)) is not None:
                found.setdefault(panel(option.target), []).append((parameter, _text(option)))
        return list(found.items())

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options that every target has, then those of each target."""
        every = self.params
        self.params = [one for one in every if not str(one.name).startswith(PREFIX)]
        try:
            super().format_options(ctx, formatter)
        finally:
            self.params = every
        for heading, parameters in self.groups():
            with formatter.section(heading):
                formatter.write_dl(
                    [(parameter.get_help_record(ctx)[0], text) for parameter, text in parameters]
                )


def flags(given: Mapping[str, Any]) -> dict[str, str]:
    """The name of each option on the command line, for messages."""
    return {key: f"--{key.replace('_', '-')}" for key in given}


def check_options(given: Mapping[str, Any]) -> None:
    """Raises BadInput for a value that no target takes, before a plan is read."""
    check_values(Registry.load().target_options, given, flags(given))
