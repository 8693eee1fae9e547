"""`tailback explain`: finds the ranges of free parameters in which a paper's statements hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator import program_permission
from orchestrator.batch.sample_design import Design
from orchestrator.cli import batch_options as shared
from orchestrator.cli import plans as shipped
from orchestrator.cli.plan_key_completion import complete_key
from orchestrator.terminal import exit_codes

if TYPE_CHECKING:
    from orchestrator.batch.statement_regions import RegionSearch

NOWHERE = exit_codes.MISSED


def explain(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="A shipped plan by name, or a TOML file, with [[expect]].",
            autocompletion=shipped.complete,
        ),
    ],
    free: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=RANGE",
            help="What is not known, and its range: a..b, a..b/6 (six values), a..b/6:log, "
            "a..b:int, or a list a,b,c. KEY & KEY=… are one parameter. May be given again.",
            autocompletion=complete_key,
        ),
    ],
    points: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=2,
            max=100_000,
            help="Largest number of parameter points: all combinations if they fit, else a sample.",
        ),
    ] = 64,
    design: Annotated[
        Design,
        typer.Option(
            help="All combinations, a Latin hypercube or a Sobol sequence. Default: by --points.",
        ),
    ] = Design.auto,
    seeds: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="How many seeds, a list (3,5,8..12), or 'plan'. A statement holds where it does "
            "with more than half of them.",
        ),
    ] = "1",
    changes: shared.Changes = None,
    jobs: shared.Jobs = None,
    fresh: shared.Fresh = False,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Table and figure are kept in DIR/<plan>/, what was measured in DIR/.points/.",
        ),
    ] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    programs: shared.Programs = None,
) -> None:
    """Search free parameters for the ranges in which a paper's statements hold.

    A plan states what the paper says ([[expect]]). Parameters that the paper does not give are
    free within ranges: the plan is run on `simulated` at many parameter points, and each statement
    is evaluated at each. The result has the ranges where each holds and where all hold, the
    values that each alone excludes, and those that cannot be met, or not together.

    \b
      tailback explain quickstart --free 'nodes.switch.buffer=20KB..150KB'
      tailback explain p4qcn-fig14-x100 --seeds 3 --points 40 \\
        --free 'nodes.{p,q}t4.buffer=12KB..96KB/8:log' --free 'nodes.qt4.inputs.pause.low=0B..19KB'

    \b
    Exit codes: 0 all statements hold together somewhere, 1 nowhere, 2 bad input. Ctrl-C keeps what
    is done: the same command goes on there.
    """
    program_permission.choose(programs)
    from orchestrator.batch.experiment import SIMULATED
    from orchestrator.batch.parameter_axis import read_axes
    from orchestrator.batch.sample_design import parameter_points
    from orchestrator.batch.seed_statistics import read_seeds
    from orchestrator.batch.statement_regions import RegionSearch
    from orchestrator.cli.explain_report import as_markdown, show_search
    from orchestrator.registry import Registry
    from orchestrator.terminal import format_output, progress_view
    from orchestrator.terminal.plan_loading import load_plan

    axes = read_axes(free)
    loaded = load_plan(plan, changes or [])
    places = parameter_points(axes, points, design)
    with progress_view.shown() as progress:
        search = RegionSearch.of(loaded, axes, places, read_seeds(seeds, loaded), progress)
    result = search.judge(_carried(search, out, jobs, fresh))
    kept = (search.plan, SIMULATED, search.seeds, out, "explain", result, as_markdown(result))
    with shared.saved_batch(*kept) as made:
        Registry.load().call("tailback_map", folder=made.path)
        folder = made.commit()
    if as_json:
        format_output.print_json(result | {"folder": str(folder)})
    else:
        show_search(result, folder)
    raise typer.Exit(exit_codes.MET if result["all"]["places"] else NOWHERE)


def _carried(search: RegionSearch, out: Path, jobs: int | None, fresh: bool) -> list[Any]:
    """The points, once it is said how many they are and how long that takes."""
    from orchestrator.batch.batch_executor import forecast, open_result_store

    points = search.points()
    store = open_result_store(out)
    if fresh:
        store.forget()
    exit_codes.say(forecast(points, store, jobs))
    try:
        return shared.run_points(points, out, jobs, fresh)
    except KeyboardInterrupt:
        exit_codes.say("every point that was done is kept; the same command goes on there")
        raise


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(explain)
