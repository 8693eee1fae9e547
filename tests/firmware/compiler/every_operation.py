"""Algorithm of a test: its kernel uses every operation and statement on numbers of both signs."""

from __future__ import annotations

import numpy as np

from orchestrator.algorithm import Algorithm
from orchestrator.engine.jit import compiled
from orchestrator.engine.lfsr import lfsr_next
from orchestrator.engine.records import record
from orchestrator.plan.algorithm_params import Params

TABLE = (5, -7, 1 << 40, 0, 12)
PAIRS = ((3, -1), (50, 2), (1000, 9))


class EveryOperationParams(Params):
    """Parameters of every-operation."""

    divisor: int = 7


FIELDS = record("a", "b", "quotient", "rest", "shifted", "chosen", "logic", "total", "seed", "odd")
STATE = np.dtype([*FIELDS.descr, ("rows", np.int64, (3, 5))])


@compiled
def _divided(number, divisor):
    """Quotient and remainder; 0 and the number without a divisor."""
    if divisor == 0:
        return 0, number
    return number // divisor, number % divisor


@compiled
def _first_above(number):
    for limit, result in PAIRS:
        if number < limit:
            return result
    return min(number, 77)


def on_arrival(state, params, queue, frame, now, message):
    """Every operation, each statement."""
    a, b = state.a, state.b
    state.quotient, state.rest = _divided(a, b)
    state.quotient += a // 10 - b % 10 + a // params.divisor if params.divisor != 0 else 3
    state.rest ^= (a % -9) * (b // 16) + b % 32
    distance = frame.length % 60
    state.shifted = (a >> distance) + (b >> 3) - (b << 2) + (1 << min(distance, 40))
    state.chosen = TABLE[a % 5] + TABLE[-(b % 5) - 1] + max(a, b, 9) - min(a, b) + abs(b)
    state.logic = (a & ~b) | (b ^ 0x5A5) if not a <= 0 < b else -a
    both = a > 3 and b // (a - 1) > 2
    either = a < 0 or b % max(a, 1) == 1
    state.logic += 2 * both + either + (a and b) - (b or 4)
    total = 0
    for number in range(9, -4, -3):
        if number == a % 8:
            continue
        total += number * b
        if total > 40_000:
            break
    tries = 0
    while True:
        tries += 1
        if tries > frame.kind % 7:
            break
        total -= tries
    for row in range(3):
        for column in range(frame.priority % 6):
            state.rows[row, column % 5] += row - column * a
    state.total = total + state.rows[1, frame.hops % 5]
    a, b = b, a
    state.a = a - (now & 7)
    state.b = _first_above(b) if now % 3 != 0 else b + 1
    state.seed = lfsr_next(lfsr_next(abs(state.seed) % (1 << 32)))
    if frame.mark & 1 == 1:
        state.odd += 1
        if state.odd > 20:
            state.odd = -20
    else:
        state.odd -= frame.mark & 3
    message.offset = -frame.offset // 3
    return int(a > b) + (frame.copies & 3)


EVERY_OPERATION = Algorithm(
    "every-operation",
    "congestion_point",
    "of a test",
    EveryOperationParams,
    STATE,
    {"arrival": on_arrival},
)
