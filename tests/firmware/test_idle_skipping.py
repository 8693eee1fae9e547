"""Clocks that the fabric does not evaluate: the same results to the bit, at fewer evaluations."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import numpy as np
import pytest

from firmware.verilated import rest_state
from firmware.verilated.fabric_binding import Fabric
from firmware.verilated.model_build import RTL, missing_tools
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run.execute_run import run

PLANS = Path(__file__).parent / "plans"
builds_models = pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools()))

STEPS = """
[[timeline]]
at = "0.3ms"
set = "nodes.switch.service_rate"
to = "{low}"

[[timeline]]
at = "0.4ms"
pause = "nic1.switch"

[[timeline]]
at = "0.6ms"
resume = "nic1.switch"

[[timeline]]
at = "1.1ms"
set = "nodes.switch.service_rate"
to = "1Gb/s"

[[timeline]]
at = "1.2ms"
set = "links.down.rate"
to = "300Mb/s"
"""
PAUSES = 'pause = { plugin = "pause", high = "20KB", low = "10KB" }\n\n[nodes.sink]'
BY_HAND = 'congestion_point = { plugin = "qcn-cp", preset = "netfpga", sample_base = "15KB" }'
PIE = 'congestion_point = { plugin = "pie", target = "50us", update_interval = "17us" }'
CODEL = 'congestion_point = { plugin = "codel", target = "20us", interval = "60us" }'
REPLACED = {PAUSES: "[nodes.sink]", PIE: BY_HAND, CODEL: BY_HAND}
LOADS = {
    "overload": ("overload.toml", "", ()),
    "react": ("react.toml", STEPS.format(low="50Mb/s"), ("links.down.delay=3us",)),
    "idle": (
        "overload.toml",
        "",
        ("traffic.one.rate=5Mb/s", "traffic.two.rate=20Mb/s", "traffic.two.start=0.7ms"),
    ),
    "steps": ("overload.toml", STEPS.format(low="100Mb/s"), ("traffic.two.rate=700Mb/s",)),
    "slow links": (
        "react.toml",
        "",
        ("links.up1.rate=20Mb/s", "links.up2.rate=0.3Gb/s", "links.up2.delay=0us"),
    ),
    "fast links": (
        "overload.toml",
        "",
        ("links.up1.rate=1.9Gb/s", "links.down.rate=2Gb/s", "nodes.switch.service_rate=1.7Gb/s"),
    ),
    "pause": ("overload.toml", PAUSES, ("traffic.two.rate=900Mb/s",)),
    "mixed": ("react.toml", "", ("nodes.nic2.target=simulated",)),
    # compiled kernels: arrivals, departures and a timer; limiters, messages and timers
    "compiled point": (
        "overload.toml",
        PIE,
        ("traffic.one.rate=150Mb/s", "traffic.two.rate=0.2Gb/s"),
    ),
    # frames that wait for their answers as they leave, and are dropped
    "compiled gate": (
        "overload.toml",
        CODEL,
        ("traffic.one.rate=250Mb/s", "traffic.two.rate=0.3Gb/s"),
    ),
    "compiled limiters": (
        "marking.toml",
        "",
        ("nodes.receiver.target=simulated", "nodes.switch.congestion_point.high=20KB"),
    ),
}
SLOW = ("mixed", "compiled point", "compiled gate", "compiled limiters")


class Counting(Fabric):
    """Adds the clocks that it skipped to `counts`, and those that it passed."""

    counts: list[tuple[int, int]]

    def close(self) -> None:
        self.counts.append((self.skipped, self.clocks * len(self._models)))
        super().close()


def recorded(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, skips: bool
) -> tuple[Recording, tuple[int, int]]:
    """A run, and its clocks skipped and passed, of all nodes."""
    Counting.counts = []
    with monkeypatch.context() as patch:
        made = functools.partial(Counting, skips=skips)
        patch.setattr("firmware.target.model_network.Fabric", made)
        recording = run(plan, target="gateware", out=None).recording
    return recording, Counting.counts[0]


def plan_of(load: str) -> Plan:
    name, more, settings = LOADS[load]
    text = (PLANS / name).read_text()
    text = text.replace(REPLACED[more], more) if more in REPLACED else text + more
    made = Plan.load(text)
    (phase,) = made.phases
    short = ("duration=1.5ms", "sample_interval=37us", f"phases.{phase}.from=0.1ms")
    return made.with_settings([*short, f"phases.{phase}.to=1.5ms", *settings])


@builds_models
@pytest.mark.parametrize(
    "load", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in LOADS]
)
def test_skipped_clocks_leave_results_as_they_are(
    monkeypatch: pytest.MonkeyPatch, load: str
) -> None:
    """Frames, samples, events and counters are those of a run in which each clock is evaluated and
    each word goes when a wire has room for it."""
    plan = plan_of(load)
    one, (none, _) = recorded(monkeypatch, plan, False)
    other, (skipped, passed) = recorded(monkeypatch, plan, True)
    assert none == 0
    assert skipped > passed * (0.8 if load == "idle" else 0.2)
    assert sum(len(capture.times_ps) for capture in one.captures) > (5 if load == "idle" else 50)
    for mine, theirs in zip(one.captures, other.captures, strict=True):
        for name in ("times_ps", "outgoing", "lengths", "octets"):
            assert np.array_equal(getattr(mine, name), getattr(theirs, name))
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.times_ps, other.times_ps)
    assert one.events == other.events
    assert one.fidelity is not None
    assert other.fidelity is not None
    for key in ("verdict", "lost_outside_queues", "clocks", "compiled"):
        assert one.fidelity.get(key) == other.fidelity.get(key)


def test_modules_that_read_the_time_are_in_the_table() -> None:
    """Another module with the port `now` may wait for an instant that bounds no rest."""
    timed = {
        path.stem
        for path in RTL.glob("*.v")
        if re.search(r"^\s+(input|output)\s+(wire|reg)\s+\[61:0\]\s+now\b", path.read_text(), re.M)
    }
    assert timed == rest_state.TIMED_MODULES | rest_state.UNSUPPORTED_MODULES


HEADER = """
        CData/*0:0*/ qcn_nic__DOT__held;
        QData/*61:0*/ qcn_nic__DOT__held_until;
        QData/*61:0*/ qcn_nic__DOT__timer__DOT__received_at;
        VL_OUT8(m_tvalid,0,0);
        VlUnpacked<VlWide<10>/*296:0*/, 2> qcn_nic__DOT__sources__DOT__states;
        VlUnpacked<QData/*62:0*/, 4> qcn_nic__DOT__limiters__DOT__reaction_points__DOT__timers;
        VlUnpacked<QData/*61:0*/, 4> qcn_nic__DOT__limiters__DOT__buckets__DOT__ticks;
"""
SIZES = {"FLOWS": 2, "LIMITERS": 4}


def test_table_has_each_member_once_and_each_instant() -> None:
    table = rest_state.rest_table(HEADER, "qcn_nic", SIZES, compiled=False)
    assert "REST_PERIOD = 24;" in table
    assert "SPAN(qcn_nic__DOT__held)" in table
    assert "SPAN(m_tvalid)" in table
    assert "OFFSET(qcn_nic__DOT__timer__DOT__received_at)" in table
    assert "states, 235, 2," in table
    assert re.search(r"timers, 0, 4, .*, true\)", table)
    assert table.count("INSTANT(") == 4


def test_timers_of_compiled_kernels_are_instants() -> None:
    header = HEADER.replace("QData/*62:0*/, 4> ", "QData/*63:0*/, 4> ").replace(
        "timers;", "timer_of;"
    )
    table = rest_state.rest_table(header, "qcn_nic", SIZES, compiled=True)
    assert re.search(r"timer_of, 0, 4, .*, true\)", table)
    assert table.count("INSTANT(") == 4
    without = header.replace("timer_of;", "others;")
    none = rest_state.no_rest_table()
    assert rest_state.rest_table(without, "qcn_nic", SIZES, compiled=True) == none
    assert rest_state.rest_table(header, "qcn_nic", SIZES, compiled=False) == none


@pytest.mark.parametrize(
    "header",
    [
        HEADER.replace("ticks;", "others;"),  # an instant that the table needs
        HEADER + "        NewData/*3:0*/ qcn_nic__DOT__other;\n",  # a type that it does not know
    ],
)
def test_an_unexpected_header_means_no_rest(header: str) -> None:
    assert (
        rest_state.rest_table(header, "qcn_nic", SIZES, compiled=False)
        == rest_state.no_rest_table()
    )
