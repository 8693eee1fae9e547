"""Roots in whole numbers, against those of Python."""

from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.engine.intmath import square_root


@given(st.integers(0, (1 << 62) - 1))
@example((1 << 62) - 1)
@example(((1 << 31) - 1) ** 2)
def test_the_root_is_the_whole_part(value: int) -> None:
    assert square_root(value) == math.isqrt(value)
