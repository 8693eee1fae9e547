"""Grades of fidelity (valid, degraded, invalid): a share against two thresholds, with reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

VALID, DEGRADED, INVALID = "valid", "degraded", "invalid"
ORDER = (VALID, DEGRADED, INVALID)
MOST_NAMED = 3
"""Most links named where many break the same rule."""


def grade_share(share: float, bounds: tuple[float, float], what: str, of: str) -> tuple[str, str]:
    """The grade of a share, and the reason for it."""
    grade = VALID if share <= bounds[0] else DEGRADED if share <= bounds[1] else INVALID
    bound = bounds[0] if grade == DEGRADED else bounds[1]
    return grade, f"{grade}: {what} is {share:.3g} of {of}; at most {bound:g} is accepted"


@dataclass(frozen=True)
class Finding:
    """Result of a rule for one of many links."""

    rule: str
    """A noun phrase of a few words: `frames out of order`."""
    entity: str
    share: float
    bounds: tuple[float, float]
    what: str
    of: str


def worst_findings(found: Iterable[Finding]) -> list[tuple[str, str]]:
    """Grades with reasons of all findings, shortened where many have the same rule and grade.

    The worst are listed; the others are counted, and the first of them named: result.json has the
    numbers of all.
    """
    every = [(one, *grade_share(one.share, one.bounds, one.what, one.of)) for one in found]
    alike: dict[tuple[str, str], list[tuple[Finding, str, str]]] = {}
    for one in every:
        alike.setdefault((one[0].rule, one[1]), []).append(one)
    reasons = list[tuple[str, str]]()
    for (rule, grade), group in alike.items():
        if len(group) > MOST_NAMED + 1:
            group = sorted(group, key=lambda one: -one[0].share)
            rest = [one.entity for one, _, _ in group[MOST_NAMED:]]
            dots = ", ..." if len(rest) > MOST_NAMED else ""
            reasons += [(grade, reason) for _, _, reason in group[:MOST_NAMED]]
            names = f"{', '.join(rest[:MOST_NAMED])}{dots}"
            reasons.append((grade, f"{grade}: {rule} at {len(rest)} more: {names}"))
        else:
            reasons += [(grade, reason) for _, _, reason in group]
    return reasons


def microseconds(time_ps: float) -> str:
    """Text of a time (ps) in microseconds."""
    return f"{time_ps / 1e6:.3g} us"
