"""Links and buffers that had an octet more than they may have are told, however large they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.recording import Column
from orchestrator.registry import Registry
from orchestrator.run.world_invariants import (
    HIGHEST,
    LONGEST,
    Limits,
    _beyond_rates,
    _first_violation,
)
from tests.orchestrator.worlds import line_of_three

HOUR_PS = 3600 * 10**12


def test_each_link_has_its_own_rate() -> None:
    """One of 1 Gb/s that sent what one of 2 Gb/s may, and that one with what it may."""
    rates = {"slow": 10**9, "fast": 2 * 10**9}
    sent = 15 * 10**8 // 8 + LONGEST
    for order in (["slow", "fast"], ["fast", "slow"]):
        plan: Any = SimpleNamespace(
            directions=lambda: [SimpleNamespace(entity=name, link=name) for name in rates],
            links={name: SimpleNamespace(rate=rate) for name, rate in rates.items()},
        )
        recording: Any = SimpleNamespace(
            times_ps=np.array([0, 10**12], np.int64),
            columns=[Column("a", name, "bytes_out", "B", "counter") for name in order],
            values=np.array([[0, 0], [sent, sent]], np.int64),
        )
        (one,) = _beyond_rates(SimpleNamespace(plan=plan, actions=[]), recording)  # type: ignore[arg-type]
        assert one.startswith("slow at 1 s")


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


def test_an_invariant_that_holds_but_in_one_sample_is_told() -> None:
    recording: Any = SimpleNamespace(times_ps=np.array([0, 10**12, 2 * 10**12], np.int64))
    values = [np.array([5, 9, 9]), np.array([5, 4, 10])]
    (one,) = _first_violation(HIGHEST, values, "switch.sink", recording)
    assert one.startswith("switch.sink at 2 s: most octets of a buffer")
    assert one.endswith("(bytes_max 9, bytes 10)")
    assert _first_violation(HIGHEST, [values[0][:2], values[1][:2]], "switch.sink", recording) == []


@pytest.mark.parametrize("to", [20_000, 60_000])
def test_a_buffer_may_hold_what_the_largest_one_that_a_step_makes_does(to: int) -> None:
    step = {"at": 10**9, "set": "nodes.switch.ports.sink.buffer", "to": to}
    table = line_of_three(timeline=[step])
    table["nodes"]["switch"]["buffer"] = 40_000
    capacity = Limits.of(Plan(**table).check(Registry.load())).capacity
    assert capacity["switch.sink"] == max(40_000, to)
    assert capacity["switch.nic"] == 40_000
