"""PAUSE end to end: no loss, refreshed in time, ended, and the time held is the time counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.engine.frames.frame_layout import MINIMUM
from orchestrator.engine.node.transmitter import wire_time
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from tests.orchestrator.worlds import ALIGNED, MS, US, Table, at, line_of_three, recorded

LINK = 10**9
QUANTUM_PS = 512 * 10**12 // LINK
FRAME_PS = wire_time(1500, LINK)
DELAY = 20 * US
DURATION = 10 * MS


def squeezed(quanta: int, service: int = 10**8, **changes: Any) -> Table:
    """1 Gb/s into `service`; PAUSE from 30 KB to 15 KB; all that passes the NIC is captured."""
    plan = line_of_three(
        duration=DURATION, capture={"ports": ["nic.switch"], "frames": 20_000, "snap": 64}
    )
    pause = {"plugin": "pause", "high": 30_000, "low": 15_000, "quanta": quanta}
    plan["nodes"]["switch"] |= {"service_rate": service, "buffer": 60_000, "pause": pause}
    plan["links"]["up"]["delay"] = DELAY
    return plan | changes


def pauses(recording: Recording) -> list[tuple[int, int]]:
    """(time, quanta) of every PAUSE frame that reached the NIC, read from its octets."""
    seen = recording.captures[0]
    frames = zip(seen.times_ps, seen.outgoing, seen.octets, strict=True)
    return [
        (int(time), int.from_bytes(octets[16:18].tobytes(), "big"))
        for time, outgoing, octets in frames
        if not outgoing and octets[12:16].tobytes() == b"\x88\x08\x00\x01"
    ]


def held(recording: Recording) -> list[tuple[int, int]]:
    """The intervals in which the NIC must be silent, from the PAUSE frames alone."""
    found: list[tuple[int, int]] = []
    for time, quanta in pauses(recording):
        until = time + quanta * QUANTUM_PS
        if found and found[-1][1] >= time:
            found[-1] = found[-1][0], until
        else:
            found.append((time, until))
    return found


def starts(recording: Recording) -> np.ndarray:
    """When the NIC began to send each of its frames."""
    seen = recording.captures[0]
    return seen.times_ps[seen.outgoing] - DELAY - FRAME_PS


@pytest.mark.parametrize("quanta", [65_535, 300, 100])
def test_with_pause_and_enough_buffer_nothing_is_lost(quanta: int) -> None:
    recording = recorded(squeezed(quanta))
    assert recording.column("switch.sink", "frames_dropped")[-1] == 0
    assert recording.column("switch.sink", "queue_max_bytes")[-1] > 30_000
    assert recording.column("switch.sink", "pause_sent")[-1] > 2
    # The queue never runs dry: PAUSE holds the source, not the service.
    served = np.diff(recording.column("switch.sink", "frames_out"))
    assert served[10:].sum() * 1500 * 8 >= 10**8 * (DURATION - MS) // 10**12 - 2 * 12_000


def test_without_pause_the_same_plan_loses() -> None:
    plan = squeezed(300)
    del plan["nodes"]["switch"]["pause"]
    assert recorded(plan).column("switch.sink", "frames_dropped")[-1] > 100


@pytest.mark.parametrize("quanta", [65_535, 300])
def test_the_peer_is_silent_exactly_while_it_is_held(quanta: int) -> None:
    recording = recorded(squeezed(quanta) | ALIGNED)
    begun = starts(recording)
    silences = held(recording)
    assert len(silences) > 3
    for start, end in silences:
        assert not np.any((begun >= start) & (begun < end))
        if end < DURATION - MS:  # the source always has a frame: it goes on at once
            assert end in begun


def test_the_refresh_keeps_the_peer_stopped() -> None:
    """Quanta of 51.2 us, and 15 KB take 1.2 ms to drain: one pause is many PAUSE frames."""
    recording = recorded(squeezed(100))
    whole = [(start, end) for start, end in held(recording) if end < DURATION - MS]
    told = pauses(recording)
    assert whole
    for start, end in whole:
        mine = [quanta for time, quanta in told if start <= time <= end]
        assert end - start > 10 * 100 * QUANTUM_PS
        assert mine[-1] == 0
        assert len(mine) > 20
        assert set(mine[:-1]) == {100}
    gaps = np.diff([time for time, quanta in told if quanta])
    assert min(gaps) >= 50 * QUANTUM_PS - wire_time(MINIMUM, LINK)


def test_quanta_that_run_out_let_the_peer_go_on() -> None:
    """A service that stands still sends no end: with the refresh cut off, the quanta end it."""
    plan = squeezed(300)
    plan["timeline"] = [{"at": 2 * MS, "cut": "up"}]
    recording = recorded(plan)
    silences = held(recording)
    way = "nic>switch"
    assert silences[-1][1] < 3 * MS
    late = [at(recording, way, "frames_out", t) for t in (4 * MS, 9 * MS)]
    assert late[1] - late[0] == pytest.approx(5 * MS / FRAME_PS, abs=1)


@pytest.mark.parametrize("quanta", [65_535, 300, 100])
def test_paused_time_is_the_time_held(quanta: int) -> None:
    recording = recorded(squeezed(quanta))
    counted = recording.column("nic>switch", "paused_ps")
    due = [
        sum(max(0, min(end, int(now)) - start) for start, end in held(recording))
        for now in recording.times_ps
    ]
    assert due[-1] > 5 * MS
    assert counted.tolist() == due


@pytest.mark.parametrize("quanta", [65_535, 300])
def test_paused_time_of_a_phase_fits_into_the_phase(quanta: int) -> None:
    """Also when the phase begins or ends within a pause."""
    spans = {f"p{n}": {"from": n * MS // 4, "to": (n + 1) * MS // 4} for n in range(8, 36)}
    recording = recorded(squeezed(quanta, phases=spans))
    bounds = {name: (span["from"], span["to"]) for name, span in spans.items()}
    bounds["run"] = (0, DURATION)
    (found, _), *_ = Registry.load().hook.tailback_metrics(recording=recording, phases=bounds)
    wrong = {}
    for name, (start, end) in bounds.items():
        value = found[name]["nic>switch"]["pause.time_s"]
        due = sum(max(0, min(b, end) - max(a, start)) for a, b in held(recording)) / 1e12
        if value != pytest.approx(due, abs=1e-9):
            wrong[name] = (value, due)
    assert wrong == {}


@pytest.mark.parametrize("quanta", [3000, 65_535])
def test_two_queues_that_pause_the_same_peer_lose_nothing(quanta: int) -> None:
    """The end of one queue's pause must not let the peer fill the other one, which still waits."""
    plan = squeezed(quanta, service=10**7)
    for name in ("rival1", "rival2", "other"):
        plan["nodes"][name] = {"kind": "sink" if name == "other" else "nic"}
        plan["links"][name] = {"ends": [name, "switch"], "rate": LINK, "delay": DELAY}
    plan["nodes"]["switch"]["ports"] = {"other": {"service_rate": 3 * 10**8}}
    for number in (1, 2):
        more = {"from": f"rival{number}", "to": "other"}
        plan["traffic"][f"more{number}"] = plan["traffic"]["gen"] | more
    recording = recorded(plan)
    assert recording.column("switch.other", "pause_sent")[-1] > 2
    lost = [int(recording.column(f"switch.{n}", "frames_dropped")[-1]) for n in ("sink", "other")]
    assert lost == [0, 0]
