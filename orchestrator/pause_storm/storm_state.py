"""Arrays that the send loop of a storm works on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrator.engine.histogram import new_histogram
from orchestrator.pause_storm import send_loop
from orchestrator.pause_storm.deadline_schedule import HOLD, begin
from orchestrator.pause_storm.hold_accounting import new_ledger, new_notes

MSGHDR_WORDS = 7


class StormState(NamedTuple):
    """State of a storm of n holds; every address in it points into arrays that it owns."""

    holds: np.ndarray  # HOLD[n]
    octets: np.ndarray  # uint8[n, 2, 60]
    own: np.ndarray  # LEDGER[n]
    kernel: np.ndarray  # LEDGER[n]
    notes: np.ndarray  # int64[NOTED + 1, 4]
    lateness: np.ndarray  # histogram: from when a frame was due to the call that sent it
    control: np.ndarray  # int64[WORDS]
    timespec: np.ndarray  # int64[2]
    header: np.ndarray  # int64[7]: struct msghdr
    vector: np.ndarray  # int64[2]: struct iovec
    ancillary: np.ndarray  # int64[16]: control messages
    echoed: np.ndarray  # uint8[64]: the frame that a stamp is of


class Planned(NamedTuple):
    """Hold to be kept. Times in ns; `on_ns` 0: without an end."""

    socket: int
    octets: np.ndarray
    hold_ns: int
    margin_ns: int
    on_ns: int = 0
    off_ns: int = 0


def new_state(planned: Sequence[Planned], *, stamps: bool, nap_ns: int = 0) -> StormState:
    """New state for these holds; `start` it before use."""
    holds = np.zeros(len(planned), HOLD)
    for row, one in enumerate(planned):
        for name in ("socket", "hold_ns", "margin_ns", "on_ns", "off_ns"):
            holds[row][name] = getattr(one, name)
    header, vector = np.zeros(MSGHDR_WORDS, np.int64), np.zeros(2, np.int64)
    ancillary, echoed = np.zeros(send_loop.CONTROL_OCTETS // 8, np.int64), np.zeros(64, np.uint8)
    vector[:] = echoed.ctypes.data, echoed.size
    header[2], header[3], header[4] = vector.ctypes.data, 1, ancillary.ctypes.data
    control = np.zeros(send_loop.WORDS, np.int64)
    control[send_loop.STAMPS], control[send_loop.NAP_NS] = int(stamps), nap_ns
    return StormState(
        holds,
        np.array([one.octets for one in planned], np.uint8),
        new_ledger(len(planned)),
        new_ledger(len(planned)),
        new_notes(),
        new_histogram(),
        control,
        np.zeros(2, np.int64),
        header,
        vector,
        ancillary,
        echoed,
    )


def start(desk: StormState, start_ns: int, end_ns: int) -> None:
    """Have all holds begin at one instant of CLOCK_MONOTONIC and end at another."""
    begin(desk.holds, start_ns)
    desk.control[send_loop.STOP] = 0
    desk.control[send_loop.END_NS] = end_ns
