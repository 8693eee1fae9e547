"""Merge of the stall logs of a run's machines on one clock.

A part's rows are by its machine's clock, from what that machine took for the start. The exchanges
of clocks during and after the run know better (`retiming`): by them all rows are brought to the
controller's time, as captures are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import Field, ValidationError

from orchestrator.engine.datapath import stall_detection as at
from orchestrator.errors import RunFailed
from orchestrator.plan import ResolvedPlan
from orchestrator.run import stall_report
from orchestrator.run.datapath_stalls import StallLog
from orchestrator.run.stall_report import UnloggedMachine
from orchestrator.targets.software.control_loops import loops_of
from orchestrator.targets.software.stall_log import VERSION, log_of
from orchestrator.testbed.controller.clock_correction import ClockCorrection
from orchestrator.testbed.wire.envelope import NAME, WireMessage

FAR = 2**61
"""Beyond all times: sums of two of them are int64."""
MOST_THREADS = 64
OLDER = "its agent's tailback is older, and tells none"
OTHER = "its agent tells them in another way than is known here; install the same tailback on both"
Count = Annotated[int, Field(ge=0, lt=FAR)]


class ThreadStalls(WireMessage):
    """Stall words of one thread of a part, beside its rows: see
    `orchestrator.run.datapath_stalls.StallLog`."""

    nodes: list[Annotated[str, NAME]] = Field(min_length=1, max_length=10_000)
    rows: int = Field(ge=0, le=at.ROWS)
    count: Count
    cost_ns: float = Field(ge=0, allow_inf_nan=False)
    floor_ns: Count
    most_ns: Count
    most_ps: Count


class AgentStalls(WireMessage):
    """Stall words of a part (`orchestrator.targets.software.stall_log.stall_words`)."""

    v: int = Field(ge=VERSION, le=VERSION)
    one_clock: bool
    threads: list[ThreadStalls] = Field(min_length=1, max_length=MOST_THREADS)


class StallSource(Protocol):
    """Attributes of `merge.StallSource` that are needed here."""

    machine: str
    nodes: list[str]
    arrays: dict[str, np.ndarray]
    words: dict[str, Any]
    clock: ClockCorrection


def merged_stalls(
    resolved: ResolvedPlan, parts: Sequence[StallSource], pace: float
) -> dict[str, Any]:
    """`fidelity["stalls"]` of the run. Raises RunFailed for a part that tells no stalls, but
    something else, in their place."""
    logs, silent, one_clock = list[StallLog](), list[UnloggedMachine](), True
    for part in parts:
        words = part.words.get("stalls")
        why = OLDER if words is None else OTHER if _is_other(words) else None
        if why is not None:
            silent.append(UnloggedMachine(part.machine, frozenset(part.nodes), why))
            continue
        record, rows = _checked(part, words)
        one_clock &= record.one_clock
        logs += _logs(part, record, rows, pace)
    return stall_report.stall_report(
        logs, loops_of(resolved), pace, one_clock=one_clock, silent=silent
    )


def _is_other(words: object) -> bool:
    version = words.get("v") if isinstance(words, Mapping) else None
    return type(version) is int and version != VERSION


def _checked(part: StallSource, words: object) -> tuple[AgentStalls, np.ndarray]:
    """Raises RunFailed for what is not as `handed` makes it."""
    wrong = RunFailed(f"agent {part.machine}: what it tells of its stalls is none")
    try:
        record = AgentStalls.model_validate(words)
    except ValidationError:
        raise wrong from None
    rows = part.arrays.get("stalls", np.zeros(0, np.int64))
    if rows.dtype != np.int64 or rows.shape != (
        sum(one.rows for one in record.threads),
        at.COLUMNS,
    ):
        raise wrong
    if any(one.count < one.rows or not set(one.nodes) <= set(part.nodes) for one in record.threads):
        raise wrong
    if np.any((rows <= -FAR) | (rows >= FAR)):
        raise wrong
    if np.any(rows[:, at.TO_NS] < rows[:, at.FROM_NS]) or np.any(
        rows[:, at.TO_PS] < rows[:, at.FROM_PS]
    ):
        raise wrong
    return record, rows


def _logs(part: StallSource, record: AgentStalls, rows: np.ndarray, pace: float) -> list[StallLog]:
    """By the controller's clock."""
    rows = rows.copy()
    for column in (at.FROM_NS, at.TO_NS):
        rows[:, column] = part.clock.apply_ns(rows[:, column], pace)
    for column in (at.FROM_PS, at.TO_PS):
        rows[:, column] = part.clock.apply(rows[:, column])
    error_ns = -int(-part.clock.error_ns // pace)
    found, begin = [], 0
    for one in record.threads:
        mine = rows[begin : begin + one.rows]
        begin += one.rows
        words = one.model_dump(exclude={"nodes", "rows"})
        found.append(log_of(one.nodes, words, mine, part.machine, error_ns))
    return found
