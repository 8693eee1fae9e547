"""A kernel that an algorithm says is needless with its parameters does nothing with them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from orchestrator.engine.events import EVENTS
from orchestrator.engine.frames.blank import blank_frames
from orchestrator.engine.records import NEVER, QUEUE
from orchestrator.registry import Registry
from plugins.qcn_cp import QCN_CP, QcnCongestionPoint

WAYS = ("arrival", "head", "departure", "occupancy-random", "occupancy-max")
CASES = [
    (sampling, keep_alive)
    for sampling, keep_alive in itertools.product(WAYS, (False, True))
    if sampling.startswith("occupancy") or not keep_alive
]


def traces(point: QcnCongestionPoint) -> bool:
    """Whether frames that leave a queue that pauses its neighbour leave anything behind."""
    state = np.zeros(1, QCN_CP.state).view(np.recarray)
    state[0].lfsr = 5
    queue = np.zeros(1, QUEUE).view(np.recarray)
    for name, value in {"bytes": 90_000, "pausing": 1, "line_rate": 10**9}.items():
        queue[0][name] = value
    queue[0].congestion_point_timer = NEVER
    frames = blank_frames(2)
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


def test_what_is_needless_is_an_event() -> None:
    points = [each for each in Registry.load().algorithms if each.kind == "congestion_point"]
    assert QCN_CP in points
    for point in points:
        for preset in point.params.presets.values():
            assert point.params(**preset).needless() <= set(EVENTS[point.kind])
