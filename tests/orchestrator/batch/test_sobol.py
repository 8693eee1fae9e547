"""Sobol indices of a function whose indices are known: Ishigami's."""

from __future__ import annotations

import math

import pytest

from orchestrator.batch.parameter_axis import read_axes
from orchestrator.batch.sample_design import ParameterPoint
from orchestrator.batch.sobol import Saltelli
from orchestrator.errors import BadInput

A, B = 7.0, 0.1
FIRST = {"x.x": 0.3139, "y.y": 0.4424, "z.z": 0.0}
TOTAL = {"x.x": 0.5576, "y.y": 0.4424, "z.z": 0.2437}
"""Exact, rounded: from the integrals of the function."""


def ishigami(place: ParameterPoint) -> float:
    x, y, z = (math.pi * (value.number / 500 - 1) for value in place)
    return math.sin(x) + A * math.sin(y) ** 2 + B * z**4 * math.sin(x)


@pytest.fixture(scope="module")
def sample() -> Saltelli:
    return Saltelli.of(read_axes([f"{key}=0..1000" for key in FIRST]), 5120, "--design")


def test_they_are_those_of_a_function_that_is_known(sample: Saltelli) -> None:
    assert len(sample.rows) == 1024 * 5
    told = sample.effects({at: ishigami(place) for at, place in enumerate(sample.places)})
    assert told is not None
    for key, of in told.items():
        assert of["first"] == pytest.approx(FIRST[key], abs=0.03)
        assert of["total"] == pytest.approx(TOTAL[key], abs=0.03)
        assert 0 < of["total ±"] < 0.1


def test_a_parameter_without_effect_has_none(sample: Saltelli) -> None:
    told = sample.effects({at: place[0].number for at, place in enumerate(sample.places)})
    assert told is not None
    assert told["x.x"]["total"] == pytest.approx(1.0, abs=0.02)
    assert told["y.y"]["total"] == told["z.z"]["total"] == 0


def test_values_that_are_alike_are_one_place() -> None:
    sample = Saltelli.of(read_axes(["n=2,8", "a.b=0..1000"]), 64, "--design")
    texts = [tuple(value.text for value in place) for place in sample.places]
    assert len(texts) == len(set(texts)) < len(sample.rows) == 64
    told = sample.effects({at: p[0].number for at, p in enumerate(sample.places)})
    assert told is not None
    assert told["a.b"]["total"] == 0


def test_without_a_number_everywhere_there_are_none(sample: Saltelli) -> None:
    means = {at: ishigami(place) for at, place in enumerate(sample.places)}
    del means[7]
    assert sample.effects(means) is None
    assert sample.effects(dict.fromkeys(range(len(sample.places)), 1.0)) is None


@pytest.mark.parametrize("over", [["a.b=0..9"], ["a.b=0..9", "c.d=0..9"]])
def test_too_few_places_say_how_many_are_needed(over: list[str]) -> None:
    with pytest.raises(BadInput, match=rf"--points {8 * (len(over) + 2)}"):
        Saltelli.of(read_axes(over), 8, "--design")
