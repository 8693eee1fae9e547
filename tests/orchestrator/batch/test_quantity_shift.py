"""A quantity shifts by more than 3 standard errors and 5 %, or by having a value or none."""

from __future__ import annotations

import math

import pytest

from orchestrator.batch.quantity_shift import Shift, Values, shift_between

TEN = [9.0, 10.0, 11.0, 10.0, 10.0]
"""Mean 10, standard deviation 0.707: a standard error of 0.316, of a difference 0.447."""


@pytest.mark.parametrize(
    ("before", "after", "shift"),
    [
        (TEN, TEN, None),
        (TEN, [one + 1.3 for one in TEN], None),  # 2.9 standard errors
        (TEN, [one + 1.4 for one in TEN], Shift(10, 11.4)),  # 3.1
        (TEN, [one - 1.4 for one in TEN], Shift(10, 8.6)),
        ([10.0] * 5, [10.5] * 5, None),  # 4.8 % of the larger
        ([10.0] * 5, [10.6] * 5, Shift(10, 10.6)),
        ([10.6] * 5, [10.0] * 5, Shift(10.6, 10)),
        ([0.0] * 5, [0.0] * 5, None),
        ([0.0] * 5, [1e-6] * 5, Shift(0, 1e-6)),
        ([0.0] * 5, [0.0, 0.0, 0.0, 0.0, 1.0], None),  # one seed in five
        ([-10.0] * 5, [-9.0] * 5, Shift(-10, -9)),
        (TEN, [None] * 5, Shift(10, None)),
        ([None] * 5, TEN, Shift(None, 10)),
        ([None] * 5, [None] * 5, None),
        (TEN, [10.0, None, 10.0, 10.0, 10.0], None),
        ([10.0, None, 10.0, 10.0, 10.0], [None] * 5, None),
    ],
)
def test_what_has_shifted(before: Values, after: Values, shift: Shift | None) -> None:
    found = shift_between(before, after)
    if shift is None or None in (shift.before, shift.after):
        assert found == shift
    else:
        assert found is not None
        assert (found.before, found.after) == pytest.approx((shift.before, shift.after))


@pytest.mark.parametrize(
    ("shift", "share"),
    [
        (Shift(10, 5), -0.5),
        (Shift(5, 10), 0.5),
        (Shift(0, 3), 1),
        (Shift(-2, 2), 2),
        (Shift(10, None), math.inf),
        (Shift(None, 10), math.inf),
    ],
)
def test_by_how_much(shift: Shift, share: float) -> None:
    assert shift.share == pytest.approx(share)
