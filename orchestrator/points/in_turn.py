"""Serial executor in real time: on `software`, on `gateware`, on machines of a testbed.

Two runs at once would compete for the processor, and a machine of a testbed holds one. A run that
the machine distorted is invalid and is retried a few times.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from orchestrator.errors import TailbackError
from orchestrator.plan import Plan
from orchestrator.points.answers import DONE, FAILED, Answer
from orchestrator.points.carry import MEASURED, Carry
from orchestrator.points.crew import Say
from orchestrator.points.store import Row
from orchestrator.points.subject import Point
from orchestrator.points.through import Executor
from orchestrator.run.verdict import INVALID

TRIES = 3
"""Most runs of a point while they are invalid."""


def plan_of(point: Point) -> Plan:
    """Plan of a point: that of its experiment, with the seed."""
    return Plan(**point.subject.table, seed=point.seed)


def ordinarily(plan_of: Callable[[Point], Plan], **how: Any) -> Carry:
    """Function that runs a point as `tailback run` does: for targets without worker processes.

    `how` goes to the run: pace, cores, testbed, programs.
    """
    from orchestrator.run.execute import run as run_plan

    def elsewhere(point: Point) -> Row:
        run = run_plan(
            *(plan_of(point), point.subject.target, point.seed),
            out=None,
            report=False,
            live=False,
            **how,
        )
        return {key: run.result[key] for key in MEASURED if key in run.result}

    return elsewhere


class InTurn:
    """Executor that runs points one by one."""

    def __init__(self, carry: Carry, say: Say) -> None:
        self._carry, self._say = carry, say

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """(number, reply) in the order of the points."""
        for number, point in points:
            yield number, self._answer(point)

    def _answer(self, point: Point) -> Answer:
        for left in reversed(range(TRIES)):
            begun = time.monotonic()
            try:
                row = self._carry(point)
            except TailbackError as error:
                return FAILED, (error.exit_code, str(error))
            if row["fidelity"]["verdict"] != INVALID:
                break
            why = next(iter(row["fidelity"].get("reasons", [])), "the machine distorted it")
            then = "run again" if left else "left out"
            self._say(f"{point} is invalid, and {then}: {why}")
        return DONE, row | {"cost_s": time.monotonic() - begun}


def in_turn(carry: Carry) -> Executor:
    """Executor that runs points by `carry`, one by one."""
    return lambda say: contextlib.nullcontext(InTurn(carry, say))
