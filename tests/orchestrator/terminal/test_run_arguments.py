"""`-1` among the arguments is a run; as the value of an option it is what it is."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.testing import CliRunner

from orchestrator.terminal.run_arguments import RunArgumentCommand


def told(*words: str) -> str:
    app = typer.Typer()

    @app.command(cls=RunArgumentCommand)
    def show(
        runs: Annotated[list[str], typer.Argument()],
        count: Annotated[int, typer.Option("--count")] = 0,
        every: Annotated[bool, typer.Option("--all")] = False,
    ) -> None:
        print(*runs, count, every)

    return CliRunner().invoke(app, list(words)).output.strip()


def test_a_negative_number_is_a_run() -> None:
    assert told("-1", "x", "-23") == "runs/-1 x runs/-23 0 False"
    assert told("--all", "-2") == "runs/-2 0 True"


def test_the_value_of_an_option_is_left_alone() -> None:
    assert told("-1", "--count", "-3") == "runs/-1 -3 False"


def test_an_option_that_is_none_is_still_refused() -> None:
    assert "No such option: --cont" in told("-1", "--cont", "3")
