"""QCN feedback quantisation from offset and delta, and the sampling intervals of Table 1.

Stated here once more, on purpose: a message is held against the rules and not against the plugin.
"""

from __future__ import annotations

LEVELS = 63
SAMPLE_BASE = 150_000
SAMPLE_INTERVALS = (150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500)
"""Octets to the next sample, by feedback >> 3 (NetFPGA-QCN, table 1)."""
WITHIN = (0, 31, 63)
"""Offset and delta are sent in units of 64 octets: places within one."""


def level(
    set_point: int,
    weight: int,
    offset: int,
    delta: int,
    *,
    k: int = 0,
    clipped: bool = True,
    up: bool = False,
    limit_weight: int | None = None,
    scale: tuple[int, int] = (1, 1),
) -> int:
    """The quantised feedback; by keyword, ways of getting it wrong."""
    limit = set_point * (2 * (weight if limit_weight is None else limit_weight) + 1)
    limit = limit * scale[0] // scale[1]
    value = max(offset + weight * delta, 0)
    if clipped:
        value = min(value, limit)
    found = -(-value * LEVELS // limit) if up else value * LEVELS // limit
    return min(max(found + k, 0), LEVELS) if clipped else (found + k) & LEVELS


def fits(set_point: int, weight: int, offset: int, delta: int, feedback: int) -> bool:
    """True if some offset and delta within their units give this feedback."""
    found = [level(set_point, weight, offset + a, delta + b) for a in WITHIN for b in WITHIN]
    return min(found) <= feedback <= max(found)
