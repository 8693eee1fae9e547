"""What a device did to frames, from captures on both sides: errors that are put in are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.recording import PortCapture, Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.terminal.plan_loading import load_plan
from tests.orchestrator.worlds import ALIGNED
from traces.metrics.dut_frame_matching import frame_keys, match_frames
from traces.metrics.dut_metrics import device_metrics
from traces.oracle.dut_conformance import _reorders, judge_devices

COLUMNS = ("times_ps", "outgoing", "lengths", "kept", "octets")
SHORT = ["duration=50ms", "phases.steady.from=10ms", "phases.steady.to=40ms"]
SHORT += [f"{key}={value}" for key, value in ALIGNED.items()]  # both hosts send at once


@pytest.fixture(scope="module")
def recording() -> Recording:
    return run(load_plan("external-switch", SHORT), out=None).recording


def rows(capture: PortCapture, some: np.ndarray) -> PortCapture:
    return replace(capture, **{name: getattr(capture, name)[some] for name in COLUMNS})


def erring(recording: Recording, err: Callable[[PortCapture], PortCapture]) -> Recording:
    """The recording with something else seen at the sink."""
    captures = [err(one) if one.node == "sink" else one for one in recording.captures]
    return replace(recording, captures=captures)


def seen(recording: Recording) -> dict[str, Any]:
    span = {"run": (0, int(recording.times_ps[-1]))}
    found = device_metrics(recording.facing, recording.captures, span, span["run"][1])
    return found["run"]["sw"]


def oracle(recording: Recording) -> dict[str, Any]:
    plan = load_plan("external-switch", SHORT).check(Registry.load())
    return judge_devices(plan, recording)["sw"]


def test_a_sound_device_conforms(recording: Recording) -> None:
    found = seen(recording)
    assert found["frames.received"] == found["frames.sent"] > 200
    assert found["frames.dropped"] == found["frames.reordered"] == found["frames.foreign"] == 0
    assert found["latency_s.max"] == pytest.approx(16e-6)
    assert oracle(recording)["oracle"] == "conforms"


def test_a_lost_frame_is_counted_and_named(recording: Recording) -> None:
    lossy = erring(recording, lambda c: rows(c, np.arange(len(c.times_ps)) != 20))
    found = seen(lossy)
    assert found["frames.dropped"] == 1
    assert found["frames.drop_ratio"] == 1 / found["frames.received"]
    told = oracle(lossy)
    assert told["oracle"] == "departs"
    assert told["finding"]["port"] == "sw.sink"


def swapped(capture: PortCapture) -> PortCapture:
    """Frame 20 is kept back until frame 30 is out."""
    order = np.insert(np.delete(np.arange(len(capture.times_ps)), 20), 30, 20)
    times = capture.times_ps[order]
    times[30] = times[29]
    return replace(rows(capture, order), times_ps=times)


def test_frames_that_change_places_are_counted(recording: Recording) -> None:
    assert not _reorders("sw", recording)
    assert _reorders("sw", erring(recording, swapped))
    found = seen(erring(recording, swapped))
    assert found["frames.reordered"] == 1
    assert found["frames.dropped"] == 0
    assert oracle(erring(recording, swapped))["oracle"] == "departs"


def test_twice_is_twice_and_damaged_is_foreign(recording: Recording) -> None:
    def doubled(capture: PortCapture) -> PortCapture:
        return rows(capture, np.sort(np.append(np.arange(len(capture.times_ps)), 20)))

    def damaged(capture: PortCapture) -> PortCapture:
        octets = capture.octets.copy()
        octets[20, 70] ^= 1
        return replace(capture, octets=octets)

    assert seen(erring(recording, doubled))["frames.duplicated"] == 1
    found = seen(erring(recording, damaged))
    assert (found["frames.foreign"], found["frames.dropped"]) == (1, 1)


def test_a_capture_that_was_full_gives_no_numbers(recording: Recording) -> None:
    full = erring(recording, lambda c: replace(rows(c, np.arange(30)), dropped=5))
    found = seen(full)
    assert set(found.values()) == {None}
    assert match_frames({"sw.x": "no.where"}, recording.captures) is None


def test_a_frame_is_known_again_by_what_no_switch_changes(recording: Recording) -> None:
    capture = next(one for one in recording.captures if one.node == "sink")
    octets, lengths = capture.octets[:1].copy(), capture.lengths[:1]
    before = frame_keys(octets, lengths)
    for place in (0, 7, 12 + 4 + 2 + 1, 12 + 4 + 2 + 8):  # addresses, TOS, TTL
        octets[0, place] ^= 1
    assert frame_keys(octets, lengths) == before
    bare = np.delete(octets, [12, 13, 14, 15], axis=1)
    bare = np.concatenate([bare, np.zeros((1, 4), np.uint8)], axis=1)
    assert frame_keys(bare, lengths - 4) == before
    octets[0, 60] ^= 1
    assert frame_keys(octets, lengths) != before


def test_clocks_that_differ_are_allowed_for_and_the_oracle_says_nothing(
    recording: Recording,
) -> None:
    """The sink's clock is 50 us behind: its frames seem to come out before they went in."""
    behind = erring(recording, lambda c: replace(c, times_ps=c.times_ps - 50_000_000))
    assert seen(behind)["frames.foreign"] > 200
    span = {"run": (0, int(recording.times_ps[-1]))}
    found = device_metrics(behind.facing, behind.captures, span, span["run"][1], 60_000_000)["run"][
        "sw"
    ]
    assert found["frames.foreign"] == found["frames.dropped"] == 0
    assert found["latency_s.max"] == 0
    told = oracle(replace(behind, apart_ps=60_000_000))
    assert told["oracle"] == "not followed"
    assert "clocks that agree to 60 us" in told["text"]
