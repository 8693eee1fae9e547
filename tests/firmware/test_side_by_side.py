"""Models clocked side by side come to what they come to one after the other, to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from firmware.verilated.fabric_binding import Fabric
from firmware.verilated.model_build import missing_tools
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run.execute_run import run

PLANS = Path(__file__).parent / "plans"
pytestmark = pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools()))


class Stepping(Fabric):
    """Never goes ahead by more than a clock: so no node can be late for a word."""

    def run(self, until: int, *, accesses: bool = False) -> int:
        """As it does, a clock at a time."""
        if accesses:
            return super().run(until, accesses=True)
        now = super().run(0)
        while now < until:
            now = super().run(min(now + self.period, until))
        return now


def on(cores: int | None, plan: str, *settings: str) -> Recording:
    short = ("duration=1ms", "phases.all.from=0.1ms", "phases.all.to=1ms")
    made = Plan.load((PLANS / plan).read_text()).with_settings([*short, *settings])
    return run(made, target="gateware", out=None, cores=cores).recording


@pytest.mark.parametrize(
    ("plan", "settings"),
    [
        ("overload.toml", ()),
        # the shortest links: no node may go ahead by more than a word's time
        ("overload.toml", ("links.up1.delay=0us", "links.up2.delay=0us")),
        # one of the nodes is simulated, in a world beside
        pytest.param("overload.toml", ("nodes.nic1.target=simulated",), marks=pytest.mark.slow),
    ],
)
def test_any_number_of_cores_comes_to_the_same(
    monkeypatch: pytest.MonkeyPatch, plan: str, settings: tuple[str, ...]
) -> None:
    """And to what single clocks come to, of which none is ahead of another."""
    with monkeypatch.context() as patch:
        patch.setattr("firmware.target.model_network.Fabric", Stepping)
        one = on(None, plan, *settings)
    assert one.captures
    assert sum(len(capture.times_ps) for capture in one.captures) > 100
    for cores in (1, 2):
        other = on(cores, plan, *settings)
        assert other.fidelity is not None
        assert other.fidelity["cores"] == cores
        for mine, theirs in zip(one.captures, other.captures, strict=True):
            assert np.array_equal(mine.times_ps, theirs.times_ps)
            assert np.array_equal(mine.octets, theirs.octets)
        assert one.fidelity["clocks"] == other.fidelity["clocks"]
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.times_ps, other.times_ps)
        assert one.events == other.events
