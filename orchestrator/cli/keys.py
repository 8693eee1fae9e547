"""`tailback keys`: makes, authorises, revokes and lists CURVE keys."""

from __future__ import annotations

import platform
import re
from typing import Annotated

import typer

from orchestrator.cli.curve_key_options import Keys
from orchestrator.terminal import format_output
from orchestrator.testbed import curve_keys as store

Name = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the key.")]

app = typer.Typer(
    name="keys",
    help="Make keys and authorise keys of others; all other keys are refused.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def make(folder: Keys = None, name: Name = None) -> None:
    """Make a pair of keys for this user on this machine.

    The secret half stays in own.key, which only you can read; hand on own.pub.
    """
    called = name or re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()) or "own"
    place = folder or store.default_folder()
    pair = store.make(place, called)
    print(f"{place / store.PUBLIC}  {pair.public}")


@app.command()
def authorise(
    source: Annotated[str, typer.Argument(metavar="KEY", help="A .pub file or 40 characters.")],
    folder: Keys = None,
    name: Name = None,
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE",
            help="watch: ask and fetch; run: lease and run as well, and end what is its own; "
            "administer: end what is another's as well.",
        ),
    ] = store.RUN,
) -> None:
    """Let the holder of a key connect to the agent or controller that uses this folder."""
    place = folder or store.default_folder()
    print(f"authorised: {store.authorise(place, source, name, role=role)}")


@app.command()
def know(
    source: Annotated[str, typer.Argument(metavar="KEY", help="A .pub file or 40 characters.")],
    folder: Keys = None,
    name: Name = None,
) -> None:
    """Store the key of the controller to connect to."""
    place = folder or store.default_folder()
    print(f"known: {store.authorise(place, source, name, store.KNOWN)}")


@app.command()
def revoke(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the key in `tailback keys list`.")
    ],
    folder: Keys = None,
) -> None:
    """Revoke a key, under all its names, on new and on open connections."""
    names = store.revoke(folder or store.default_folder(), name)
    print(f"revoked: {', '.join(names)}")


@app.command("list")
def list_keys(
    folder: Keys = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the own key, the authorised keys, and those of controllers."""
    place = folder or store.default_folder()
    pair = store.own(place)
    found = [{"what": "own", "name": pair.name, "key": pair.public}]
    for kind, what in ((store.AUTHORISED, "let in"), (store.KNOWN, "controller")):
        for public, called in store.listed(place, kind).items():
            found.append({"what": what, "name": called, "key": public})
    if as_json:
        format_output.print_json(found)
        return
    rows = [[row["what"], row["name"], row["key"]] for row in found]
    format_output.console().print(format_output.table(("what", "name", "key"), rows))


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app)
