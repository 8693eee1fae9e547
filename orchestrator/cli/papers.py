"""`tailback papers`: runs the plans of the five papers and prints a page of results, row by row."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator import program_permission
from orchestrator.batch.experiment import SIMULATED
from orchestrator.batch.paper_figures import PAPERS, plans_of, select_papers
from orchestrator.cli import batch_options as shared
from orchestrator.errors import BadInput, Problem
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes, format_output

if TYPE_CHECKING:
    from orchestrator.batch.batch_executor import MeasuredPoint, RunPoint
    from orchestrator.batch.experiment import Point
    from orchestrator.batch.plan_trial import PlanTrial
    from orchestrator.plan import Plan

ADVICE = (
    "every point that was done is kept: the same command goes on there, with --within 0 it ends"
)


def complete(incomplete: str) -> list[str]:
    """For the shell: the papers whose names begin like this."""
    return [one.name for one in PAPERS if one.name.lower().startswith(incomplete.lower())]


def papers(
    wanted: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER]...",
            help="Papers by the beginning of their names. Default: all five.",
            autocompletion=complete,
        ),
    ] = None,
    targets: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="TARGETS",
            help="One or several: simulated,software. With :N its own seeds: software:3.",
        ),
    ] = SIMULATED,
    seeds: Annotated[
        str, typer.Option(metavar="N", help="How many seeds, or a list with .. (8..12).")
    ] = "3",
    mutants: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=10_000,
            help="Judge mutants over the first N seeds, most of the work otherwise. Default: all.",
        ),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(
            metavar="FACTOR",
            min=1e-6,
            max=1e6,
            help="Real-time targets: seconds of the run per second. Default: the fastest pace that "
            "this machine sustains, for each plan.",
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            min=0,
            max=1e6,
            help="Start no run after this time, the quick plans first; the page marks the others. "
            "0: no run, the page is made from stored results.",
        ),
    ] = None,
    others: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="Take columns from earlier --json output of this command, without running them "
            "again. Repeatable; the first file that has a plan counts.",
        ),
    ] = None,
    jobs: shared.Jobs = None,
    fresh: shared.Fresh = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page there. Default: stdout.")
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="A row per plan, and what is not met.")
    ] = False,
    runs: Annotated[
        Path, typer.Option(metavar="DIR", help="What was measured is kept in DIR/.points/.")
    ] = Path("runs"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the page.")
    ] = False,
    programs: shared.Programs = None,
) -> None:
    """Run the plans of the five papers; print each figure's and table's expectations and results.

    Every shipped plan whose key `paper` begins with the name of one of them is run, on `simulated`
    with its mutants too. A row is an expectation: what the paper says, ours over the seeds, and
    why it differs, if the plan says (`differs`).

    \b
      tailback papers --seeds 20 --out papers.md
      tailback papers netfpga fecn --target simulated,software:3
      tailback papers --within 30 --out papers.md
      tailback papers --target software:1 --json > software.json
      tailback papers --seeds 20 --with software.json --out papers.md

    \b
    Exit codes: 0 every row is met or says why not, and every mutant is caught, 1 not so, or not
    everything was run, 2 bad input, 3 a run failed. Ctrl-C keeps what is done.
    """
    program_permission.choose(programs)
    from orchestrator.batch.plan_trial import PlanTrial, plan_expectations
    from orchestrator.cli.papers_merge_columns import MergedColumns, made_by
    from orchestrator.cli.papers_page import as_markdown

    chosen, own = select_papers(wanted or []), dict(_targets(targets, seeds))
    joined = MergedColumns.read(others or [])
    plans = _plans()
    listed = plans_of(chosen, {name: plan.paper for name, plan in plans.items()})
    places = [*own.items(), *joined.target_seeds(known=own)]
    showings = {
        name: [
            PlanTrial.of(
                plans[name], *_seeded(plans[name], one), mutants_over=mutants, pace=_pace_text(pace)
            )
            for one in places
        ]
        for names in listed.values()
        for name, _ in names
    }
    kept = {
        (name, one.target): column
        for name, several in showings.items()
        for one in several
        if not one.refused
        and (column := joined.column(name, one.target, plan_expectations(plans[name])))
    }
    to_run = [
        one
        for name, several in showings.items()
        for one in several
        if (name, one.target) not in kept and one.target in own
    ]
    made = made_by()  # of the code that runs, whatever is checked out meanwhile
    found = {
        one.point.digest: one for one in _run_showings(to_run, runs, jobs, fresh, pace, within)
    }
    result = {
        "command": _command(wanted or [], targets, seeds, mutants, pace, others or [], summary),
        "made": made,
        "joined": joined.file_table(),
        "papers": [
            {
                "paper": paper.name,
                "without": dict(paper.without),
                "plans": [
                    {
                        "plan": name,
                        "title": plans[name].title,
                        "shows": shows,
                        "asked": plan_expectations(plans[name]),
                        "on": [
                            kept.get((name, one.target)) or one.judge(found)
                            for one in showings[name]
                        ],
                    }
                    for name, shows in listed[paper.name]
                ],
            }
            for paper in chosen
        ],
    }
    page = as_markdown(result, summary)
    if out is not None:
        _write(out, page)
    if as_json:
        format_output.print_json(result)
    elif out is None:
        print(page, end="")
    raise typer.Exit(exit_codes.MET if _is_settled(result) else exit_codes.MISSED)


def _plans() -> dict[str, Plan]:
    """Every shipped plan with a key `paper`."""
    from orchestrator.plan import Plan

    registry = Registry.load()
    loaded = {name: Plan.load(path, registry) for name, path in sorted(registry.plans().items())}
    return {name: plan for name, plan in loaded.items() if plan.paper}


def _targets(text: str, seeds: str) -> list[tuple[str, str]]:
    """Targets, and the seeds of each. Raises BadInput."""
    known = [target.name for target in Registry.load().targets]
    found: list[tuple[str, str]] = []
    for part in text.split(","):
        name, sign, own = part.strip().partition(":")
        if name not in known or (sign and not own) or name in dict(found):
            accepted = f"some of these, each once, are expected: {', '.join(known)}"
            raise BadInput("--target", [Problem("--target", part, accepted)])
        found.append((name, own or seeds))
    return found


def _seeded(plan: Plan, place: tuple[str, str]) -> tuple[str, list[int]]:
    from orchestrator.batch.seed_statistics import read_seeds

    return place[0], read_seeds(place[1], plan)


def _pace_text(pace: float | None) -> str | None:
    return None if pace is None else str(pace)


def _run_showings(
    showings: Sequence[PlanTrial],
    runs: Path,
    jobs: int | None,
    fresh: bool,
    pace: float | None,
    within: float | None,
) -> list[MeasuredPoint]:
    """All that is to be run: what is done soonest first, a plan's own runs or its mutants'."""
    parts = [(one, part) for one in showings for part in (one.own, one.mutants)]
    parts.sort(key=lambda pair: (pair[0].target != SIMULATED, pair[0].weight * len(pair[1])))
    points = [point for _, part in parts for point in part]
    of = {point.digest: one for one in showings for point in (*one.own, *one.mutants)}
    end = None if within is None else time.monotonic() + 60 * within
    try:
        return shared.run_points(
            *(points, runs, jobs, fresh),
            elsewhere=_executor_at_pace(lambda point: of[point.digest].plan, pace),
            weigh=lambda point: of[point.digest].weight,
            enough=lambda: end is not None and time.monotonic() >= end,
        )
    except KeyboardInterrupt:
        exit_codes.say(ADVICE)
        raise


def _executor_at_pace(plan_of: Callable[[Point], Plan], pace: float | None) -> RunPoint:
    from orchestrator.batch.realtime_executors import run_locally

    if pace is None:
        return shared.at_sustained_paces(plan_of)
    return run_locally(plan_of, pace=pace)


def _command(
    wanted: Sequence[str],
    targets: str,
    seeds: str,
    mutants: int | None,
    pace: float | None,
    others: Sequence[Path],
    summary: bool,
) -> dict[str, str]:
    """Command line that reproduces the page."""
    tail = [] if mutants is None else ["--mutants", str(mutants)]
    tail += [] if pace is None else ["--pace", f"{pace:g}"]
    tail += [word for path in others for word in ("--with", path.name)]
    tail += ["--summary"] if summary else []
    words = ["tailback", "papers", *wanted, "--target", targets, "--seeds", seeds, *tail]
    return {"page": shlex.join(words)}


def _is_settled(result: dict[str, Any]) -> bool:
    """Return whether each row is met or explained, and each mutant has its declared outcome."""
    for paper in result["papers"]:
        for plan in paper["plans"]:
            for on in plan["on"]:
                if on["refused"]:
                    continue
                pairs = zip(plan["asked"], on["rows"], strict=False)
                explained = all(row["met"] or row["why"] or one["differs"] for one, row in pairs)
                caught = on["mutants"] is None or on["mutants"]["as_said"]
                if not (on["run"] == len(on["seeds"]) and explained and caught):
                    return False
    return True


def _write(path: Path, text: str) -> None:
    from orchestrator.run.disk_space import disk_full_message, is_full

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        why = disk_full_message(path) if is_full(error) else f"cannot be written: {error.strerror}"
        raise BadInput(str(path), why) from None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(papers)
