"""Octets that the compiled builder writes, held to an independent reading of them (scapy)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.otg import frame_builder, traffic_loop
from orchestrator.otg.generator import Generator
from orchestrator.otg.generator_state import FLOW, PAUSED, STARTED, GeneratorState, new_state
from orchestrator.otg.otg_config import read_config
from orchestrator.otg.rocev2_state import QueuePairs
from tests.orchestrator.otg.test_otg_config import INTERFACES, message

scapy = pytest.importorskip("scapy.all")
STACKS = {
    "udp": ["ethernet", "ipv4", "udp"],
    "vlan": ["ethernet", "vlan", "ipv4", "udp"],
    "six": ["ethernet", "ipv6", "udp"],
    "tagged six": ["ethernet", "vlan", "ipv6", "udp"],
    "bare": ["ethernet", "ipv4"],
}


def state_of(packet: list[Any], **flow: Any) -> GeneratorState:
    config = read_config(message(packet=packet, **flow), INTERFACES)
    return new_state(config, [-1, -1], [1, 2], -1, 3, QueuePairs([]).state)


def built(state: GeneratorState, length: int, number: int = 0) -> bytes:
    row = np.full(2000, 0xEE, np.uint8)
    state.flows[0]["begun"] = number
    known = frame_builder.build_frame(state, 0, row, length, 123_456_789)
    return bytes(row[:known]) + bytes(length - known)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(sorted(STACKS)),
    st.integers(86, 1400),
    st.integers(0, 5000),
    st.booleans(),
    st.binary(min_size=4, max_size=4),
)
def test_every_stack_at_every_size_has_lengths_and_checksums_that_scapy_computes(
    name: str, length: int, number: int, stamped: bool, source: bytes
) -> None:
    packet: list[Any] = [{"choice": kind, kind: {}} for kind in STACKS[name]]
    if "ipv4" in STACKS[name]:
        text = ".".join(map(str, source))
        packet[-1 if name == "bare" else -2]["ipv4"] = {
            "src": {"increment": {"start": text, "step": "0.0.1.3", "count": 7}}
        }
    state = state_of(packet, metrics={"enable": stamped}, size={"fixed": length + 4})
    octets = built(state, length, number)
    assert len(octets) == length
    frame = scapy.Ether(octets)
    again = frame.copy()
    for layer, fields in (
        ("IP", ("len", "chksum")),
        ("IPv6", ("plen",)),
        ("UDP", ("len", "chksum")),
    ):
        if again.haslayer(layer):
            for field in fields:
                delattr(again[layer], field)
    assert bytes(again) == octets
    if "ipv4" in STACKS[name]:
        begins = int.from_bytes(source)
        wanted = (begins + number % 7 * 0x103) % 2**32
        assert int.from_bytes(bytes(map(int, frame["IP"].src.split(".")))) == wanted


def test_wrong_checksums_are_wrong_and_given_ones_are_kept() -> None:
    packet: list[Any] = [{"choice": kind, kind: {}} for kind in STACKS["udp"]]
    right = scapy.Ether(built(state_of(packet), 60))
    packet[1]["ipv4"] = {"header_checksum": {"generated": "bad"}}
    packet[2]["udp"] = {"checksum": {"custom": 0xBEEF}, "length": {"value": 9}}
    wrong = scapy.Ether(built(state_of(packet), 60))
    assert wrong["IP"].chksum != right["IP"].chksum
    assert (wrong["UDP"].chksum, wrong["UDP"].len) == (0xBEEF, 9)


def test_a_pfc_frame_is_that_of_8021qbb() -> None:
    packet = [{"choice": "pfcpause", "pfcpause": {
        "class_enable_vector": {"value": 9}, "pause_class_0": {"value": 1},
        "pause_class_3": {"values": [65_535, 0]}, "src": {"value": "02:00:00:00:00:05"},
    }}]  # fmt: skip
    state = state_of(packet)
    head = "0180c20000010200000000058808" + "0101" + "0009" + "0001" + "0000" * 2
    assert built(state, 60).hex() == head + "ffff" + "0000" * 4 + "00" * 26
    assert built(state, 60, 1)[24:26] == b"\0\0", "the second frame releases the priority"


def test_a_stamp_has_configuration_flow_sequence_and_time() -> None:
    packet = [{"choice": kind, kind: {}} for kind in STACKS["udp"]]
    octets = built(state_of(packet, metrics={"enable": True}, size={"fixed": 100}), 96, 0x01020304)
    assert octets[-16:].hex() == "7a071603" + "0000" + "01020304" + f"{123_456_789:012x}"


def flow(**fields: int) -> np.ndarray:
    row = np.zeros(1, FLOW)
    row["state"], row["speed_bps"] = STARTED, 10**10
    for name, value in fields.items():
        row[name] = value
    return row


def test_schedule_of_rates_and_bursts() -> None:
    rows = flow(rate_bps=10**9)
    traffic_loop.reschedule(rows[0], 1230 - 4)
    assert rows[0]["due_ps"] == 1250 * 8 * 1000, "1230 octets and 20 of preamble and gap"
    rows = flow(interval_ps=10**9, burst_frames=2, burst_gap_ps=7 * 10**6)
    dues = []
    for number in range(1, 5):
        rows["begun"] = number
        traffic_loop.reschedule(rows[0], 60)
        dues.append(int(rows[0]["due_ps"]))
    wire = 84 * 8 * 100
    first = 10**9 + wire + 7 * 10**6
    assert dues == [10**9, first, first + 10**9, 2 * first]


def test_order_and_latency_of_received_frames() -> None:
    rows = flow()
    for sequence in (0, 1, 5, 3, 3, 6, 7):
        traffic_loop.count_order(rows[0], sequence)
    assert (rows[0]["lost"], rows[0]["reordered"], rows[0]["expected"]) == (1, 2, 8)
    rows = flow(expected=0xFFFFFFFF)
    for sequence in (0xFFFFFFFF, 0, 1):
        traffic_loop.count_order(rows[0], sequence)
    assert (rows[0]["lost"], rows[0]["reordered"]) == (0, 0), "sequence numbers go round"
    for sent, received in ((100, 350), (2**48 - 50, 2**48 + 100), (500, 400)):
        traffic_loop.count_latency(rows[0], sent % 2**48, received)
    names = ("latency_count", "latency_min_ns", "latency_max_ns", "latency_sum_ns")
    assert [int(rows[0][name]) for name in names] == [3, 0, 250, 400]
    assert traffic_loop.is_over(flow(bursts=2, burst_frames=3, begun=6)[0])
    assert not traffic_loop.is_over(flow(bursts=2, burst_frames=3, begun=5)[0])


def test_the_time_of_a_pause_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    packet = [{"choice": kind, kind: {}} for kind in STACKS["udp"]]
    made = Generator.__new__(Generator)
    made.state = state_of(packet, duration={"fixed_seconds": {"seconds": 1}})
    row = made.state.flows[0]
    row["state"], row["due_ps"], row["began_ps"] = STARTED, 130, 100
    now = iter([500, 1500])
    monkeypatch.setattr(made, "_turn", lambda: None)
    monkeypatch.setattr(made, "_now_ps", lambda: next(now))
    made.pause([0])
    assert row["state"] == PAUSED
    made.resume([0])
    assert (row["state"], row["due_ps"], row["began_ps"]) == (STARTED, 1130, 1100)
