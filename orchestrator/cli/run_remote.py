"""`tailback run --controller` and `tailback fetch`: a run across machines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from orchestrator.cli import run_summary
from orchestrator.cli.controller import ADDRESS_HELP
from orchestrator.cli.curve_key_options import ControllerKey, Keys
from orchestrator.cli.target_option_flags import flags
from orchestrator.errors import BadInput
from orchestrator.terminal import exit_codes, format_output, progress_view

NOTHING: Mapping[str, Any] = {}
RUN = re.compile(r"[0-9a-f]{8,64}")


def run_remotely(
    name: str,
    target: str | None,
    changes: list[str],
    address: str,
    keys: Path | None,
    key: str | None,
    as_json: bool,
    report: bool,
    out: Path,
    options: Mapping[str, Any] = NOTHING,
) -> NoReturn:
    """Hand a plan to a controller, wait, have the run folder here, show what came of it, exit with
    its code."""
    from orchestrator.registry import Registry
    from orchestrator.run.source_digest import digest_of
    from orchestrator.targets.software.software_target import stepped
    from orchestrator.terminal.plan_loading import load_plan
    from orchestrator.testbed.controller import controller_client
    from orchestrator.testbed.controller.controller_messages import REMOTE
    from orchestrator.testbed.curve_keys import default_folder
    from orchestrator.testbed.interruptible_wait import wait_for_run
    from orchestrator.testbed.sweep_executors import (
        checked_target,
        pace_at_controller,
        refuse_at_controller,
    )

    refuse_at_controller(flags(options))
    target = checked_target(target)
    sources = None if target == REMOTE else digest_of(Registry.load())
    plan = load_plan(name, [*changes, f"target={target}"])
    plan = plan.with_options(Registry.load(), options, flags(options))
    pace = pace_at_controller(plan)
    with progress_view.shown() as progress:
        asking = controller_client.run(
            *(address, keys or default_folder(), key, plan, report, out, progress, exit_codes.say),
            *(stepped(pace), target, sources),
        )
        outcome = wait_for_run(asking)
    if outcome.error is not None:
        exit_codes.say(outcome.error)
    elif as_json:
        format_output.print_json({"folder": outcome.folder, **(outcome.result or {})})
    elif outcome.result is not None:
        if cause := outcome.result.get("cause"):
            exit_codes.say(f"the run is invalid: {cause}")
        else:
            run_summary.show_result(outcome.result, Path(outcome.folder or ""))
    raise typer.Exit(outcome.exit_code)


def fetch(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The run's number, as `tailback run` printed it.")
    ],
    address: Annotated[str, typer.Option("--controller", metavar="ADDRESS", help=ADDRESS_HELP)] = (
        "tcp://127.0.0.1:7011"
    ),
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The run folder is made in DIR/<plan>/.")
    ] = Path("runs"),
    keys: Keys = None,
    key: ControllerKey = None,
) -> None:
    """Fetch the folder of a run across machines from its controller.

    `tailback run --controller` fetches the folder itself. Use this command after a longer loss of
    the connection or an interrupted fetch, which it resumes. A controller remembers its last
    hundred runs, while it runs. Every file is checked against its checksum; an existing folder is
    not fetched again. `tailback clean` removes what an interrupted fetch left.

    \b
      tailback fetch 4f1c9a0d22e87b31 --controller tcp://10.0.0.1:7011

    Prints the path of the folder. Exit codes: 0 complete, 3 not fetched.
    """
    from orchestrator.testbed.controller import controller_client
    from orchestrator.testbed.curve_keys import default_folder
    from orchestrator.testbed.interruptible_wait import wait_for_run

    if not RUN.fullmatch(run):
        raise BadInput("RUN", f"{run[:70]!r}: 8 to 64 hexadecimal digits are expected")
    with progress_view.shown() as progress:
        waiting = controller_client.fetch(
            address, keys or default_folder(), key, run, out, progress
        )
        print(wait_for_run(waiting))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(fetch)
