"""Matching of mutants to the expectations that they name, and checks of a plan's mutants."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from orchestrator.errors import Problem
from orchestrator.plan.input_problems import Clash, near, shown
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.timeline_tables import Expect

_TEXT = re.compile(r"(?P<metric>\S+)(?: of (?P<of>.+?))?(?: in (?P<phase>\S+))?")


def matching_expectations(plan: PlanModel, text: str) -> list[int]:
    """The expectations that a text names: by `name`, or by METRIC of ENTITY in PHASE.

    Of the latter, what is left out may be anything.
    """
    named = [at for at, expect in enumerate(plan.expect) if expect.name == text]
    if named:
        return named
    match = _TEXT.fullmatch(text)
    if match is None:
        return []
    return [at for at, expect in enumerate(plan.expect) if _fits(expect, match)]


def _fits(expect: Expect, match: re.Match[str]) -> bool:
    other = f" / {expect.relative_to}" if expect.relative_to else ""
    return (
        match["metric"] == expect.metric
        and match["of"] in (None, expect.of, expect.of + other)
        and match["phase"] in (None, expect.phase)
    )


def mutant_problems(plan: PlanModel) -> Iterator[Problem]:
    """Names that are not of one mutant or one expectation alone, and names of nothing."""
    names = Counter(expect.name for expect in plan.expect if expect.name)
    for index, expect in enumerate(plan.expect):
        if expect.name and names[expect.name] > 1:
            text = f"{names[expect.name]} expectations are called {expect.name!r}; rename one"
            yield Clash(f"expect[{index}].name", expect.name, text)
    taken = Counter(mutant.name for mutant in plan.mutant)
    for index, mutant in enumerate(plan.mutant):
        where = f"mutant[{index}]"
        if taken[mutant.name] > 1:
            text = f"{taken[mutant.name]} mutants are called {mutant.name!r}; rename one"
            yield Clash(f"{where}.name", mutant.name, text)
        if not plan.expect:
            yield Clash(where, None, "a plan with mutants needs [[expect]], which they miss")
            continue
        for at, text in enumerate(mutant.expected_misses):
            yield from _named(plan, f"{where}.expected_misses[{at}]", text)


def _named(plan: PlanModel, where: str, text: str) -> Iterator[Problem]:
    found = matching_expectations(plan, text)
    if len(found) == 1:
        return
    if not found:
        known = [expect.name or expect.called for expect in plan.expect]
        yield Problem(where, shown(text), f"an expectation is expected; {near(text, known)}")
        return
    listed = ", ".join(repr(plan.expect[at].called) for at in found[:5])
    more = ", ..." if len(found) > 5 else ""
    accepted = f"it fits {len(found)} expectations; one of {listed}{more} is expected"
    yield Problem(where, shown(text), f"{accepted}, or its own 'name'")
