"""Sets of kernel answers that have a meaning, by kind and event."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.engine.kernel_answers import (
    DROP,
    LANE,
    LOST,
    NOTIFY_LARGEST,
    STAMP_IF_LARGER,
    STAMP_IF_SMALLER,
    TRIM,
)
from orchestrator.engine.records import NEVER, PRIORITIES

LANES = range(LANE, LANE + 8)
"""Answers of a congestion point that name a lane: LANE plus a priority."""
ANSWERS: dict[tuple[str, str], frozenset[int]] = {
    ("congestion_point", "arrival"): frozenset({*range(10), *LANES}),
    ("congestion_point", "departure"): frozenset({*range(6), 7, 8, 9}),
    ("congestion_point", "timer"): frozenset({0, 2, 3, 4}),
    ("congestion_point", "probe"): frozenset({0}),
    ("transport", "send"): frozenset({0, 1, 2}),
    ("transport", "acknowledged"): frozenset({0}),
    ("transport", "credited"): frozenset({0}),
    ("watchdog", "held"): frozenset({0}),
    ("watchdog", "timer"): frozenset({0}),
    ("scheduler", "choose"): frozenset(range(PRIORITIES)),
    ("scheduler", "sent"): frozenset({0}),
}
"""Answers of a kernel that have a meaning, by kind and event; of those that are not here, 0 and 1.
"""
AMOUNTS = {
    "delay_line": range(LOST, NEVER + 1),
    "traffic": range(NEVER + 1),
    "buffer_management": range(NEVER + 1),
}
"""Kinds whose kernels answer a time in ps, or octets, and what they may answer."""


def answers_of(kind: str, event: str) -> Collection[int]:
    """Answers of a kernel that have a meaning."""
    return AMOUNTS[kind] if kind in AMOUNTS else ANSWERS.get((kind, event), frozenset({0, 1}))


DECLARED: dict[str, frozenset[int]] = {
    "drops": frozenset({DROP}),
    "trims": frozenset({TRIM}),
    "changes_lane": frozenset(LANES),
    "keeps_one_stamp": frozenset({STAMP_IF_LARGER, STAMP_IF_SMALLER}),
}
"""Field of an algorithm that is a congestion point -> answers that need it, at a frame."""


def declared_by(answer: int, accepted: Collection[int]) -> str:
    """What has to be declared for an answer, for people; nothing where no declaration helps."""
    if NOTIFY_LARGEST not in accepted:  # no congestion point, or one without a frame at hand
        return ""
    found = next((name for name, answers in DECLARED.items() if answer in answers), "")
    return f"declare `{found}` at the algorithm to answer {answer}" if found else ""
