"""The spread of times: what it says, within an int64 for every time that a plan may name."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.engine.lfsr import jittered


@given(base=st.integers(0, 2**58), random=st.integers(0, 2**32 - 1))
@example(base=3600 * 10**12, random=2**32 - 1)
@example(base=2**45, random=2**32 - 1)
def test_a_time_is_spread_by_the_upper_half_of_a_draw(base: int, random: int) -> None:
    """Compiled, where there are 64 bits; the formula in whole numbers beside it."""
    width = base * 30 // 100
    expected = base - width // 2 + width * (random >> 16) // 2**16
    assert jittered(base, random) == expected
    assert base - width // 2 <= expected < base - width // 2 + max(width, 1)
