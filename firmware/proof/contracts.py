"""Functions whose loops are not followed: what they return is taken from their contract.

Each stands here with what it may be given and what it returns, and a reason. `tests/firmware/proof`
holds every one to its contract, at the ends of its range and at random.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from firmware.proof.terms import Interval


@dataclass(frozen=True)
class Contract:
    """Of one function: bounds of its arguments, bounds of what it returns, and why."""

    arguments: tuple[Interval, ...]
    returns: Callable[..., Interval]
    reason: str


def _root(value: Interval) -> Interval:
    import math

    return math.isqrt(max(value[0], 0)), math.isqrt(max(value[1], 0))


def _cube_root(value: Interval) -> Interval:
    return 0, (1 << 21) - 1


WORD = (0, (1 << 32) - 1)
CONTRACTS: dict[tuple[str, str], Contract] = {
    ("orchestrator.engine.lfsr", "lfsr_next"): Contract(
        (WORD,), lambda value: WORD, "a shift to the right and a mask of 32 bits"
    ),
    ("orchestrator.engine.roots", "square_root"): Contract(
        ((0, (1 << 62) - 1),), _root, "the whole part of the root, as its docstring has it"
    ),
    ("traffic.cubic", "cube_root"): Contract(
        ((-(1 << 62), (1 << 62)),), _cube_root, "21 bits, found from the top down"
    ),
    ("traffic.fixedpoint", "negative_log2"): Contract(
        ((1, (1 << 32) - 1),), lambda value: (0, 32 << 30), "30 bits behind the point, at most 32"
    ),
    ("orchestrator.engine.jit", "word_at"): Contract(
        ((0, (1 << 63) - 1), (0, 1 << 32)),
        lambda address, index: (-(1 << 63), (1 << 63) - 1),
        "any word of a file that a parameter names",
    ),
}


@functools.cache
def contract_of(module: str, name: str) -> Contract | None:
    return CONTRACTS.get((module, name))
