"""Grades of fidelity (valid, degraded, invalid): a share against two thresholds, with reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

VALID, DEGRADED, INVALID = "valid", "degraded", "invalid"
ORDER = (VALID, DEGRADED, INVALID)
TOLD = 3
"""Links that are named where many break the same rule."""


def finding(share: float, bounds: tuple[float, float], what: str, of: str) -> tuple[str, str]:
    """The grade of a share, and the reason for it."""
    grade = VALID if share <= bounds[0] else DEGRADED if share <= bounds[1] else INVALID
    bound = bounds[0] if grade == DEGRADED else bounds[1]
    return grade, f"{grade}: {what} is {share:.3g} of {of}; at most {bound:g} is accepted"


@dataclass(frozen=True)
class Finding:
    """A rule, broken or kept by one of many links."""

    rule: str
    """In a word or two, without a verb: `frames out of order`."""
    entity: str
    share: float
    bounds: tuple[float, float]
    what: str
    of: str


def worst(found: Iterable[Finding]) -> list[tuple[str, str]]:
    """A grade and its reason for each finding, but of one rule and grade no more than people read.

    The worst are told; of the others how many there are, and the first by their names: the numbers
    of all of them stand in result.json.
    """
    every = [(one, *finding(one.share, one.bounds, one.what, one.of)) for one in found]
    alike: dict[tuple[str, str], list[tuple[Finding, str, str]]] = {}
    for one in every:
        alike.setdefault((one[0].rule, one[1]), []).append(one)
    told = list[tuple[str, str]]()
    for (rule, grade), group in alike.items():
        if len(group) > TOLD + 1:
            group = sorted(group, key=lambda one: -one[0].share)
            rest = [one.entity for one, _, _ in group[TOLD:]]
            dots = ", ..." if len(rest) > TOLD else ""
            told += [(grade, reason) for _, _, reason in group[:TOLD]]
            names = f"{', '.join(rest[:TOLD])}{dots}"
            told.append((grade, f"{grade}: {rule} at {len(rest)} more: {names}"))
        else:
            told += [(grade, reason) for _, _, reason in group]
    return told


def us(time_ps: float) -> str:
    """A time for people."""
    return f"{time_ps / 1e6:.3g} us"
