"""The table of the integrity trial: how runs were judged that were distorted, and that were not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.run.fidelity_thresholds import INVALID, VALID
from tests.trials.distortions import KINDS

FAILED = "failed"
"""Of a run that ended before its end, with a sentence: nobody takes it for a result."""
Row = dict[str, Any]


def red(row: Row) -> str:
    """Why a run is not judged as it should be; empty: it is."""
    if row["distorted"]:
        if row["verdict"] == VALID:
            return "distorted, and valid"
        return "" if row["named"] else "found for another reason alone"
    return "left alone, and " + row["verdict"] if row["verdict"] in (INVALID, FAILED) else ""


def show(row: Row) -> str:
    """A line as it ends."""
    what = (
        f"{row['kind']} {row['strength']:g} {KINDS[row['kind']].unit} on {row['link']}"
        if row["distorted"]
        else "left alone"
    )
    said = "; ".join(row["reasons"])[:150] or "-"
    mark = f"  <== {red(row)}" if red(row) else ""
    return f"{row['run']:3} {row['plan']:7} {what:32} {row['verdict']:9}{mark}  {said}"


def page(rows: Sequence[Row], grades: Sequence[str], how: str) -> str:
    """The table as Markdown."""
    lines = [f"# Distorted runs and quiet ones ({how})", ""]
    lines += _table(("", *grades, "not as it should be"), _halves(rows, grades))
    lines += _table(("distortion", "strengths", *grades, "named"), _kinds(rows, grades))
    wrong = [row for row in rows if red(row)]
    for row in wrong:
        lines.append(f"- run {row['run']}, {row['plan']}: {show(row).strip()}")
    lines.append("" if wrong else "All are judged as they should be.")
    return "\n".join(lines).rstrip() + "\n"


def _halves(rows: Sequence[Row], grades: Sequence[str]) -> list[list[str]]:
    made = []
    for name, distorted in (("distorted", True), ("quiet", False)):
        mine = [row for row in rows if row["distorted"] is distorted]
        wrong = sum(bool(red(row)) for row in mine)
        made.append([f"{len(mine)} {name}", *_counts(mine, grades), str(wrong)])
    return made


def _kinds(rows: Sequence[Row], grades: Sequence[str]) -> list[list[str]]:
    made = []
    for name, kind in KINDS.items():
        mine = [row for row in rows if row["distorted"] and row["kind"] == name]
        if mine:
            strengths = ", ".join(f"{row['strength']:g}" for row in mine)
            named = sum(row["named"] for row in mine)
            cells = [f"{strengths} {kind.unit}", *_counts(mine, grades), f"{named} of {len(mine)}"]
            made.append([name, *cells])
    return made


def _counts(rows: Sequence[Row], grades: Sequence[str]) -> list[str]:
    return [str(sum(row["verdict"] == grade for row in rows)) for grade in grades]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    return [*lines, ""]
