"""A kernel that an algorithm says is needless with its parameters does nothing with them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from orchestrator.algorithm import Algorithm
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.kernel_events import EVENTS
from orchestrator.engine.records import NEVER, QUEUE
from orchestrator.registry import Registry
from plugins.pause import PAUSE
from plugins.pfc import PFC
from plugins.qcn_cp import QCN_CP, QcnCongestionPoint

WAYS = ("arrival", "head", "departure", "occupancy-random", "occupancy-max")
CASES = [
    (sampling, keep_alive)
    for sampling, keep_alive in itertools.product(WAYS, (False, True))
    if sampling.startswith("occupancy") or not keep_alive
]


def traces(point: QcnCongestionPoint, pausing: int = 1) -> bool:
    """Whether frames that leave a queue, which pauses its neighbour, leave anything behind."""
    state = np.zeros(1, QCN_CP.state).view(np.recarray)
    state[0].lfsr = 5
    queue = np.zeros(1, QUEUE).view(np.recarray)
    for name, value in {"bytes": 90_000, "pausing": pausing, "line_rate": 10**9}.items():
        queue[0][name] = value
    queue[0].congestion_point_timer = NEVER
    frames = empty_descriptors(2)
    frames[0].length = 1500
    records = (state, queue, frames)
    before = [record.tobytes() for record in records]
    params = point.record().view(np.recarray)
    answers = [
        QCN_CP.kernels["departure"](state[0], params[0], queue[0], frames[0], now, frames[1])
        for now in range(200)
    ]
    return any(answers) or before != [record.tobytes() for record in records]


@pytest.mark.parametrize(("sampling", "keep_alive"), CASES)
def test_departures_matter_to_qcn_exactly_if_it_says_so(sampling: str, keep_alive: bool) -> None:
    point = QcnCongestionPoint(sampling=sampling, keep_alive=keep_alive)  # type: ignore[arg-type]
    assert traces(point) == ("departure" not in point.needless())
    assert traces(point, 0) == ("departure" not in point.needless_unless_pausing())


@pytest.mark.parametrize("plugin", [PAUSE, PFC])
@pytest.mark.parametrize("octets", [0, 1_000, 60_000, 200_000])
def test_who_is_not_stopped_is_not_let_go(plugin: Algorithm, octets: int) -> None:
    """Whatever the queue is like: a pause says so of its `dequeue`, which says nothing then."""
    params = plugin.params()
    assert params.needless_unless_pausing() == {"dequeue"}
    assert params.needless() == frozenset()
    state = np.zeros(1, plugin.state).view(np.recarray)
    queue = np.zeros(1, QUEUE).view(np.recarray)
    queue[0].bytes, queue[0].pause_timer = octets, NEVER
    frames = empty_descriptors(2)
    before = [record.tobytes() for record in (state, queue, frames[:1])]
    row = params.record().view(np.recarray)[0]
    assert plugin.kernels["dequeue"](state[0], row, queue[0], frames[0], 7, frames[1]) == 0
    assert before == [record.tobytes() for record in (state, queue, frames[:1])]
    state[0].stopped = 1
    told = plugin.kernels["dequeue"](state[0], row, queue[0], frames[0], 7, frames[1])
    assert told == (octets < params.low)


def test_what_is_needless_is_an_event() -> None:
    points = [each for each in Registry.load().algorithms if each.kind == "congestion_point"]
    assert QCN_CP in points
    for point in points:
        for preset in point.params.presets.values():
            params = point.params(**preset)
            assert params.needless() <= params.needless_unless_pausing() <= set(EVENTS[point.kind])
