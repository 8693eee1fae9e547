"""`tailback run PLAN --seeds N`: runs a plan over seeds, prints the spread and one verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.batch import batch_folder as of_points
from orchestrator.batch.confidence_interval import SHARE, interval_of_row, prediction_intervals
from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.realtime_executors import run_locally
from orchestrator.batch.seed_statistics import judge_seeds, read_seeds
from orchestrator.batch.seed_table import write_seeds
from orchestrator.cli import batch_options as shared
from orchestrator.cli.run_summary import COLOURS
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.frozen_expectations import Frozen, frozen_notes
from orchestrator.terminal import format_output

COLUMNS = ("", "metric", "of", "phase", "mean", "sd", "least", "most", "expected", "met")


def run_seeds(
    plan: Plan,
    seeds: str,
    out: Path,
    jobs: int | None,
    fresh: bool,
    frozen: Frozen | None = None,
    profile_entry: Mapping[str, Any] = shared.NOTHING,
    **how: Any,
) -> tuple[dict[str, Any], Path]:
    """The judged result over seeds, and the folder that it was kept in.

    `profile_entry` joins the manifest: the machine's profile. With a profile that it is simulated
    as,
    the result has intervals of all metrics. `how` goes to the ordinary run of a target that is not
    simulated: testbed, programs. Raises BadInput, Refused, RunFailed.
    """
    chosen = read_seeds(seeds, plan)
    bed = how.get("testbed")
    subject = Experiment.of(plan, None, testbed=None if bed is None else str(bed))

    elsewhere = run_locally(lambda point: plan, **how)
    every = [Point(subject, seed) for seed in chosen]
    found = shared.run_points(every, out, jobs, fresh, elsewhere)
    result = judge_seeds(plan, found)
    said: dict[str, Any] = {}
    if frozen is not None:
        said = {"frozen": frozen.held_against(plan.check(Registry.load()).plan)}
    result |= said
    said |= profile_entry
    with of_points.batch_folder(plan, chosen, out, "seeds", subject.target, said) as folder:
        result |= {"units": write_seeds(folder.path, plan, found)}
        if "as" in profile_entry:
            result["predicted"] = prediction_intervals(plan, found)
        folder.write_json("seeds.json", result)
        folder.write_text("seeds.md", as_markdown(result))
        return result, folder.commit()


def cells(row: dict[str, Any]) -> list[str]:
    """Table cells of an expectation, without its outcome."""
    unit, asked = row["unit"], format_output.band(row["min"], row["max"], row["unit"])
    if row["of_seeds"] is not None:
        asked += " (median)" if row["of_seeds"] == "median" else f" (in {row['of_seeds']})"
    numbers = [format_output.quantity(row[key], unit) for key in ("mean", "sd", "least", "most")]
    met = f"{row['met_in']} of {row['count']}"
    return [row["metric"], row["of"], row["phase"], *numbers, asked, met]


def as_markdown(result: dict[str, Any]) -> str:
    """The table as a page of its own."""
    lines = [f"# {result['title'] or result['plan']}", "", head(result), ""]
    lines += [f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS)]
    lines += [f"| {' | '.join([_word(row), *cells(row)])} |" for row in result["expectations"]]
    return "\n".join(lines) + "\n"


def head(result: dict[str, Any]) -> str:
    """Heading: the plan and seeds that were run, and the verdict."""
    numbers = [str(one["seed"]) for one in result["seeds"]]
    which = f"{numbers[0]} … {numbers[-1]}" if len(numbers) > 3 else ", ".join(numbers)
    met = sum(row["met"] for row in result["expectations"])
    asked = f"{met} of {len(result['expectations'])}"
    ran = f"{result['plan']} on {result['target']}, {len(numbers)} seeds ({which})"
    return f"{ran}: {result['verdict']} ({asked})"


def show_predicted(result: dict[str, Any]) -> None:
    """Print the intervals in which another run of what is expected is to be."""
    rows = []
    for row in result["expectations"]:
        found = interval_of_row(result["predicted"], row)
        if found is not None:
            cells = [
                format_output.quantity(found[key], row["unit"]) for key in ("mean", "low", "high")
            ]
            rows.append([row["metric"], row["of"], row["phase"], *cells])
    if rows:
        columns = ("metric", "of", "phase", "mean", f"{SHARE:.0%} from", "to")
        format_output.console().print(
            format_output.table(columns, rows, title="as that machine would run it")
        )


def _word(row: dict[str, Any]) -> str:
    return "met" if row["met"] else "uncertain" if row["uncertain"] else "MISSED"


def show_seeds(result: dict[str, Any], folder: Path) -> None:
    """Print the table, the verdict, and what was to be noted of single seeds."""
    from rich.text import Text

    out = format_output.console()
    colours = {"met": "green", "MISSED": "bold red", "uncertain": "bold yellow"}
    rows = [[Text(_word(row), colours[_word(row)]), *cells(row)] for row in result["expectations"]]
    if rows:
        out.print(format_output.table(COLUMNS, rows))
    if "predicted" in result:
        show_predicted(result)
    lines = [("verdict", Text(head(result), COLOURS.get(result["verdict"], "yellow")))]
    notes: dict[str, list[int]] = {}
    for seed in result["seeds"]:
        for text in (*seed["reasons"], *seed["notes"]):
            notes.setdefault(text, []).append(seed["seed"])
    for text, numbers in notes.items():
        few = ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")
        lines.append(("note", Text(f"seed {few}: {text}")))
    if "frozen" in result:
        lines += [("frozen", Text(text)) for text in frozen_notes(result["frozen"])]
    lines.append(("folder", Text(str(folder))))
    for label, line in lines:
        out.print(Text(f"{label:<10}").append_text(line), soft_wrap=True)
