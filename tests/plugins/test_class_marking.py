"""`red-by-class`: each priority is marked by thresholds of its own, others not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.records import CE, ECT0, NOT_ECT
from orchestrator.errors import BadInput
from plugins.class_marking import RED_BY_CLASS, ClassMarking
from plugins.red_marking import RED, RedMarking
from tests.plugins.scheme_driver import Driver

LOWS = {f"low_{n}": 1_000 * (n + 1) for n in range(8)}
HIGHS = {f"high_{n}": 10_000 * (n + 1) for n in range(8)}
SHARES = {f"max_probability_{n}": f"{n + 1}/8" for n in range(8)}


def share(point: Driver, priority: int, mark: int = ECT0, event: str = "arrival") -> float:
    """Of 1000 frames that are marked."""
    found = 0
    for _ in range(1_000):
        point.come(event, mark=mark, priority=priority)
        found += int(point.frame["mark"][0]) & CE == CE
    return found / 1_000


@pytest.mark.parametrize("mark", ["arrival", "departure"])
@pytest.mark.parametrize("priority", range(8))
def test_each_class_has_its_own_line(priority: int, mark: str) -> None:
    params = ClassMarking(**LOWS, **HIGHS, **SHARES, mark=mark)
    low, high = LOWS[f"low_{priority}"], HIGHS[f"high_{priority}"]
    most = (priority + 1) / 8
    other = {"arrival": "departure", "departure": "arrival"}[mark]
    for queue, expected in ((low, 0), ((low + high) // 2, most / 2), (high, most), (high + 1, 1)):
        point = Driver(RED_BY_CLASS, params, bytes=queue)
        assert share(point, priority, event=mark) == pytest.approx(expected, abs=0.06)
        assert share(point, priority, event=other) == 0
        assert share(point, priority, NOT_ECT, mark) == 0
    assert params.needless() == {other}


@settings(max_examples=25)
@given(vector=st.integers(0, 255), priority=st.integers(0, 7))
def test_a_class_without_a_bit_is_not_marked(vector: int, priority: int) -> None:
    point = Driver(RED_BY_CLASS, ClassMarking(vector=vector), bytes=200_001)
    point.come("arrival", mark=ECT0, priority=priority)
    marked = int(point.frame["mark"][0]) & CE == CE
    assert marked == (vector >> priority & 1 == 1)
    assert ClassMarking(vector=vector).marks() == (vector != 0)


@settings(max_examples=25)
@given(
    low=st.integers(0, 100_000),
    width=st.integers(1, 100_000),
    queue=st.integers(0, 250_000),
    priority=st.integers(0, 7),
)
def test_one_class_is_marked_as_by_red(low: int, width: int, queue: int, priority: int) -> None:
    """Frame by frame: the draws are the same."""
    one = RedMarking(low=low, high=low + width, max_probability="1/3")
    names = {f"low_{priority}": low, f"high_{priority}": low + width}
    same = ClassMarking(**names, **{f"max_probability_{priority}": "1/3"})
    found = []
    for algorithm, params in ((RED, one), (RED_BY_CLASS, same)):
        point, marks = Driver(algorithm, params, bytes=queue), []
        for _ in range(50):
            point.come("arrival", mark=ECT0, priority=priority)
            marks.append(int(point.frame["mark"][0]))
        found.append(marks)
    assert found[0] == found[1]


def test_thresholds_in_the_wrong_order_are_refused_where_they_count() -> None:
    with pytest.raises(BadInput, match="low_4 must be below high_4"):
        ClassMarking.from_table({"low_4": "200KB"})
    assert ClassMarking.from_table({"low_4": "200KB", "vector": 1}).thresholds() == {
        0: (5_000, 200_000)
    }


def test_the_operating_queue_is_that_of_the_lowest_class() -> None:
    params = ClassMarking(vector=0b11000, low_3=10_000, high_3=20_000)
    assert params.operating_queue(10**9) == 15_000
    assert ClassMarking(vector=0).operating_queue(10**9) is None
