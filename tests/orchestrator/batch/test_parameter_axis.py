"""Ranges of free parameters, and the places that are chosen in them."""

from __future__ import annotations

import pytest

from orchestrator.batch.parameter_axis import read_axes, read_axis
from orchestrator.batch.sample_design import MOST_STEPS, Design, is_grid, parameter_points
from orchestrator.errors import BadInput


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=8KB..32KB/4", ["8KB", "16KB", "24KB", "32KB"]),
        ("a.b=8KB..256KB/6:log", ["8KB", "16KB", "32KB", "64KB", "128KB", "256KB"]),
        ("w=0..4/9", ["0", "0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4"]),
        ("n=2..128/7:log:int", ["2", "4", "8", "16", "32", "64", "128"]),
        ("n=1..3/9:int", ["1", "2", "3"]),
        ("t=0..10us/3", ["0s", "5us", "10us"]),
        ("r=1Gb/s..3Gb/s/3", ["1Gb/s", "2Gb/s", "3Gb/s"]),
        ("r=1Gb/s..2Gb/s", ["1Gb/s", "2Gb/s"]),
        ("t=1us..2us/4", ["1us", "1333ns", "1667ns", "2us"]),
        ("r=0.1..0.4/4", ["0.1", "0.2", "0.3", "0.4"]),
        ("s=128,2,32", ["2", "32", "128"]),
        ("s=64KB,1500B", ["1500B", "64KB"]),
        ("r=1/128,1/64", ["1/128", "1/64"]),
        ("p=[1,2],[3]", ["[1,2]", "[3]"]),
        ("m=per-flow,shared", ["per-flow", "shared"]),
    ],
)
def test_values_of_a_range(text: str, values: list[str]) -> None:
    assert [value.text for value in read_axis(text).values()] == values


def test_numbers_lie_where_the_values_do() -> None:
    assert [v.number for v in read_axis("t=1ms..3ms/3").values()] == [1e9, 2e9, 3e9]
    assert [v.number for v in read_axis("s=64KB,1500B").values()] == [1500, 64_000]
    assert [v.number for v in read_axis("m=x,a").values()] == [0, 1]


def test_keys_that_go_together() -> None:
    axis = read_axis("nodes.{a,b}.buffer & nodes.c.buffer = 1KB,2KB")
    assert axis.keys == ("nodes.{a,b}.buffer", "nodes.c.buffer")
    assert axis.settings(axis.values()[1]) == [f"{key}=2KB" for key in axis.keys]


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "x=", "=3", "x=3..2", "x=2..2", "x=1KB..2ms", "x=1KB..2", "x=0..3/4:log"),
        *("x=1..2/1", "x=1..2/20000", "x=1,,2", "x=1,", "x=1..2/3:foo", "x=1..2:log:linear"),
        *("x=1,1", "x=a..b", "x=1..2/x", "x & =1,2", "x=-1KB..2KB"),
    ],
)
def test_what_is_no_range_is_said(text: str) -> None:
    with pytest.raises(BadInput, match="--over: 1 problem"):
        read_axis(text, "--over")


def test_a_key_is_free_once() -> None:
    with pytest.raises(BadInput, match="each key once"):
        read_axes(["a=1,2", "b & a=1..3"])


def test_a_grid_has_every_combination_once() -> None:
    places = parameter_points(read_axes(["a=1,2,3", "b=1KB..2KB/2"]), 6)
    found = [tuple(value.text for value in place) for place in places]
    assert found == [(a, b) for a in "123" for b in ("1KB", "2KB")]
    assert is_grid(places)
    assert not is_grid(places[:-1])


@pytest.mark.parametrize(("budget", "steps"), [(64, 8), (9, 3), (50, 7), (1000, MOST_STEPS)])
def test_open_ranges_fill_the_budget(budget: int, steps: int) -> None:
    places = parameter_points(read_axes(["a=0..1", "b=1s..9s"]), budget)
    assert is_grid(places)
    assert len(places) == steps**2


@pytest.mark.parametrize("design", [Design.auto, Design.lhs, Design.sobol])
def test_a_sample_fills_the_space_and_is_the_same_each_time(design: Design) -> None:
    axes = read_axes(["a=0..1000", "b=1KB..1MB:log", "c=1..5/5", "d=x,y"])
    places = parameter_points(axes, 32, design)
    assert places == parameter_points(axes, 32, design)
    assert len(places) == 32
    for axis, column in zip(axes, zip(*places, strict=True), strict=True):
        quarter = [sum(v.number <= axis.at(share).number for v in column) for share in (0.25, 0.75)]
        assert axis.spacing == "list" or (4 <= quarter[0] <= 14 and 20 <= quarter[1] <= 28)
    assert {place[2].text for place in places} == set("12345")
    assert {place[3].text for place in places} == {"x", "y"}


def test_a_sample_is_taken_where_a_grid_has_no_room() -> None:
    axes = read_axes(["a=1..8/8", "b=1..8/8"])
    assert len(parameter_points(axes, 64)) == 64
    assert len(parameter_points(axes, 63)) < 64
    assert len(parameter_points(axes, 10, Design.grid)) == 64
    with pytest.raises(BadInput, match="at most 100000 places"):
        parameter_points(read_axes(["a=1..500/500", "b=1..500/500"]), 10, Design.grid)
