"""Function contracts: bounds of the results of functions whose loops are not executed.

Each contract has the bounds of the arguments and of the result, with a reason.
`tests/firmware/proof` checks every function against its contract, at the bounds and at random.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from firmware.proof.term_graph import Interval
from orchestrator.engine.frames.telemetry_header import MOST_STAMPS, RATE


@dataclass(frozen=True)
class Contract:
    """Contract of one function: bounds of its arguments and of its result, with the reason."""

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
        (WORD,),
        lambda value: (min(max(value[0], 0), 1), WORD[1]),
        "32 bits; what is not 0 never becomes 0",
    ),
    ("orchestrator.engine.intmath", "square_root"): Contract(
        ((0, (1 << 62) - 1),), _root, "the whole part of the root, as its docstring has it"
    ),
    ("traffic.cubic_window", "cube_root"): Contract(
        ((-(1 << 62), (1 << 62)),), _cube_root, "21 bits, found from the top down"
    ),
    ("traffic.pareto_on_off", "scale_down"): Contract(
        ((0, 1 << 60), (0, (1 << 41) - 1), (1, (1 << 41) - 1)),
        lambda whole, share, of: (0, max(whole[1], 0)),
        "no more than the whole, as its docstring has it",
    ),
    ("traffic.pareto_on_off", "negative_log2"): Contract(
        ((1, (1 << 32) - 1),), lambda value: (0, 32 << 30), "30 bits behind the point, at most 32"
    ),
    ("traffic.pareto_on_off", "times_power"): Contract(
        ((0, 1 << 50), (0, 1 << 50)),
        lambda base, exponent: (0, 1 << 61),
        "at most 2^61, as its docstring has it",
    ),
    ("orchestrator.engine.frames.telemetry_header", "stamp_of"): Contract(
        ((-1, 1 << 10), (0, 4)),
        lambda hop, word: (0, WORD[1] * (1000 if word[0] <= RATE <= word[1] else 1)),
        "32 bits, of a rate times 1000: all that is written into a row",
    ),
    ("orchestrator.engine.frames.telemetry_header", "stamps_of"): Contract(
        (), lambda: (0, MOST_STAMPS), "no more than there is room for in a row"
    ),
    ("orchestrator.engine.jit", "word_at"): Contract(
        ((0, (1 << 63) - 1), (0, 1 << 35)),
        lambda address, index: (-(1 << 63), (1 << 63) - 1),
        "any word of a file that a parameter names",
    ),
}


@functools.cache
def contract_of(module: str, name: str) -> Contract | None:
    return CONTRACTS.get((module, name))
