"""Lanes: PFC holds one and lets the others go; PAUSE holds all; a service rate is the port's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.mac_control import MACControlClassBasedFlowControl
from scapy.layers.l2 import Ether

from orchestrator.engine.frames import decode, encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.pfc_frame import quanta_of, set_quanta
from orchestrator.engine.records import PFC
from orchestrator.recording import Recording
from tests.orchestrator.worlds import MS, Table, at, line_of_three, recorded

LINK = 10**9


def two_priorities(plugin: str, **changes: object) -> Table:
    """A flow of priority 3 towards a slow sink and one of priority 5 towards a fast one."""
    plan = line_of_three(priorities="separate", duration=10 * MS, **changes)
    pause = {"plugin": plugin, "high": 20_000, "low": 10_000}
    plan["nodes"]["slow"] = {"kind": "sink"}
    plan["nodes"]["switch"] |= {"pause": pause, "ports": {"slow": {"service_rate": LINK // 10}}}
    plan["links"]["slow"] = {"ends": ["switch", "slow"], "rate": LINK}
    gen = plan["traffic"]["gen"]
    plan["traffic"] = {
        "held": gen | {"to": "slow", "priority": 3, "rate": LINK // 2},
        "free": gen | {"priority": 5, "rate": LINK // 2},
    }
    return plan


def received(recording: Recording, flow: str) -> int:
    return at(recording, flow, "bytes_received", 10 * MS) * 8


def test_pfc_holds_one_priority() -> None:
    recording = recorded(two_priorities("pfc"))
    assert received(recording, "held") / 0.01 == pytest.approx(LINK / 10, rel=0.03)
    assert received(recording, "free") / 0.01 == pytest.approx(LINK / 2, rel=0.03)
    assert at(recording, "nic>switch/p3", "paused_ps", 10 * MS) > 7 * MS
    assert at(recording, "nic>switch/p5", "paused_ps", 10 * MS) == 0
    any_lane = at(recording, "nic>switch", "paused_ps", 10 * MS)
    assert any_lane == at(recording, "nic>switch/p3", "paused_ps", 10 * MS)
    assert at(recording, "switch.slow/p3", "pause_sent", 10 * MS) > 0
    assert at(recording, "switch.slow/p5", "frames_in", 10 * MS) == 0


def test_pause_holds_them_all() -> None:
    recording = recorded(two_priorities("pause"))
    assert received(recording, "free") / received(recording, "held") == pytest.approx(1, rel=0.1)
    held = [at(recording, f"nic>switch/p{p}", "paused_ps", 10 * MS) for p in (3, 5)]
    assert held[0] == held[1] > 7 * MS


def test_lanes_share_the_service_rate_of_their_port() -> None:
    plan = line_of_three(priorities="separate", duration=10 * MS)
    plan["nodes"]["switch"]["service_rate"] = LINK // 2
    gen = plan["traffic"]["gen"]
    plan["traffic"] = {f"p{n}": gen | {"priority": n, "rate": LINK} for n in (0, 1)}
    plan["links"]["up"]["rate"] = 4 * LINK
    recording = recorded(plan)
    rates = [received(recording, f"p{n}") / 0.01 for n in (0, 1)]
    assert sum(rates) == pytest.approx(LINK / 2, rel=0.02)
    assert rates[0] == pytest.approx(rates[1], rel=0.02), "they take turns"


def test_with_shared_lanes_pfc_holds_every_priority() -> None:
    plan = two_priorities("pfc")
    plan["priorities"] = "shared"
    recording = recorded(plan)
    assert received(recording, "free") / received(recording, "held") == pytest.approx(1, rel=0.1)


def test_the_octets_of_a_pfc_frame() -> None:
    frame = empty_descriptors(1)[0]
    frame.kind, frame.length, frame.source, frame.mark, frame.inner = PFC, 60, 7, 0b1000_1001, 0
    for priority, quanta in ((0, 0xFFFF), (3, 0x1234), (7, 1)):
        set_quanta(frame, priority, quanta)
    octets = np.full(128, 0xEE, np.uint8)
    assert encode(frame, octets) == 60
    expected = "0180c2000001 025442000007 8808 0101 0089 ffff 0000 0000 1234 0000 0000 0000 0001"
    assert octets[:60].tobytes() == bytes.fromhex(expected) + bytes(26)


@given(vector=st.integers(0, 255), quanta=st.lists(st.integers(0, 65_535), min_size=8, max_size=8))
def test_a_pfc_frame_comes_back_as_it_went(vector: int, quanta: list[int]) -> None:
    frame, again = (empty_descriptors(1)[0] for _ in range(2))
    frame.kind, frame.length, frame.source, frame.mark, frame.inner = PFC, 60, 1, vector, 0
    for priority, value in enumerate(quanta):
        set_quanta(frame, priority, value)
    octets = np.zeros(128, np.uint8)
    encode(frame, octets)
    assert decode(octets, 60, again) == PFC
    assert (again.mark, again.source) == (vector, 1)
    assert [quanta_of(again, priority) for priority in range(8)] == quanta


@pytest.mark.parametrize("priority", range(8))
@pytest.mark.parametrize("lanes", ["shared", "separate"])
def test_the_time_of_a_class_that_is_not_enabled_is_0(priority: int, lanes: str) -> None:
    """As an independent codec reads the frames that a switch sends, at any priority."""
    plan = line_of_three(capture={"ports": ["switch.nic"], "frames": 1_000}, priorities=lanes)
    plan["nodes"]["switch"] |= {
        "service_rate": 10**8,
        "pause": {"plugin": "pfc", "high": 9_000, "low": 4_000},
    }
    plan["traffic"]["gen"]["priority"] = priority
    (capture,) = recorded(plan).captures
    frames = [bytes(row) for row, out in zip(capture.octets, capture.outgoing, strict=True) if out]
    seen = [Ether(octets)[MACControlClassBasedFlowControl] for octets in frames if octets[15] == 1]
    assert seen
    for frame in seen:
        for name in range(8):
            enabled = frame.getfieldval(f"c{name}_enabled")
            assert enabled or frame.getfieldval(f"c{name}_pause_time") == 0
    assert any(frame.getfieldval(f"c{priority}_pause_time") for frame in seen)
