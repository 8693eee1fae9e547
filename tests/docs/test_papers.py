"""docs/papers.md has each expectation of each plan of the five papers, as the plans have it now.

What came of the runs is not looked at: the page is the output of `tailback papers`, which has to be
made again where a plan is added or asks something else.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.batch.paper_figures import PAPERS, plans_of
from orchestrator.batch.plan_trial import PlanTrial, plan_expectations
from orchestrator.cli.papers_page import as_markdown
from orchestrator.plan import Plan
from orchestrator.registry import Registry

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
HOW = "make it again by the command that stands at its top, with --out docs/papers.md"
MUTANTS = re.compile(r"- mutants: (?:\d+ of )?(\d+)(?: caught|, not run yet)")
Rows = dict[str, list[tuple[str, ...]]]


def rows_of(page: str) -> Rows:
    """Plan -> what each row asks, from whom, and how many mutants are counted."""
    found: Rows = {}
    plan = ""
    for line in page.splitlines():
        if head := re.fullmatch(r"### .*: `([^`]+)`", line):
            plan = head[1]
            assert plan not in found, f"{plan} is on the page twice"
            found[plan] = []
        elif line.startswith("| `"):
            cells = re.split(r"(?<!\\) \| ", line.strip("| "))
            found[plan].append(tuple(cell.strip() for cell in cells[:3]))
        elif mutants := MUTANTS.match(line):
            found[plan].append(("mutants", mutants[1]))
    return found


@pytest.fixture(scope="module")
def due() -> Rows:
    """The same of the shipped plans, of which nothing was run."""
    registry = Registry.load()
    plans = {name: Plan.load(path, registry) for name, path in registry.plans().items()}
    listed = plans_of(PAPERS, {name: plan.paper for name, plan in plans.items()})
    found = []
    for paper in PAPERS:
        shown = []
        for name, text in listed[paper.name]:
            on = [PlanTrial.of(plans[name], "simulated", [1]).judge({})]
            one = {
                "plan": name,
                "title": "",
                "shows": text,
                "asked": plan_expectations(plans[name]),
                "on": on,
            }
            shown.append(one)
        found.append({"paper": paper.name, "without": {}, "plans": shown})
    rows = rows_of(as_markdown({"command": {"page": ""}, "papers": found}))
    assert {name: len(of) for name, of in rows.items()} == {
        name: len(plans[name].expect) + any(on["mutants"] for on in one["on"])
        for one in (p for paper in found for p in paper["plans"])
        for name in [one["plan"]]
    }
    return rows


def test_the_page_names_exactly_the_plans_and_what_they_expect(due: Rows) -> None:
    there = rows_of(PAGE.read_text("utf-8"))
    assert list(there) == list(due), HOW
    for plan, rows in due.items():
        assert there[plan] == rows, f"{plan}: {HOW}"


def test_it_says_the_command_that_makes_it() -> None:
    assert re.search(r"output of `tailback papers [^`]+`", PAGE.read_text("utf-8"))
