"""Recordings are put together from parts: every row and column, each from whoever measured it."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.assembly.recording_builder import Share, build
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from tests.orchestrator.worlds import MS, line_of_three

TIMES = [0, 0, 1, 2, 2, 3, 4]
"""ms; marks at 0 and 2 lie on the grid of samples."""
LATER = [1, 2, 4, 5, 6]
"""Of two rows at one instant the later one."""


def made(*owners: list[int], times: list[list[int]] | None = None) -> Recording:
    """From parts that own these columns; row r of column c has 1000 r + c."""
    table = line_of_three(
        duration=4 * MS,
        sample_interval=MS,
        phases={"early": {"from": 0, "to": 2 * MS}, "late": {"from": 2 * MS, "to": 4 * MS}},
    )
    resolved = Plan(**table).check(Registry.load())
    indices = Indices(resolved.plan)
    wanted = probes(resolved, indices)
    every = list(range(len(wanted)))
    shares = []
    for number, columns in enumerate(owners or (every,)):
        own = np.array(columns if columns else every, np.int64)
        rows = times[number] if times else TIMES
        values = 1000 * np.arange(len(rows))[:, None] + own[None, :]
        latency = np.full((3, 1, 5), number + 1, np.int64)
        at = np.array(rows, np.int64) * MS
        shares.append(Share(f"part {number}", at, own, values, latency, [], number + 1))
    return build("test", resolved, indices, wanted, shares, epoch_ns=5, cpu_s=1.0, wall_s=2.0)


def columns() -> int:
    """How many there are."""
    return len(made().columns)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_every_row_of_every_column_is_there(parts: int) -> None:
    whole = list(range(columns()))
    owners = [whole[first::parts] for first in range(parts)]
    got = made(*reversed(owners))
    assert (got.times_ps // MS).tolist() == [0, 1, 2, 3, 4]
    assert got.values.tolist() == [[1000 * row + c for c in whole] for row in LATER]
    arrivals = [n for n, c in enumerate(got.columns) if c.quantity == "frames_received"]
    assert got.data_frames == sum(6000 + n for n in arrivals) > 0
    assert set(got.latency["gen"].ravel().tolist()) == {sum(range(1, parts + 1))}
    assert got.vanished == sum(range(1, parts + 1))
    assert (got.latency_marks_ps // MS).tolist() == [0, 2, 4]
    assert [(e.time_ps, e.entity) for e in got.events] == [(0, "early"), (2 * MS, "late")]


@pytest.mark.parametrize("other", [TIMES[:-1], [*TIMES[:-1], 5], [0, 0, 1, 2, 3, 3, 4]])
def test_parts_that_did_not_sample_alike_are_refused(other: list[int]) -> None:
    half = columns() // 2
    whole = list(range(columns()))
    with pytest.raises(RunFailed, match=f"part 0 and part 1 took 7 and {len(other)} rows"):
        made(whole[:half], whole[half:], times=[TIMES, other])


def test_a_column_that_nobody_sampled_is_named() -> None:
    with pytest.raises(RunFailed, match=r"test: no part sampled queue_bytes of switch\.nic"):
        made(list(range(1, columns())))
