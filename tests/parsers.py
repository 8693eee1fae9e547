"""Commands that tests run in this process are described to typer once, not once per command line.

A process of a user's runs one command line; a session of tests some thousand, and most of the time
of each went into looking at the signatures of all commands again.
"""

from __future__ import annotations

import functools
from typing import Any

import typer.main


def describe_once() -> None:
    """From now on what typer makes of a function's parameters is kept for the next time."""
    read = functools.cache(typer.main.get_params_from_function)
    typer.main.get_params_from_function = lambda callback: dict(read(callback))
    look = functools.cache(typer.main._get_params_name_from_function)

    def kept(callback: Any) -> Any:
        params, context = look(callback)
        return list(params), context  # who asks may add to it

    typer.main._get_params_name_from_function = kept
