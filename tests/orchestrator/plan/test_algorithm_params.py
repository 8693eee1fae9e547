"""Parameters: units, presets, every problem at once, records of int64."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, model_validator

from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import Duration, Params, Rate, Ratio, Size


class Sample(Params):
    """One field of every type."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "text": {"set_point": "33KB", "gd": "1/64"},
        "ints": {"set_point": 33_000, "gd": Fraction(1, 64)},
    }
    set_point: Size = Field(26_000, gt=0, le=10**9, description="queue length aimed at")
    timer: Duration = 15 * 10**9
    rate: Rate
    gd: Ratio = Field(Fraction(1, 128), gt=0, lt=1)
    weight: int = Field(2, ge=0, le=64)
    jitter: bool = True
    sampling: Literal["arrival", "head"] = "arrival"


def problems(table: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(BadInput) as caught:
        Sample.from_table(table, "here")
    return {problem.where: str(problem) for problem in caught.value.problems}


def test_a_table_with_a_preset() -> None:
    params = Sample.from_table({"plugin": "any", "preset": "text", "rate": "1Gb/s", "weight": 3})
    assert (params.set_point, params.gd, params.weight) == (33_000, Fraction(1, 64), 3)
    assert params == Sample.from_table({"preset": "ints", "rate": "1Gb/s", "weight": 3})


def test_keys_win_over_the_preset() -> None:
    params = Sample.from_table({"preset": "text", "rate": "1Gb/s", "set_point": "1KB"})
    assert params.set_point == 1000


def test_every_problem_at_once() -> None:
    table = {
        "preset": "texts",
        "set_pont": 1,
        "set_point": "0B",
        "timer": 5,
        "gd": "3/2",
        "weight": True,
        "jitter": "yes",
        "sampling": "arival",
    }
    found = problems(table)
    assert found["here.preset"] == "here.preset: unknown preset 'texts'; did you mean text?"
    assert found["here.set_pont"].endswith("did you mean set_point?")
    assert "'0B' is not accepted; more than 0B is expected" in found["here.set_point"]
    assert "write a duration with its unit" in found["here.timer"]
    assert "less than 1" in found["here.gd"]
    assert "whole number" in found["here.weight"]
    assert "true or false" in found["here.jitter"]
    assert "did you mean arrival?" in found["here.sampling"]
    assert "here.rate: missing; write a rate" in found["here.rate"]
    assert len(found) == 9


@pytest.mark.parametrize("weight", [2.0, "2.0", "x", None, [2], 1 << 70, "9" * 30])
def test_an_int_is_an_int(weight: object) -> None:
    assert "here.weight" in problems({"rate": "1Gb/s", "weight": weight})


def test_python_may_use_base_units() -> None:
    assert Sample(rate=10**9).rate == 10**9
    assert Sample.from_table({"rate": 10**9}, bare=True).rate == 10**9


def test_record_is_all_int64() -> None:
    params = Sample(rate=10**9, sampling="head")
    record = params.record()
    assert record.shape == (1,)
    assert record.dtype == Sample.dtype()
    assert all(record.dtype[name] == np.int64 for name in record.dtype.names or ())
    assert record.item() == (26_000, 15 * 10**9, 10**9, 1, 128, 2, 1, 1)


def test_an_algorithm_without_parameters_has_an_empty_record() -> None:
    class Nothing(Params):
        """None."""

    assert Nothing().record().shape == (1,)
    assert Nothing.describe() == []


def test_one_field_changed() -> None:
    params = Sample(rate=10**9).changed("weight", "3").changed("gd", "1/32")
    assert (params.weight, params.record_fields("gd")) == (3, ["gd_num", "gd_den"])
    assert params.record_values("gd") == [1, 32]
    assert params.changed("jitter", "false").record_values("jitter") == [0]
    with pytest.raises(BadInput, match="at most 64 is expected"):
        params.changed("weight", 65)


def test_a_rule_between_fields_is_told_as_a_sentence() -> None:
    class Marks(Params):
        high: Size = 2
        low: Size = 1

        @model_validator(mode="after")
        def _order(self) -> Marks:
            if self.low >= self.high:
                raise ValueError("'low' has to be below 'high'")
            return self

    with pytest.raises(BadInput) as caught:
        Marks.from_table({"low": "5B"}, "pause")
    assert str(caught.value.problems[0]) == "pause: 'low' has to be below 'high'"


def test_description_for_people() -> None:
    shown = {field.name: field for field in Sample.describe()}
    assert shown["set_point"].unit == "B"
    assert shown["set_point"].default_text == "26KB"
    assert shown["set_point"].bounds == "> 0B, <= 1GB"
    assert shown["set_point"].help == "queue length aimed at"
    assert shown["rate"].default_text is None
    assert (shown["gd"].unit, shown["gd"].default_text) == ("ratio", "1/128")
    assert shown["sampling"].bounds == "arrival | head"
    assert shown["jitter"].default_text == "true"


@pytest.mark.parametrize("kind", [float, str, Size | None, Literal[1, 2]])
def test_a_field_that_no_record_can_hold_is_refused_at_once(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"Bad\.field"):
        type("Bad", (Params,), {"__annotations__": {"field": kind}, "field": 1})


def test_the_plans_own_keys_cannot_be_fields() -> None:
    with pytest.raises(TypeError, match="rename it"):
        type("Bad", (Params,), {"__annotations__": {"preset": int}, "preset": 1})


@given(
    st.builds(
        Sample,
        set_point=st.integers(1, 10**9),
        timer=st.integers(0, 1 << 61),
        rate=st.integers(0, 1 << 61),
        gd=st.fractions(0, 1, max_denominator=900_000).filter(lambda gd: 0 < gd < 1),
        weight=st.integers(0, 64),
        jitter=st.booleans(),
        sampling=st.sampled_from(["arrival", "head"]),
    )
)
def test_a_table_of_texts_gives_the_same_parameters(params: Sample) -> None:
    assert Sample.from_table(params.to_table()) == params


@given(
    st.dictionaries(
        st.sampled_from([*Sample.model_fields, "preset", "x"]),
        st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.lists(st.integers())),
    )
)
def test_garbage_is_bad_input(table: dict[str, Any]) -> None:
    with suppress(BadInput):
        assert isinstance(Sample.from_table(table, "here"), Sample)
