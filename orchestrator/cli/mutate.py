"""`tailback mutate`: runs the mutants of a plan and reports those that no expectation catches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator import program_permission
from orchestrator.cli import batch_options as shared
from orchestrator.cli import plans as shipped
from orchestrator.errors import BadInput
from orchestrator.terminal import exit_codes, format_output

if TYPE_CHECKING:
    from rich.text import Text

    from orchestrator.batch.batch_executor import MeasuredPoint
    from orchestrator.batch.experiment import Point
    from orchestrator.plan import Plan

COLUMNS = ("", "mutant", "missed by", "value", "expected")
DRAWN_COLUMNS = ("", "mutant", "missed by, or moved", "value", "expected, or without")
GOOD = ("caught", "same", "survived as said")
QUIET = ("equivalent", "within seeds", "not run")
"""Outcomes of drawn mutants that do not count."""
DRAWN_SEEDS = "5"


def mutate(
    plans: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PLAN...",
            help="Shipped plans by name, or TOML files, with [[mutant]].",
            autocompletion=shipped.complete,
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every shipped plan that has mutants.")
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="How many seeds, a list (3,5,8..12), or 'plan'. Of several, more than half have "
            "to miss. Default: 1, or as many as a mutant says; with --draw 5.",
        ),
    ] = None,
    draw: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=10_000,
            help="Draw N mutants of the plan and of its kernels, in place of those that it lists.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="S", min=0, max=1 << 62, help="With --draw: the seed that draws. Default: 1."
        ),
    ] = 1,
    changes: shared.Changes = None,
    jobs: shared.Jobs = None,
    fresh: shared.Fresh = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="What was measured is kept in DIR/.points/.")
    ] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    programs: shared.Programs = None,
) -> None:
    """Run the mutants of a plan, and report those that no expectation catches.

    Every [[mutant]] of a plan is run on `simulated` beside the plan itself. One that misses no
    expectation survives: the plan would call such a fault `met`.

    With --draw the mutants are drawn by a seed: values of the plan changed, sources, hosts and
    schemes removed, and the kernels of its algorithms edited. Those count that move a quantity of
    the plan's rows, figures, algorithms or sources by more than its seeds do (3 standard errors and
    5 %). Survivors are listed with what they moved.

    \b
      tailback mutate netfpga-fig08
      tailback mutate quickstart mine.toml --seeds 5
      tailback mutate codel --draw 50 --seed 7
      tailback mutate --all --json | jq '.[] | select(.ok | not) | .plan'

    \b
    Exit codes: 0 every mutant is caught (or is the same, or survives, as the plan says), 1 not so,
    or the plan itself misses a row without saying why (differs), 2 bad input.
    """
    program_permission.choose(programs)
    from orchestrator.batch.mutation_trial import MutationTrial
    from orchestrator.batch.seed_statistics import read_seeds
    from orchestrator.terminal.plan_loading import load_plan

    if every == bool(plans):
        raise BadInput("tailback mutate", "name plans, or --all for every shipped one with mutants")
    chosen = [load_plan(name, changes or []) for name in plans or _with_mutants()]
    if draw is None:
        trials = [MutationTrial.of(one, read_seeds(seeds or "1", one)) for one in chosen]
        found = shared.run_points([p for trial in trials for p in trial.points()], out, jobs, fresh)
        results = []
        for trial in trials:
            count = len(trial.points())
            results.append(trial.judge(found[:count]))
            found = found[count:]
    else:
        results = [
            _drawn(one, draw, seed, seeds or DRAWN_SEEDS, out, jobs, fresh) for one in chosen
        ]
    if as_json:
        format_output.print_json(results)
    else:
        for result in results:
            show_trial(result)
        if len(results) > 1:
            show_sum(results)
    raise typer.Exit(
        exit_codes.MET if all(result["ok"] for result in results) else exit_codes.MISSED
    )


def _drawn(
    plan: Plan, count: int, seed: int, seeds: str, out: Path, jobs: int | None, fresh: bool
) -> dict[str, Any]:
    """Result of the trial of a plan's drawn mutants."""
    from orchestrator.batch.drawn_trial import DrawnTrial
    from orchestrator.batch.seed_statistics import read_seeds

    trial = DrawnTrial(plan, count, seed, read_seeds(seeds, plan))

    def run(points: list[Point], failures: dict[str, str] | None) -> list[MeasuredPoint]:
        return shared.run_points(points, out, jobs, fresh, failures=failures)

    return trial.run(run)


def _with_mutants() -> list[str]:
    """The shipped plans that have mutants, or stand on one that has."""
    from orchestrator.plan.plan import composed
    from orchestrator.registry import Registry

    registry = Registry.load()
    paths = sorted(registry.plans().items())
    return [name for name, path in paths if composed(path, registry)[1].get("mutant")]


def show_trial(result: dict[str, Any]) -> None:
    """Print the table of one plan."""
    from rich.text import Text

    out = format_output.console()
    drawn = "draw" in result
    fewest = len(result["seeds"])
    rows = [
        row
        for mutant in result["mutants"]
        for row in (_drawn_rows(mutant) if drawn else _rows(mutant, fewest))
    ]
    columns = DRAWN_COLUMNS if drawn else COLUMNS
    out.print(format_output.table(columns, rows, title=result["plan"]))
    seeds = f"{len(result['seeds'])} seeds" if len(result["seeds"]) > 1 else "1 seed"
    if drawn:
        others = [f"{result['outcomes'][one]} {one}" for one in QUIET if result["outcomes"][one]]
        drawn_by = result["seed"]
        share = f", {result['caught'] / result['counted']:.0%}" if result["counted"] else ""
        text = f"{result['caught']} of {result['counted']} mutants that count caught{share}"
        text += f" ({'; '.join([*others, f'drawn by seed {drawn_by}', seeds])})"
    else:
        same = len(result["mutants"]) - result["counted"]
        same_text = f", {same} said to be the same" if same else ""
        text = f"{result['caught']} of {result['counted']} mutants caught{same_text} ({seeds})"
    out.print(Text(text, "green" if result["ok"] else "red"))
    if result["verdict"] != "met":
        missed = [row for row in result["expectations"] if not row["met"]]
        names = "; ".join(f"{row['metric']} of {row['of']} in {row['phase']}" for row in missed)
        text = f"without a mutant the plan is {result['verdict']}: {names}"
        out.print(Text(text, "bold red"), soft_wrap=True)


def show_sum(results: list[dict[str, Any]]) -> None:
    """Print what several plans come to."""
    from rich.text import Text

    caught, counted = (sum(one[key] for one in results) for key in ("caught", "counted"))
    wrong = [one["plan"] for one in results if not one["ok"]]
    share = caught / max(counted, 1)
    text = f"{len(results)} plans: {caught} of {counted} mutants caught ({share:.1%})"
    text += f"; not as said: {', '.join(wrong)}" if wrong else ""
    format_output.console().print(Text(text, "red" if wrong else "green"), soft_wrap=True)


def _rows(mutant: dict[str, Any], fewest: int) -> list[list[Any]]:
    """Rows of one mutant: its outcome, then a row for each expectation that caught it, and how
    many seeds it has if they are more than `fewest`, those of the trial."""
    rows: list[list[Any]] = []
    for one in mutant["caught_by"]:
        rows.append(["", "", one["called"], _value(one), _bounds(one)])
    for one in mutant["named_but_met"]:
        rows.append(["", "", f"(not by {one['called']})", _value(one), _bounds(one)])
    for called in mutant["without_its_entity"]:
        rows.append(["", "", f"({called}: not there any more)", "", ""])
    if mutant["same"]:
        rows.append(["", "", f"(same: {mutant['same']})", "", ""])
    if mutant["survives"] and not mutant["caught_by"]:
        rows.append(["", "", f"(survives: {mutant['survives']})", "", ""])
    if mutant["invalid_in"]:
        reasons = "; ".join(mutant["reasons"])
        rows.append(["", "", f"(invalid with {mutant['invalid_in']} seeds: {reasons})", "", ""])
    if len(mutant["seeds"]) > fewest:
        rows.append(["", "", f"({len(mutant['seeds'])} seeds)", "", ""])
    rows = rows or [["", "", "", "", ""]]
    rows[0][:2] = [_mark(mutant["outcome"]), mutant["name"]]
    return rows


def _drawn_rows(mutant: dict[str, Any]) -> list[list[Any]]:
    """Rows of one drawn mutant: what caught it; of a survivor what moved."""
    rows: list[list[Any]] = []
    if mutant["outcome"] == "survived":
        for one in mutant["moved"]:
            sides = [_number(one[side]) for side in ("after", "before")]
            rows.append(["", "", f"(moved: {one['quantity']})", *sides])
    elif mutant["outcome"] == "caught":
        for one in mutant["caught_by"]:
            rows.append(["", "", one["called"], _value(one), _bounds(one)])
    elif mutant["outcome"] == "not run":
        rows.append(["", "", f"({mutant['reasons']})", "", ""])
    rows = rows or [["", "", "", "", ""]]
    rows[0][:2] = [_mark(mutant["outcome"]), mutant["change"]]
    return rows


def _number(value: float | None) -> str:
    return "no value" if value is None else f"{value:.4g}"


def _mark(outcome: str) -> Text:
    from rich.text import Text

    if outcome in GOOD:
        return Text(outcome, "green")
    if outcome in QUIET:
        return Text(outcome)
    return Text(outcome.upper(), "bold red")


def _value(row: dict[str, Any]) -> str:
    if row["count"] == 1:
        return format_output.quantity(row["values"][0], row["unit"])
    median = format_output.quantity(row["median"], row["unit"])
    return f"{median} (met in {row['met_in']} of {row['count']})"


def _bounds(row: dict[str, Any]) -> str:
    return format_output.band(row["min"], row["max"], row["unit"])


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(mutate)
