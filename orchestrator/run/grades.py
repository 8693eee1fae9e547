"""Valid, degraded, invalid: a share against its two bounds, and the sentence that says so."""

from __future__ import annotations

VALID, DEGRADED, INVALID = "valid", "degraded", "invalid"
ORDER = (VALID, DEGRADED, INVALID)


def finding(share: float, bounds: tuple[float, float], what: str, of: str) -> tuple[str, str]:
    """The grade of a share, and the reason for it."""
    grade = VALID if share <= bounds[0] else DEGRADED if share <= bounds[1] else INVALID
    bound = bounds[0] if grade == DEGRADED else bounds[1]
    return grade, f"{grade}: {what} is {share:.3g} of {of}; at most {bound:g} is accepted"


def us(time_ps: float) -> str:
    """A time for people."""
    return f"{time_ps / 1e6:.3g} us"
