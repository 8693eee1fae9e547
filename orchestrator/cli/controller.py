"""`tailback controller` and `tailback machines`: the inventory, and runs across it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.curve_key_options import ControllerKey, Keys
from orchestrator.cli.metrics_option import Metrics, check_metrics
from orchestrator.terminal import exit_codes, format_output

ADDRESS_HELP = "Where a controller listens: tcp://127.0.0.1:7011."


def controller(
    testbed: Annotated[Path, typer.Argument(metavar="[TESTBED]", help="The inventory.")] = Path(
        "testbed.toml"
    ),
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; not loopback for other machines."
        ),
    ] = "tcp://127.0.0.1:7011",
    keys: Keys = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Run folders are made in DIR/<plan>/.")
    ] = Path("runs"),
    metrics: Metrics = None,
) -> None:
    """Run plans across machines.

    It reads the inventory (machines, keys, cables), keeps in touch with every agent, and carries
    out the plans that `tailback run PLAN --controller ADDRESS` hands it: maps nodes to machines,
    probes the cables, starts all nodes at one instant, collects and judges. A plan on gateware goes
    as a whole to a machine that can hold it.

    \b
      tailback controller testbed.toml
      tailback machines --controller tcp://127.0.0.1:7011
      tailback run quickstart --controller tcp://127.0.0.1:7011

    Ctrl-C ends it; what its agents had made for it goes too.
    """
    import asyncio

    from orchestrator.testbed.controller.controller_process import serve
    from orchestrator.testbed.curve_keys import default_folder
    from orchestrator.testbed.inventory import Testbed

    check_metrics(metrics)
    bed = Testbed.load(testbed).needs_machines(testbed)
    asyncio.run(serve(bed, listen, keys or default_folder(), out, exit_codes.say, metrics))


def machines(
    address: Annotated[str, typer.Option("--controller", metavar="ADDRESS", help=ADDRESS_HELP)] = (
        "tcp://127.0.0.1:7011"
    ),
    keys: Keys = None,
    key: ControllerKey = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List a controller's machines, their states, and the targets on which each can run a whole
    plan.

    Exit codes: 0 answered, 3 no answer or key rejected.
    """
    import asyncio

    from orchestrator.testbed.controller import controller_client
    from orchestrator.testbed.curve_keys import default_folder

    listing = asyncio.run(controller_client.status(address, keys or default_folder(), key))
    if as_json:
        format_output.print_json(listing)
        return
    rows = [
        [
            machine["name"],
            machine["state"],
            machine["part"] or ("leased" if machine["lease"] else ""),
            " ".join(machine["nics"]),
            " ".join(name for name, lack in machine["holds"].items() if not lack),
            str(machine["cores"] or ""),
            f"{machine['clock']['error_s'] * 1e6:.3g} µs" if machine["clock"] else "",
            machine["why"],
        ]
        for machine in listing["machines"]
    ]
    columns = ("machine", "state", "part", "NICs", "holds", "cores", "clock within", "why")
    format_output.console().print(format_output.table(columns, rows))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(controller)
    app.command()(machines)
