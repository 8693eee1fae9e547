"""Quanta, margins and octets, against figures of the standards and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pause_storm import pause_quanta
from orchestrator.pause_storm.pause_frames import HOLDS, LETS_GO, frames_of

MAC = "02:54:42:00:00:01"


@pytest.mark.parametrize(
    ("quanta", "rate", "ns"),
    [
        (65_535, 10**9, 33_553_920),
        (65_535, 10**11, 335_539),
        (1, 10**9, 512),
        (300, 10**10, 15_360),
    ],
)
def test_quanta_are_512_bit_times_each(quanta: int, rate: int, ns: int) -> None:
    assert pause_quanta.hold_ns(quanta, rate) == ns


@given(quanta=st.integers(1, 65_535), rate=st.integers(10**6, 10**12))
def test_no_hold_is_taken_for_longer_than_it_is(quanta: int, rate: int) -> None:
    exact = quanta * 512 * 10**9 / rate
    assert exact - 1.01 <= pause_quanta.hold_ns(quanta, rate) <= exact + 0.001


def test_a_frame_takes_84_octets_of_the_wire() -> None:
    assert (pause_quanta.wire_ns(10**9), pause_quanta.wire_ns(10**11)) == (672, 7)


@pytest.mark.parametrize(
    ("late", "margin"), [(0, 750), (187, 750), (188, 752), (218, 872), (219, 875), (10**9, 875)]
)
def test_the_margin_is_three_quarters_and_more_for_who_is_late(late: int, margin: int) -> None:
    assert pause_quanta.margin_ns(1_000_000, late * 1000) == margin * 1000


@pytest.mark.parametrize(
    ("ports", "margin"),
    [(1, 750_000), (75, 750_000), (150, 500_000), (261, 130_000), (300, 125_000)],
)
def test_many_ports_have_what_one_core_leaves_them(ports: int, margin: int) -> None:
    """2.5 us a frame, three quarters of a core: 150 ports have a frame each half of a ms."""
    assert pause_quanta.margin_ns(1_000_000, 0, ports) == margin


def test_a_pfc_frame_holds_its_priorities_alone() -> None:
    frames = frames_of(MAC, (3, 4), 0x1234)
    head = "0180c2000001025442000001880801010018"
    assert frames[HOLDS].tobytes().hex() == head + "0000" * 3 + "1234" * 2 + "0000" * 3 + "00" * 26
    assert frames[LETS_GO].tobytes().hex() == head + "0000" * 8 + "00" * 26


def test_a_pause_frame_has_quanta_for_the_whole_link() -> None:
    frames = frames_of(MAC, None, 0xFFFF)
    head = "0180c200000102544200000188080001"
    assert frames[HOLDS].tobytes().hex() == head + "ffff" + "00" * 42
    assert frames[LETS_GO].tobytes().hex() == head + "0000" + "00" * 42
