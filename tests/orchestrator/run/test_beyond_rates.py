"""A link that sent an octet more than its rate allows is told, however large the numbers are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator.recording import Column
from orchestrator.run.invariants import LONGEST, _beyond_rates

HOUR_PS = 3600 * 10**12


def told(rate: int, at_ps: int, sent: int) -> list[str]:
    """What is said of a link whose last sample is this one."""
    plan: Any = SimpleNamespace(
        directions=lambda: [SimpleNamespace(entity="a>b", link="wire")],
        links={"wire": SimpleNamespace(rate=rate)},
    )
    recording: Any = SimpleNamespace(
        times_ps=np.array([0, at_ps], np.int64),
        columns=[Column("a", "a>b", "bytes_out", "B", "counter")],
        values=np.array([[0], [sent]], np.int64),
    )
    resolved: Any = SimpleNamespace(plan=plan, actions=[])
    return list(_beyond_rates(resolved, recording))


@pytest.mark.parametrize("rate", [1, 7 * 10**6, 10**9, 25_781_250_000, 4 * 10**11])
@pytest.mark.parametrize("at_ps", [1, 999_999_999_999, 20 * 10**12 + 3, HOUR_PS])
def test_the_last_octet_that_a_rate_allows(rate: int, at_ps: int) -> None:
    most = at_ps * rate // (8 * 10**12) + LONGEST
    assert told(rate, at_ps, most) == []
    (one,) = told(rate, at_ps, most + 1)
    assert f"bytes_out {most + 1}, rate {rate}" in one
