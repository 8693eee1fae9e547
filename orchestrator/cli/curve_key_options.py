"""Command-line options for CURVE keys of commands that connect to a controller or an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

KEYS_HELP = "The folder of keys (see `tailback keys`). Default: ~/.config/tailback/keys."

Keys = Annotated[Path | None, typer.Option("--keys", metavar="DIR", help=KEYS_HELP)]
ControllerKey = Annotated[
    str | None,
    typer.Option(
        "--controller-key",
        metavar="KEY",
        help="The controller's public key or its file. Default: the one kept by `tailback keys "
        "know`.",
    ),
]
KeysWithController = Annotated[
    Path | None,
    typer.Option("--keys", metavar="DIR", help="With --controller: the folder of keys."),
]
"""Of a command that does without a controller, too."""
ControllerKeyWithController = Annotated[
    str | None,
    typer.Option(
        "--controller-key", metavar="KEY", help="With --controller: its public key or file."
    ),
]
