"""Mistakes on the command line: the problem, what is accepted, and which help lists it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import pytest
import typer

from orchestrator.terminal.usage_errors import UsageError, usage_message

app = typer.Typer()


@app.command()
def first(
    number: Annotated[int, typer.Option("--number", "-n", max=5, help="A number.")] = 1,
    flag: Annotated[bool, typer.Option("--flag")] = False,
) -> None:
    """Do nothing."""


@app.command()
def second(name: Annotated[str, typer.Argument(metavar="NAME", help="The name of it.")]) -> None:
    """Do nothing."""


@pytest.fixture
def message() -> Callable[..., str]:
    def told(*words: str) -> str:
        command = typer.main.get_command(app)
        with pytest.raises(UsageError) as caught:
            command.main(list(words), prog_name="tool", standalone_mode=False)
        return usage_message(caught.value)

    return told


@pytest.mark.parametrize(
    ("words", "problem", "command"),
    [
        (("frist",), "command line: unknown command 'frist'; did you mean first?", "tool"),
        (
            ("first", "--nmber", "3"),
            "command line: unknown option '--nmber'; did you mean --number?",
            "tool first",
        ),
        (("first", "more"), "command line: 'more' is more than it takes", "tool first"),
        (("second",), "NAME: missing; The name of it.", "tool second"),
    ],
)
def test_a_mistake_is_told_with_the_help_that_lists_what_is_right(
    message: Callable[..., str], words: tuple[str, ...], problem: str, command: str
) -> None:
    assert message(*words) == f"{problem}\n  `{command} --help` tells what it takes"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("first", "--number"), "--number: missing; a value is expected"),
        (("first", "--flag=3"), "--flag takes no value"),
    ],
)
def test_a_value_too_few_or_too_many_is_told_by_the_option(
    message: Callable[..., str], words: tuple[str, ...], problem: str
) -> None:
    assert message(*words).split("\n")[0] == problem


@pytest.mark.parametrize("value", ["x", "6"])
def test_a_value_that_is_not_accepted_is_named(message: Callable[..., str], value: str) -> None:
    text = message("first", "-n", value)
    assert text.startswith("--number: ")
    assert value in text
    assert text.endswith("`tool first --help` tells what it takes")


def test_an_error_without_a_command_is_its_message() -> None:
    assert usage_message(UsageError("Something is wrong")) == "something is wrong"
