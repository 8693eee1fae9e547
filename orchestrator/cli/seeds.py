"""`tailback run PLAN --seeds N`: a plan over seeds, a table of the spread, one verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.cli import points as shared
from orchestrator.cli.summary import COLOURS
from orchestrator.plan import Plan
from orchestrator.points import folder as of_points
from orchestrator.points.in_turn import ordinarily
from orchestrator.points.seed_table import write_seeds
from orchestrator.points.seeds import judge_seeds, read_seeds
from orchestrator.points.subject import Point, Subject
from orchestrator.registry import Registry
from orchestrator.run.frozen import Frozen, sentences
from orchestrator.terminal import show

COLUMNS = ("", "metric", "of", "phase", "mean", "sd", "least", "most", "expected", "met")


def run_seeds(
    plan: Plan,
    seeds: str,
    target: str | None,
    out: Path,
    jobs: int | None,
    fresh: bool,
    frozen: Frozen | None = None,
    **how: Any,
) -> tuple[dict[str, Any], Path]:
    """The judged result over seeds, and the folder that it was kept in.

    `how` goes to the ordinary run of a target that is not simulated: pace, cores, datapath,
    testbed, programs. Raises BadInput, Refused, RunFailed.
    """
    chosen = read_seeds(seeds, plan)
    kept = ("pace", "cores", "datapath", "testbed")
    told = {key: str(how[key]) for key in kept if how[key] is not None}
    placed = plan if target is None else plan.with_settings([f"target={target}"], said="")
    subject = Subject.of(placed, None, **told)

    elsewhere = ordinarily(lambda point: plan, **how)
    every = [Point(subject, seed) for seed in chosen]
    found = shared.carried(every, out, jobs, fresh, elsewhere)
    result, said = judge_seeds(placed, found), {}
    if frozen is not None:
        said = {"frozen": frozen.held_against(placed.check(Registry.load()).plan)}
    result |= said
    with of_points.kept(placed, chosen, out, "seeds", subject.target, said) as folder:
        result |= {"units": write_seeds(folder.path, placed, found)}
        folder.write_json("seeds.json", result)
        folder.write_text("seeds.md", as_markdown(result))
        return result, folder.commit()


def cells(row: dict[str, Any]) -> list[str]:
    """One expectation, for people: all but how it came out."""
    unit, asked = row["unit"], show.band(row["min"], row["max"], row["unit"])
    if row["of_seeds"] is not None:
        asked += " (median)" if row["of_seeds"] == "median" else f" (in {row['of_seeds']})"
    numbers = [show.quantity(row[key], unit) for key in ("mean", "sd", "least", "most")]
    met = f"{row['met_in']} of {row['count']}"
    return [row["metric"], row["of"], row["phase"], *numbers, asked, met]


def as_markdown(result: dict[str, Any]) -> str:
    """The table as a page of its own."""
    lines = [f"# {result['title'] or result['plan']}", "", head(result), ""]
    lines += [f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS)]
    lines += [f"| {' | '.join([_word(row), *cells(row)])} |" for row in result["expectations"]]
    return "\n".join(lines) + "\n"


def head(result: dict[str, Any]) -> str:
    """One line: what was run, and the verdict."""
    numbers = [str(one["seed"]) for one in result["seeds"]]
    which = f"{numbers[0]} … {numbers[-1]}" if len(numbers) > 3 else ", ".join(numbers)
    met = sum(row["met"] for row in result["expectations"])
    asked = f"{met} of {len(result['expectations'])}"
    ran = f"{result['plan']} on {result['target']}, {len(numbers)} seeds ({which})"
    return f"{ran}: {result['verdict']} ({asked})"


def _word(row: dict[str, Any]) -> str:
    return "met" if row["met"] else "uncertain" if row["uncertain"] else "MISSED"


def show_seeds(result: dict[str, Any], folder: Path) -> None:
    """Print the table, the verdict, and what was to be noted of single seeds."""
    from rich.text import Text

    out = show.console()
    colours = {"met": "green", "MISSED": "bold red", "uncertain": "bold yellow"}
    rows = [[Text(_word(row), colours[_word(row)]), *cells(row)] for row in result["expectations"]]
    if rows:
        out.print(show.table(COLUMNS, rows))
    lines = [("verdict", Text(head(result), COLOURS.get(result["verdict"], "yellow")))]
    told: dict[str, list[int]] = {}
    for seed in result["seeds"]:
        for text in (*seed["reasons"], *seed["notes"]):
            told.setdefault(text, []).append(seed["seed"])
    for text, numbers in told.items():
        few = ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")
        lines.append(("note", Text(f"seed {few}: {text}")))
    if "frozen" in result:
        lines += [("frozen", Text(text)) for text in sentences(result["frozen"])]
    lines.append(("folder", Text(str(folder))))
    for label, line in lines:
        out.print(Text(f"{label:<10}").append_text(line), soft_wrap=True)
