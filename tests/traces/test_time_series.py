"""Long series are cut down without losing a peak."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from traces.time_series import envelope


@given(st.integers(1, 5000), st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_envelope_keeps_every_bucket_s_extremes(n: int, buckets: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 1000, n)
    times, kept = envelope(np.arange(n), values, buckets)
    assert (np.diff(times) >= 0).all()
    assert (values[times] == kept).all()
    assert kept.max() == values.max()
    assert kept.min() == values.min()
    assert len(kept) <= max(n if n <= 2 * buckets else 0, 2 * buckets)
    if n > 2 * buckets:
        edges = np.arange(buckets + 1) * n // buckets
        for index, (low, high) in enumerate(pairwise(edges)):
            pair = kept[2 * index : 2 * index + 2]
            assert set(pair) == {values[low:high].min(), values[low:high].max()}
