"""`tailback agent`: serves this machine to a controller."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.curve_key_options import Keys
from orchestrator.cli.metrics_option import Metrics, check_metrics
from orchestrator.errors import BadInput, Refused
from orchestrator.terminal import exit_codes
from orchestrator.terminal.escape_control import plain
from orchestrator.user_folders import STATE, user_folder


def default_state() -> Path:
    """Default folder of an agent's journal."""
    return user_folder(STATE) / "agent"


def agent(
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; not loopback for other machines."
        ),
    ] = "tcp://127.0.0.1:7010",
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Machine name in its probes. Default: the host's name."),
    ] = None,
    keys: Keys = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of its journal, by which its successor cleans up."
        ),
    ] = None,
    metrics: Metrics = None,
) -> None:
    """Serve this machine to a controller.

    Holders of authorised keys may lease NICs without an IP address and run nodes of plans on them,
    or a whole plan on gateware where this machine can build its models; all other keys are
    refused. The agent drops every privilege that it does not need and reports the rest. It removes
    all that it made for a lease when the lease ends, at the latest some seconds after the last
    message of its controller.

    \b
      tailback keys make
      tailback keys authorise controller.pub
      tailback agent --listen tcp://10.0.0.1:7010

    Ctrl-C ends it and all that it made.
    """
    import asyncio
    import sys

    if not sys.platform.startswith("linux"):
        raise Refused("tailback agent", f"needs Linux, and this is {sys.platform}", "")
    from orchestrator.testbed.agent.agent_process import serve
    from orchestrator.testbed.curve_keys import default_folder

    called = name or re.sub(r"[^A-Za-z0-9_.-]", "-", platform.node()) or "agent"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", called):
        raise BadInput("--name", f"{called[:70]!r}: letters, digits, '.', '_' and '-' are expected")
    check_metrics(metrics)
    serving = serve(
        *(called, listen, keys or default_folder(), state or default_state(), exit_codes.say),
        metrics=metrics,
    )
    asyncio.run(serving)


def release(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A lease, its holder (controller or key), or its NIC."),
    ],
    key: Annotated[
        str, typer.Option("--agent-key", metavar="KEY", help="The agent's public key or file.")
    ],
    address: Annotated[
        str, typer.Option("--agent", metavar="ADDRESS", help="Address of the agent.")
    ] = "tcp://127.0.0.1:7010",
    keys: Keys = None,
) -> None:
    """End leases of an agent by force, also those of other controllers.

    Their holder is notified by name. The agent must have let this user's key in with `tailback keys
    authorise --role administer`.

    \b
      tailback release lab-2 --agent tcp://10.0.0.1:7010 --agent-key agent.pub

    Prints the leases that were ended. Exit codes: 0 ended, 3 no such lease or not permitted.
    """
    import asyncio

    from orchestrator.testbed.controller import controller_client
    from orchestrator.testbed.curve_keys import default_folder

    for lease in asyncio.run(controller_client.force(address, keys or default_folder(), key, name)):
        print(plain(str(lease)))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(agent)
    app.command()(release)
