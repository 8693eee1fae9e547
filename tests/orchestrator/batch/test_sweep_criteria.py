"""Criteria of a sweep: metric, number in SI units, and what is refused."""

from __future__ import annotations

import pytest

from orchestrator.batch.sweep_criteria import Edge, Width, read_edge, read_width
from orchestrator.errors import BadInput

METRIC = "queue_bytes.sd of switch.sink in steady"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20KB", 20_000),
        ("20KiB", 20_480),
        ("10Gbps", 10e9),
        ("50us", 50e-6),
        ("1s", 1.0),
        ("-3", -3),
        ("0.5", 0.5),
        ("-2.5e-3", -0.0025),
        ("7e2", 700),
        ("0", 0),
    ],
)
@pytest.mark.parametrize("sign", [">", "<", " > ", " <"])
def test_an_edge_has_its_metric_and_its_value_in_si_units(
    text: str, value: float, sign: str
) -> None:
    found = read_edge(f"  {METRIC}{sign}{text} ")
    assert found == Edge(METRIC, pytest.approx(value, rel=1e-12))


@pytest.mark.parametrize(
    "text",
    [
        *("", METRIC, f"{METRIC} >", "> 3", f"{METRIC} = 3", f"{METRIC} > many"),
        *(f"{METRIC} >> 3", f"{METRIC} > 1 > 2", f"{METRIC} > 1e999", f"{METRIC} > 1%"),
        f"{METRIC} > .5",
    ],
)
def test_what_is_no_edge_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_edge(text)
    (problem,) = caught.value.problems
    assert (caught.value.source, problem.where, problem.value) == ("--edge", "--edge", text)
    assert problem.accepted == (
        "METRIC > VALUE is expected, such as 'queue_bytes.sd of switch.sink > 20KB'"
    )


@pytest.mark.parametrize(
    ("text", "value", "relative"),
    [("1%", 0.01, True), ("150 %", 1.5, True), ("20KB", 20_000, False), ("0.5", 0.5, False)],
)
def test_a_width_is_absolute_or_a_share_of_the_mean(
    text: str, value: float, relative: bool
) -> None:
    found = read_width(f" {METRIC} = {text} ")
    assert found == Width(METRIC, pytest.approx(value, rel=1e-12), relative)


@pytest.mark.parametrize(
    "text",
    [
        *("", METRIC, f"{METRIC} =", f"{METRIC} > 1", "= 1"),
        *(f"{METRIC} = {value}" for value in ("0", "0%", "-1", "-1%", "many", "1 = 2", "%")),
    ],
)
def test_what_is_no_width_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_width(text)
    (problem,) = caught.value.problems
    assert (caught.value.source, problem.where, problem.value) == ("--narrow", "--narrow", text)
    assert problem.accepted == (
        "METRIC = WIDTH is expected, such as 'utilization of switch.sink in run = 1%'"
    )


def test_the_option_that_was_written_is_named() -> None:
    for read in (read_edge, read_width):
        with pytest.raises(BadInput) as caught:
            read("x", "--other")
        assert (caught.value.source, caught.value.problems[0].where) == ("--other", "--other")


def test_an_interval_is_narrow_enough_at_its_bound_and_below() -> None:
    absolute, relative = Width("m", 2.0, False), Width("m", 0.1, True)
    assert absolute.is_reached(1.0, 2.0)
    assert not absolute.is_reached(1.0, 2.000001)
    assert absolute.is_reached(-1000.0, 0.0)
    assert relative.is_reached(-50.0, 5.0)
    assert not relative.is_reached(50.0, 5.1)
    assert not relative.is_reached(0.0, 0.1)


@pytest.mark.parametrize("width", [Width("m", 1e9, False), Width("m", 1e9, True)])
def test_an_interval_without_a_mean_or_a_width_is_not_narrow(width: Width) -> None:
    assert not width.is_reached(None, 1.0)
    assert not width.is_reached(1.0, None)
    assert not width.is_reached(None, None)
