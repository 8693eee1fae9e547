"""`tailback sweep`: runs a plan at many parameter points and writes tables and maps."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator import program_permission
from orchestrator.batch.sample_design import Layout
from orchestrator.cli import batch_options as shared
from orchestrator.cli import plans as shipped
from orchestrator.cli.curve_key_options import ControllerKeyWithController, KeysWithController
from orchestrator.cli.run import complete_target
from orchestrator.cli.target_option_flags import (
    GroupedCommand,
    check_options,
    with_target_options,
)
from orchestrator.errors import BadInput
from orchestrator.terminal import exit_codes

LONG_S = 600.0
"""A sweep that takes longer is asked about."""
ADVICE = "every point that was done is kept: the same command goes on there"


def complete_key(context: typer.Context, incomplete: str) -> list[str]:
    """For the shell: names of the plan's sweep, and its dotted keys, with the sign behind."""
    from orchestrator.batch.sweep_key_completion import keys_of
    from orchestrator.terminal.plan_loading import load_plan

    name = context.params.get("plan")
    if not name or "=" in incomplete:
        return []
    try:
        keys = keys_of(load_plan(name, []))
    except BadInput:
        return []
    return [f"{key}=" for key in keys if key.startswith(incomplete)]


def sweep(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="A shipped plan by name, or a TOML file.",
            autocompletion=shipped.complete,
        ),
    ],
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=RANGE",
            help="Varied parameter: a..b, a..b/6 (six values), a..b/6:log, a..b:int, or a list. "
            "KEY & KEY=… is one parameter. Repeatable. Default: [sweep] of the plan.",
            autocompletion=complete_key,
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Number of seeds of each parameter point, or a list (3,5,8..12). Default: 1.",
        ),
    ] = None,
    design: Annotated[
        Layout | None,
        typer.Option(
            help="grid: all combinations. lhs, sobol: a Latin hypercube or Sobol sequence of "
            "--points parameter points. auto: the grid if it has no more. saltelli: Sobol indices, "
            "the share of a metric's variance by parameter. adaptive: --points parameter points, "
            "most of them near the --edge. Default: grid."
        ),
    ] = None,
    points: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=100_000,
            help="Parameter points of a sample, and of a grid if ranges have no steps. Default: "
            "64.",
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="Stored metric: METRIC of ENTITY in PHASE, with * and ?; parts may be omitted. "
            "Repeatable. Default: all metrics of queues and traffic.",
        ),
    ] = None,
    draw: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="Drawn metric. Repeatable."),
    ] = None,
    edge: Annotated[
        str | None,
        typer.Option(metavar="'METRIC > VALUE'", help="Boundary to draw in maps."),
    ] = None,
    narrow: Annotated[
        str | None,
        typer.Option(
            metavar="'METRIC = WIDTH'",
            help="Add seeds to a parameter point (at least three) until half of the 95 % interval "
            "of "
            "this metric is at most a value, or a share of the mean (5%).",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the points on the workers of a Dask cluster: tcp://head:8786, or the file of "
            "its scheduler (pip install 'tailback-testbed[cluster]').",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET",
            help="Target of the points: simulated (the default, in parallel), or software or "
            "gateware, "
            "one after another on this machine.",
            autocompletion=complete_target,
        ),
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the points across machines, one after another: tcp://127.0.0.1:7011. With "
            "--target gateware: in parallel, one on each capable machine.",
        ),
    ] = None,
    keys: KeysWithController = None,
    controller_key: ControllerKeyWithController = None,
    changes: shared.Changes = None,
    jobs: shared.Jobs = None,
    fresh: shared.Fresh = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Start without confirmation, however long it takes.")
    ] = False,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Tables and figures go to DIR/<plan>/, results of points to DIR/.points/.",
        ),
    ] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    options: Mapping[str, Any] = shared.NOTHING,
    programs: shared.Programs = None,
) -> None:
    """Run a plan at many parameter points, each with several seeds.

    The plan ([sweep]) or --over lists the varied parameters. Each point is a run, by default on
    `simulated`, of which only metrics are stored. The result has a table of points and a table of
    parameter points (mean and 95 % interval over the seeds) as Parquet, maps and curves, and
    report.html.

    \b
      tailback sweep quickstart --over 'sources=2,8,32' --seeds 5
      tailback sweep quickstart --over 'nodes.switch.congestion_point.weight=0..4/5:int' \\
        --over 'links.up.delay=10us..1ms/5:log' --seeds 3 \\
        --edge 'queue_bytes.sd of switch.sink in high > 20KB'
      tailback sweep mine.toml --design lhs --points 200 --yes
      tailback sweep mine.toml --scheduler tcp://head:8786
      tailback sweep mine.toml --controller tcp://10.0.0.1:7011 --pace 0.2
      tailback sweep mine.toml --controller tcp://10.0.0.1:7011 --target gateware

    \b
    Exit codes: 0 done, 2 bad input, or not confirmed, 3 a run failed. After Ctrl-C the same command
    continues from the stored points; a wider sweep runs only new points. `tailback console` shows
    a running sweep.
    """
    program_permission.choose(programs)
    from orchestrator.batch.batch_executor import open_result_store
    from orchestrator.batch.sweep_design import Sweep, SweepOptions
    from orchestrator.batch.sweep_journal import journaled
    from orchestrator.batch.sweep_run import SweepRun, write_sweep_folder
    from orchestrator.terminal import format_output, progress_view
    from orchestrator.terminal.plan_loading import load_plan
    from orchestrator.testbed.sweep_executors import SweepMachines

    check_options(options)
    machines = SweepMachines(
        target=target,
        controller=controller,
        keys=keys,
        controller_key=controller_key,
        options=options,
    )
    loaded = machines.plan(load_plan(plan, changes or []))
    asked = over or [], seeds, design, points, metrics or [], draw or [], edge, narrow
    planned = Sweep.of(loaded, SweepOptions(*asked, machines.chosen, machines.how))
    executor, workers = machines.executor(jobs, scheduler)
    store = open_result_store(out)
    if fresh:
        store.forget()
    exit_codes.say(f"{len(planned.places)} places, {planned.most} points at most")
    with journaled(planned) as (onlooker, finished):
        try:
            with progress_view.shown() as progress:
                running = SweepRun(planned, store, workers, progress, onlooker)
                agreed = running.run(executor, exit_codes.say, _Confirmation(yes))
        except KeyboardInterrupt:
            exit_codes.say(ADVICE)
            raise
        if not agreed:
            text = "nothing more was run, and what was is kept; --yes begins"
            raise BadInput("tailback sweep", text)
        result, folder = write_sweep_folder(running, out)
        finished(folder)
    if as_json:
        format_output.print_json(result | {"folder": str(folder)})
    else:
        from orchestrator.cli.sweep_table import show_sweep

        show_sweep(result, folder)


class _Confirmation:
    """Asks once for confirmation before a long sweep; refuses without a terminal."""

    def __init__(self, agreed: bool) -> None:
        self._agreed = agreed

    def __call__(self, most: int, seconds: float) -> bool:
        """Return whether to go on."""
        from orchestrator.batch.eta import format_seconds

        if self._agreed or seconds < LONG_S:
            return True
        exit_codes.say(f"up to {most} points: this takes about {format_seconds(seconds)}")
        self._agreed = sys.stdin.isatty() and typer.confirm("Begin?", err=True)
        return self._agreed


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=GroupedCommand)(with_target_options(sweep))
