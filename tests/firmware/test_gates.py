"""Parts of a model that sleep: a run is the same, to the bit, where none of them ever does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from firmware.model import build
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run.execute import run

PLANS = Path(__file__).parent / "plans"


def recorded(name: str) -> Recording:
    return run(Plan.load((PLANS / name).read_text()), target="gateware", out=None).recording


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(build.lacking() is not None, reason=str(build.lacking()))
@pytest.mark.parametrize("name", ["react.toml", "overload.toml"])
def test_what_sleeps_misses_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Captures hold every frame's octets and instant, samples every counter that is read."""
    sleeping = recorded(name)
    monkeypatch.setattr(build, "GATED", "+define+AWAKE")
    awake = recorded(name)
    assert sleeping.values.size
    assert np.array_equal(sleeping.values, awake.values)
    assert sum(len(one.times_ps) for one in sleeping.captures) > 100
    for one, other in zip(sleeping.captures, awake.captures, strict=True):
        for column in ("times_ps", "outgoing", "lengths", "octets"):
            assert np.array_equal(getattr(one, column), getattr(other, column)), column


def test_every_gate_of_a_model_is_clocked() -> None:
    """The macro that goes through them is read out of what Verilator wrote."""
    root = "CData/*0:0*/ a__DOT__gate__DOT__pulse;\nCData/*0:0*/ b__DOT__x__DOT__pulse;\n"
    assert build._gates(root) == "#define GATES(each) each(a__DOT__gate) each(b__DOT__x)\n"
