"""Products that an int64 does not hold are divided in parts, with the same result."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.intmath import (
    MOST_DEN,
    MOST_MULTIPLIED,
    MOST_PRODUCT,
    mul_div,
    mul_div_capped,
)
from orchestrator.engine.records import NEVER
from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import Params
from plugins.af_qcn import AfQcn
from plugins.fecn_cp import MOST_STEP, NS_KB_PER_OCTET, UNIT_BITS, _room, scaled
from plugins.hpcc import Hpcc
from plugins.nscc import Nscc
from plugins.p4qcn_rp import P4qcnReactionPoint
from plugins.receiver_credits import Credits
from plugins.swift import Swift
from plugins.timely import Timely
from tests.plugins.described import check_page
from traffic.capture_replay import Trace, scaled_span
from traffic.pareto_on_off import ParetoOnOff


@given(st.integers(0, MOST_MULTIPLIED), st.integers(0, MOST_DEN), st.integers(1, MOST_DEN))
def test_a_share_is_exact(whole, num, den):
    assert mul_div(whole, num, den) == whole * min(num, den) // den


@given(st.integers(0, 10**13), st.integers(0, MOST_STEP << UNIT_BITS), st.sampled_from([16, 20]))
def test_a_scaled_number_is_exact(number, factor, bits):
    assert scaled(number, factor, bits) == number * factor >> bits


@given(st.integers(1000, 10**9), st.integers(1, 10**10))
def test_the_octets_of_an_interval_are_exact(ns, kbit):
    assert _room(ns, kbit) == ns * kbit // NS_KB_PER_OCTET


@given(st.integers(0, 1 << 60), st.integers(0, 10**8), st.integers(1, 10**6))
def test_what_a_window_grows_by_is_exact_as_far_as_it_is_told_apart(octets, num, den):
    exact, found = octets * num // den, mul_div_capped(octets, num, den)
    if exact < MOST_PRODUCT - num:
        assert found == exact
    else:
        assert found >= MOST_PRODUCT - num


@given(st.integers(0, 10**17), st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_stretched_span_is_exact_up_to_never(span, num, den):
    params = SimpleNamespace(speed_num=num, speed_den=den)
    exact = span * den // num
    kept = scaled_span.py_func(params, span)
    assert kept == exact if exact < NEVER // 2 - den else NEVER // 2 - den <= kept <= NEVER


@pytest.mark.parametrize(
    ("params", "key"),
    [
        (AfQcn, "alpha"),
        (Credits, "link_share"),
        (Hpcc, "eta"),
        (Nscc, "gamma"),
        (P4qcnReactionPoint, "beta"),
        (Swift, "fs_min_cwnd"),
        (Swift, "ai"),
        (Timely, "weight"),
        (Timely, "beta"),
        (ParetoOnOff, "shape"),
        (Trace, "speed"),
    ],
)
def test_a_ratio_of_numbers_that_would_not_fit_is_refused(params: type[Params], key: str):
    ratio = "1000000007/1000000006" if params in (ParetoOnOff, Trace) else "1000000006/1000000007"
    table = {key: ratio} | ({"file": __file__} if params is Trace else {})
    with pytest.raises(BadInput) as caught:
        params.from_table(table, "here")
    (problem,) = caught.value.problems
    assert problem.where == f"here.{key}"
    assert "a ratio of numbers up to" in problem.accepted


def test_the_page_has_its_parameters() -> None:
    assert check_page("plugins.receiver_credits") > 0
