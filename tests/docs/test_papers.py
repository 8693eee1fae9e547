"""docs/papers.md has each plan of the five papers, with as many expectations and mutants as it has.

That mutants are plans, and other ones, is for `make plan-mutants`. The outcomes of the runs are not
looked at: the page is the output of `tailback papers`, which has to be made again where a plan is
added or asks something else.
"""

from __future__ import annotations

import re
from pathlib import Path

from orchestrator.batch.experiment import Experiment
from orchestrator.batch.paper_figures import PAPERS, plans_of
from orchestrator.batch.plan_trial import plan_expectations
from orchestrator.errors import Refused
from orchestrator.plan import Plan
from orchestrator.registry import Registry

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
HOW = "make it again by the command that stands at its top, with --out docs/papers.md"
ROW = re.compile(
    r"\| ([^|`]+) \| `([^`]+)` \| (?:\d+ of )?(\d+|refused) "
    r"\| (?:\d+ of )?(\d+|-)(?:, not run yet)? \|"
)
Counts = dict[str, tuple[str, str, str]]


def counts_of(page: str) -> Counts:
    """Plan -> its figure, number of expectations on `simulated`, and of mutants that count."""
    rows = [match for line in page.splitlines() if (match := ROW.fullmatch(line))]
    assert len({row[2] for row in rows}) == len(rows), "a plan is on the page twice"
    return {row[2]: (row[1], row[3], row[4]) for row in rows}


def test_the_page_names_exactly_the_plans_and_how_much_they_expect() -> None:
    registry = Registry.load()
    plans = {name: Plan.load(path, registry) for name, path in registry.plans().items()}
    listed = plans_of(PAPERS, {name: plan.paper for name, plan in plans.items()})
    due: Counts = {}
    for name, shows in (one for paper in PAPERS for one in listed[paper.name]):
        plan = plans[name]
        rows = str(len(plan_expectations(plan)))
        mutants = str(sum(not one.equivalent for one in plan.mutant)) if plan.mutant else "-"
        try:
            Experiment.of(plan, "simulated")
        except Refused:
            rows, mutants = "refused", "-"
        due[name] = (f"{shows[:1].upper()}{shows[1:]}", rows, mutants)
    assert counts_of(PAGE.read_text("utf-8")) == due, HOW


def test_it_says_the_command_that_makes_it() -> None:
    assert re.search(r"output of `tailback papers [^`]+ --summary`", PAGE.read_text("utf-8"))
