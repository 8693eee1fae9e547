"""How a capsule's run is made again."""

from __future__ import annotations

import pytest

from traces.capsule.rerun import pace_of


@pytest.mark.parametrize(
    ("said", "pace"),
    [
        (None, None), (1.0, None), (1, None), (0.25, 0.25), (2, 2.0), ("0.5", None), (0, None),
        (-1.0, None), (1e9, None), ([], None),
    ],
)  # fmt: skip
def test_the_pace_of_a_machine_is_taken_over(said: object, pace: float | None) -> None:
    assert pace_of({"verdict": "valid", "pace": said}) == pace
    assert pace_of({"verdict": "valid"}) is None
