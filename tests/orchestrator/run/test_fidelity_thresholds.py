"""Reasons for people: of many links that break one rule the worst are named, the rest counted."""

from __future__ import annotations

import pytest

from orchestrator.run import link_conservation
from orchestrator.run.fidelity_thresholds import DEGRADED, INVALID, VALID, Finding, worst_findings

REACTION_PS = 1_000_000


def links(extra_ps: list[int]) -> list[link_conservation.LinkCounts]:
    return [
        link_conservation.LinkCounts(f"h{n}>rack", 100, 100, delay_ps=50, extra_ps=100 * extra)
        for n, extra in enumerate(extra_ps)
    ]


def told(extra_ps: list[int]) -> list[str]:
    return [
        why
        for grade, why in link_conservation.link_findings(links(extra_ps), REACTION_PS)
        if grade != VALID
    ]


def test_of_many_late_links_the_three_worst_are_told_and_the_others_counted() -> None:
    reasons = told([60_000 + n for n in range(40)])
    assert len(reasons) == 4
    for reason, worst_first in zip(reasons, ("h39", "h38", "h37"), strict=False):
        assert f" over {worst_first}>rack " in reason
    assert reasons[3] == "degraded: frames kept back at 37 more: h36>rack, h35>rack, h34>rack, ..."


def test_each_grade_is_told_for_itself() -> None:
    reasons = told([60_000] * 10 + [200_000] * 6)
    assert [reason.split(":")[0] for reason in reasons] == [DEGRADED] * 4 + [INVALID] * 4
    assert reasons[-1] == "invalid: frames kept back at 3 more: h13>rack, h14>rack, h15>rack"


@pytest.mark.parametrize("count", [1, 3, 4])
def test_few_are_all_told_in_the_order_of_the_plan(count: int) -> None:
    reasons = told([60_000 + n for n in range(count)])
    assert [f"over h{n}>rack" in reason for n, reason in enumerate(reasons)] == [True] * count


def test_rules_do_not_hide_each_other_and_the_grade_is_never_lost() -> None:
    """One link breaks another rule than forty others, and less of it."""
    late = [Finding("delay", f"l{n}", 0.9, (0.1, 0.3), f"l{n}", "it") for n in range(40)]
    lone = Finding("order", "lone", 0.2, (0.1, 0.3), "lone", "it")
    found = worst_findings([*late, lone])
    assert (DEGRADED, "degraded: lone is 0.2 of it; at most 0.1 is accepted") in found
    assert sum(grade == INVALID for grade, _ in found) == 4
