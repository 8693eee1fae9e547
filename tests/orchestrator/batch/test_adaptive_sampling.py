"""Places gather where the answer changes, and nowhere else; which they are depends on nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from orchestrator.batch.adaptive_sampling import (
    ABOVE,
    BELOW,
    UNSURE,
    AdaptiveSampler,
    crossing_axis,
    edge_crossings,
    side_of,
)
from orchestrator.batch.parameter_axis import read_axes
from orchestrator.batch.sample_design import ParameterPoint
from orchestrator.errors import BadInput

Side = Callable[[ParameterPoint], int]


def searched(over: list[str], most: int, side: Side) -> list[tuple[ParameterPoint, int]]:
    """Every place of a search with its side, in the order in which they were chosen."""
    search, found = AdaptiveSampler(read_axes(over), most, "--design"), []
    while places := search.ask():
        sides = [side(place) for place in places]
        found += list(zip(places, sides, strict=True))
        texts = [tuple(value.text for value in place) for place in places]
        search.tell(dict(zip(texts, sides, strict=True)))
    return found


def circle(place: ParameterPoint) -> int:
    x, y = (value.number for value in place)
    return ABOVE if math.hypot(x - 400, y - 600) < 300 else BELOW


def test_along_one_parameter_an_edge_is_halved_until_it_is_known() -> None:
    over = ["a.b=0..1000000"]
    found = searched(over, 26, lambda place: ABOVE if place[0].number > 314159 else BELOW)
    axes = read_axes(over)
    places, sides = [place for place, _ in found], {at: s for at, (_, s) in enumerate(found)}
    (edge,) = edge_crossings(axes, 0, places, sides)
    assert float(edge["from"]) <= 314159 < float(edge["to"])
    assert float(edge["to"]) - float(edge["from"]) <= 2500, "a grid of 26 has steps of 40 000"
    assert edge["to_above"]


def test_in_a_plane_places_lie_along_the_line() -> None:
    found = searched(["a.b=0..1000", "c.d=0..1000"], 160, circle)
    assert len(found) == 160
    off = [abs(math.hypot(p[0].number - 400, p[1].number - 600) - 300) for p, _ in found]
    near = sum(one < 60 for one in off)
    assert near > 100, "evenly spread there were 36"
    turned = {int(math.atan2(p[1].number - 600, p[0].number - 400) // (math.pi / 8))
              for (p, _), one in zip(found, off, strict=True) if one < 60}  # fmt: skip
    assert len(turned) == 16, "all around"


def test_each_listed_value_has_an_edge_of_its_own() -> None:
    over = ["n=2,8,32", "a.b=1..1000:log"]
    axes = read_axes(over)
    found = searched(over, 48, lambda p: ABOVE if p[1].number > 20 * p[0].number else BELOW)
    assert crossing_axis(axes, searched=True) == 1
    sides = {at: side for at, (_, side) in enumerate(found)}
    edges = {one["at"]["n"]: one for one in edge_crossings(axes, 1, [p for p, _ in found], sides)}
    for n in (2, 8, 32):
        low, high = float(edges[str(n)]["from"]), float(edges[str(n)]["to"])
        assert low <= 20 * n < high
        assert high / low < 1.2, "evenly spread a place is 1.6 times the one before"


def test_where_nobody_knows_is_looked_at_as_where_it_changes() -> None:
    def hazy(place: ParameterPoint) -> int:
        x = place[0].number
        return UNSURE if 400 < x < 600 else ABOVE if x >= 600 else BELOW

    found = [p[0].number for p, _ in searched(["a.b=0..1000"], 40, hazy)]
    assert sum(390 <= x <= 610 for x in found) > 25
    assert sum(x < 390 for x in found) >= 2, "and the rest is not forgotten"


def test_rounded_values_end_a_search_when_all_are_known() -> None:
    found = searched(["a.b=1..8:int"], 100, lambda p: ABOVE if p[0].number > 3 else BELOW)
    assert sorted(p[0].number for p, _ in found) == sorted({p[0].number for p, _ in found})
    assert {3.0, 4.0} <= {p[0].number for p, _ in found}
    assert len(found) <= 8


def test_the_same_sides_give_the_same_places() -> None:
    over = ["a.b=0..1000", "c.d=0..1000"]
    assert searched(over, 100, circle) == searched(over, 100, circle)


@pytest.mark.parametrize(
    ("mean", "half", "side"),
    [
        (2.0, 0.5, ABOVE),
        (2.0, 1.0, UNSURE),
        (0.4, 0.5, BELOW),
        (0.6, 0.5, UNSURE),
        (1.1, None, ABOVE),
        (1.0, None, BELOW),
        (None, None, BELOW),
    ],
)
def test_a_side_is_known_where_the_interval_leaves_no_doubt(
    mean: float | None, half: float | None, side: int
) -> None:
    assert side_of(mean, half, 1.0) == side


@pytest.mark.parametrize(
    ("over", "most", "said"),
    [
        (["a.b=1,2,3"], 64, "a range without steps"),
        (["a.b=0..9/4"], 64, "a range without steps"),
        (["n=1,2,3,4,5", "a.b=0..9", "c.d=0..9"], 16, "--points 20"),
    ],
)
def test_what_cannot_be_searched_says_what_could(over: list[str], most: int, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        AdaptiveSampler(read_axes(over), most, "--design")
