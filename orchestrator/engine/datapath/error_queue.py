"""Reader of a socket's error queue: transmit timestamps and failed launches (SO_TXTIME).

A message has the frame itself and control messages: SCM_TIMESTAMPING with three `struct timespec`
where it tells a time, and PACKET_TX_TIMESTAMP with a `struct sock_extended_err`, which says what it
is about (linux/errqueue.h, linux/net_tstamp.h).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.engine.datapath import mmsg_batch as at
from orchestrator.engine.datapath.libc import recvmmsg
from orchestrator.engine.datapath.mmsg_batch import Batch
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import FRAME

MSG_ERRQUEUE, MSG_DONTWAIT = 0x2000, 0x40
REPORT_KIND = 263 | 16 << 32
"""Word 1 of a control message with a `struct sock_extended_err`: SOL_PACKET and
PACKET_TX_TIMESTAMP."""
TIMESTAMP_REPORT, LAUNCH_REPORT = 4, 6
"""Its ee_origin: SO_EE_ORIGIN_TIMESTAMPING, SO_EE_ORIGIN_TXTIME."""
SENT = 0
"""Its ee_info where it tells a time: the driver, or the NIC, sent the frame (SCM_TSTAMP_SND)."""
NOT_VALID, MISSED = 1, 2
"""Its ee_code of a launch: the time was over or none when it was asked for; it went by."""
ORIGIN, CODE, INFO, TIMES = range(4)
"""Words of what `parse_report` writes: origin and code; ee_info; the word that times begin at, or
0."""
OCTETS = 2048
"""Of a frame that are looked at."""


class Errors(NamedTuple):
    """Buffers that messages of error queues are read into."""

    batch: Batch
    report: np.ndarray  # int64[4]: see ORIGIN and the following
    frame: np.ndarray  # FRAME[1]: the frame that a message is about


def error_messages(messages: int) -> Errors:
    """For so many messages at a time."""
    batch = at.receiver(np.zeros((messages, OCTETS), np.uint8), messages)
    for k in range(messages):
        batch.vectors[k, 0] = batch.octets[k].ctypes.data
        batch.vectors[k, 1] = OCTETS
    batch.headers[:, at.VECTORS] = 1
    return Errors(batch, np.zeros(4, np.int64), np.zeros(1, FRAME).view(np.recarray))


@compiled
def receive_errors(batch: Batch, socket: int) -> int:
    """Take what a socket's error queue holds, at most one batch; the number of messages."""
    for k in range(batch.headers.shape[0]):
        batch.headers[k, at.NAME_LENGTH] = at.SOCKADDR_OCTETS
        batch.headers[k, at.CONTROL_LENGTH] = at.CONTROL_OCTETS
    headers = batch.headers
    flags = MSG_ERRQUEUE | MSG_DONTWAIT
    count = recvmmsg(socket, headers.ctypes.data, headers.shape[0], flags, 0)
    return max(count, 0)


@compiled
def parse_report(control: np.ndarray, octets: int, report: np.ndarray) -> int:
    """Read the control messages of one message, `octets` of them, into `report`; whether one says
    what the message is about. `control` is int64[n], of which no word behind its end is read."""
    report[:] = 0
    end = min(octets // 8, control.shape[0])
    word = 0
    found = False
    while word + 2 <= end:
        length = control[word]
        behind = word + (length + 7) // 8
        if length < 16 or behind > end:
            break
        if control[word + 1] == at.STAMP_KIND and length >= 64:
            report[TIMES] = word + 2
        elif control[word + 1] == REPORT_KIND and length >= 32:
            report[ORIGIN] = (control[word + 2] >> 32) & 0xFF
            report[CODE] = (control[word + 2] >> 48) & 0xFF
            report[INFO] = control[word + 3] & 0xFFFFFFFF
            found = True
        word = behind
    return found
