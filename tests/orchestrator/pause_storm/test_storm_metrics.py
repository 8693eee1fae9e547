"""Metrics of a storm: ports by observer while it goes on, and at its end what the report has."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.metrics_export import process_families
from orchestrator.pause_storm.hold_accounting import account, new_ledger, new_notes
from orchestrator.pause_storm.storm_metrics import FROM_TABLE, StormExporter, held_s
from orchestrator.pause_storm.storm_report import observer_table
from orchestrator.pause_storm.storm_request import StormRequest
from orchestrator.pause_storm.storm_state import Planned, new_state
from tests.orchestrator.metrics_export.scraping import read, samples, valued
from tests.orchestrator.pause_storm.test_command import tried

pytest.importorskip("prometheus_client")

HOLD = 1_000_000


def seen(*frames: tuple[int, int]) -> np.ndarray:
    """Ledger of an observer after frames: (holds the port, ns)."""
    ledger, notes = new_ledger(1), new_notes()
    for holds, at in frames:
        account(ledger, 0, holds, at, at, HOLD, 0, notes)
    return ledger


def test_time_held_counts_the_present_hold_up_to_its_expiry():
    ledger = seen((1, 100))[0]
    assert held_s(ledger, 100) == 0
    assert held_s(ledger, 100 + HOLD // 2) == pytest.approx(HOLD / 2 / 1e9)
    assert held_s(ledger, 100 + 9 * HOLD) == pytest.approx(HOLD / 1e9), "the quanta have run"


@pytest.mark.parametrize(
    "frames",
    [
        [(1, 100), (1, 100 + HOLD // 2), (0, 100 + HOLD)],
        [(1, 100), (1, 100 + 3 * HOLD), (0, 100 + 3 * HOLD + 7)],
        [(1, 100), (0, 100 + HOLD // 4), (1, 5 * HOLD), (0, 5 * HOLD + 9)],
    ],
)
def test_time_held_never_goes_back_and_ends_as_the_report_has_it(frames: list[tuple[int, int]]):
    before = 0.0
    for count in range(1, len(frames) + 1):
        ledger = seen(*frames[:count])[0]
        last = frames[count - 1][1]
        end = frames[count][1] if count < len(frames) else last + 9 * HOLD
        for now in (last, (last + end) // 2, end):
            held = held_s(ledger, now)
            assert held >= before - 1e-12
            before = held
    assert before == pytest.approx(observer_table(ledger)["held_s"])


def test_a_port_is_paused_by_priority_until_its_quanta_expire(monkeypatch: pytest.MonkeyPatch):
    state = new_state([Planned(-1, np.zeros((2, 60), np.uint8), HOLD, 0)], stamps=False)
    now = 10 * HOLD
    monkeypatch.setattr("time.monotonic_ns", lambda: now)
    for priorities, labels in (((3, 4), ["3", "4"]), (None, [""])):
        exporter = StormExporter(StormRequest(("eth9",), 1.0, priorities, 65_535), ["eth9"])
        assert list(exporter.readings()) == [], "it has not begun"
        exporter.observe(state, [])
        for expires, paused in ((now + 1, 1.0), (now - 1, 0.0), (0, 0.0)):
            state.own[0]["expires_ns"] = expires
            state.own[0]["since_ns"] = now - HOLD
            readings = {
                reading[1]: reading[2]
                for reading in exporter.readings()
                if reading[0] is process_families.STORM_PAUSED
            }
            assert readings == {("eth9", label): paused for label in labels}
    found = read(exporter.readings())
    assert not valued(found, "tailback_storm_verdict")
    assert not valued(found, "tailback_storm_frames_total", observer="far_end"), "there is none"
    assert not valued(found, "tailback_storm_worst_margin_seconds"), "no margin was seen yet"


def test_every_key_of_an_observers_table_is_exported_or_derived():
    assert set(observer_table(new_ledger(1)[0])) == {*FROM_TABLE, "held_s", "lapsed_share"}


@pytest.mark.software
@pytest.mark.shares_cores
@pytest.mark.usefixtures("namespaces")
def test_a_real_storm_is_scraped_and_its_last_values_are_those_of_its_report() -> None:
    found = tried("scraped")
    assert found["code"] in (0, 1, 3)
    live, last, report = samples(found["live"]), samples(found["last"]), found["told"]
    assert not valued(live, "tailback_storm_verdict")
    assert set(valued(live, "tailback_storm_paused", interface="near")) <= {0.0, 1.0}
    assert len(valued(live, "tailback_storm_paused", interface="near")) == 2
    assert valued(last, "tailback_storm_verdict", verdict=report["verdict"]) == [1.0]
    (port,) = report["ports"]
    for observer in ("own", "kernel", "far_end"):
        for key, family in FROM_TABLE.items():
            values = valued(last, family.exported, interface="near", observer=observer)
            assert values == [pytest.approx(port[observer][key])], (observer, key)
            if family.kind == "counter":
                assert sum(valued(live, family.exported, observer=observer)) <= values[0]
        held = valued(last, "tailback_storm_held_seconds_total", observer=observer)
        assert held == [pytest.approx(port[observer]["held_s"])]
    assert port["own"]["frames"] > 3
