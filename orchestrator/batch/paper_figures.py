"""The five papers: plans that reproduce their figures, and figures that no plan reproduces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import shown

_FIGURE_OR_TABLE = re.compile(r"\b(figure|table) (\d+[a-d]?|[IVX]+)\b")
_ROMAN = {"I": 1, "II": 2}
_BEHIND = re.compile(r"[,;:]\s*")


@dataclass(frozen=True)
class Paper:
    """A paper, by its name in docs/references.md."""

    name: str
    without: Mapping[str, str]
    """Figures and tables that no plan reproduces -> the reason."""


_DRAWN = "a drawing of how it is built, or of an idea: no result"
PAPERS = (
    Paper(
        "NetFPGA-QCN",
        {f"figure {n}": _DRAWN for n in range(1, 8)}
        | {
            "table 1": "the table of sampling intervals: it is part of qcn-cp",
            "table 2": "parameters: they are the preset `netfpga`",
        },
    ),
    Paper("QCN 2.2", {}),
    Paper(
        "IBM input-buffered QCN",
        {f"figure {n}": _DRAWN for n in (1, 3, 4)}
        | {"table I": "parameters: they are the preset `ibm`"},
    ),
    Paper("FECN", {f"figure {n}": _DRAWN for n in range(1, 6)}),
    Paper(
        "P4QCN",
        {f"figure {n}": _DRAWN for n in range(1, 11)}
        | {"table 1": "the fields of its headers: no result"},
    ),
)


def select_papers(names: Iterable[str]) -> list[Paper]:
    """Select papers by the beginnings of their names; all without a name.

    Raises BadInput, which lists them.
    """
    every = [paper.name for paper in PAPERS]
    accepted = f"the beginning of one of these is expected: {', '.join(every)}"
    wanted = set[str]()
    for name in names:
        found = [one for one in every if one.lower().startswith(name.strip().lower())]
        if not name.strip() or len(found) != 1:
            raise BadInput("tailback papers", [Problem("PAPER", shown(name), accepted)])
        wanted |= set(found)
    return [paper for paper in PAPERS if not wanted or paper.name in wanted]


def of_paper(text: str | None) -> tuple[str, str] | None:
    """Paper at the beginning of a plan's key `paper`, and the rest of the text."""
    for paper in PAPERS:
        rest = (text or "").removeprefix(paper.name)
        if rest != (text or "") and (behind := _BEHIND.match(rest)):
            return paper.name, rest[behind.end() :]
    return None


def shown_by(text: str) -> list[str]:
    """Figures and tables that a plan reproduces by its key `paper`; none with `no figure`."""
    if "no figure" in text:
        return []
    return [f"{kind} {number}" for kind, number in _FIGURE_OR_TABLE.findall(text)]


def order(name: str, text: str) -> tuple[int, int, str, str]:
    """Sort key: tables first, then figures by number, then the others."""
    places = shown_by(text)
    if not places:
        return 2, 0, text, name
    kind, _, number = places[0].partition(" ")
    digits = re.match(r"\d+", number)
    at = int(digits[0]) if digits else _ROMAN.get(number, len(_ROMAN) + 1)
    return int(kind == "figure"), at, number, name


def plans_of(
    papers: Iterable[Paper], said: Mapping[str, str | None]
) -> dict[str, list[tuple[str, str]]]:
    """Paper -> (plan, figures and tables), in the paper's order; `said`: the plans' key `paper`."""
    found: dict[str, list[tuple[str, str]]] = {paper.name: [] for paper in papers}
    for name, text in said.items():
        of = of_paper(text)
        if of is not None and of[0] in found:
            found[of[0]].append((name, of[1]))
    return {paper: sorted(plans, key=lambda one: order(*one)) for paper, plans in found.items()}
