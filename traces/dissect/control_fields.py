"""Field records of control frames: PAUSE, PFC, CNM, probes."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.big_endian import get16, get32, get48, get64, signed16, signed32
from orchestrator.engine.jit import compiled, inlined
from traces.capture import Batch
from traces.dissect.header_record import ABSENT, Kind

Rows = tuple[np.ndarray, np.ndarray]
"""Places of some frames in a batch and of their headers in a table, int64[k] each."""
PFC, ECHO = int(Kind.PFC), int(Kind.ECHO)
CLASSES = 8
"""Priorities of PFC; a PAUSE is a row with all of them alike."""
MSDU = frame_layout.CNM_MSDU - frame_layout.CNM_FEEDBACK
SAMPLE = frame_layout.DATA_HEADER - frame_layout.MSDU
"""Octets of a sampled frame's MSDU up to the end of our payload header."""

ORIGIN_FIELDS = [
    ("row", np.int64),  # in the batch
    ("time_ns", np.int64),
    ("interface", np.int64),
    ("direction", np.int64),
    ("source", np.int64),  # MAC addresses of the frame itself
    ("sent_to", np.int64),
]
"""Fields that all kinds of records begin with."""
PAUSE_RECORD = np.dtype(
    [
        *ORIGIN_FIELDS,
        ("pfc", np.int64),  # 1 for PFC, 0 for PAUSE
        ("enabled", np.int64),  # bit n: priority n; PAUSE: all of them
        ("quanta", np.int64, (CLASSES,)),  # of 512 bit times; 0 resumes
    ]
)
"""A PAUSE (802.3 annex 31B) or PFC (802.1Qbb) frame."""

CNM_RECORD = np.dtype(
    [
        *ORIGIN_FIELDS,
        ("version", np.int64),
        ("feedback", np.int64),  # quantised, 0 to 63
        ("cpid", np.int64),  # two's complement
        ("offset_bytes", np.int64),  # above the set point
        ("delta_bytes", np.int64),  # growth since the last sample
        ("priority", np.int64),  # encapsulated
        ("destination", np.int64),  # encapsulated MAC address
        ("msdu_length", np.int64),
        ("flow", np.int64),  # of tailback's sampled data frame, else ABSENT
        ("sequence", np.int64),
    ]
)
"""A congestion notification message (802.1Qau)."""


PROBE_RECORD = np.dtype(
    [
        *ORIGIN_FIELDS,
        ("echo", np.int64),  # 1 for one that was turned round
        ("rate_bps", np.int64),
        ("flow", np.int64),
        ("sequence", np.int64),
        ("created_ps", np.int64),  # when it was sent, since the run began
    ]
)
"""A probe of FECN, or its echo: `orchestrator.engine.frames.core_frame_types`."""


@inlined
def fill_origin(row, times, interfaces, directions, header, target):
    """The fields that all kinds of records begin with."""
    target["row"], target["time_ns"] = row, times[row]
    target["interface"], target["direction"] = interfaces[row], directions[row]
    target["source"], target["sent_to"] = header["source"], header["destination"]


@compiled
def fill_pauses(octets, offset, times, interfaces, directions, headers, picked, where, found):
    """Fill `found` PAUSE_RECORD[n] from the frames `picked` int64[n].

    `where` int64[n] says in which rows their headers are.
    """
    for index in range(picked.size):
        row = picked[index]
        header, target = headers[where[index]], found[index]
        fill_origin(row, times, interfaces, directions, header, target)
        at = offset[row] + header["place"] + 2
        target["pfc"] = header["kind"] == PFC
        if target["pfc"]:
            target["enabled"] = get16(octets, at) & 0xFF
            for priority in range(CLASSES):
                target["quanta"][priority] = get16(octets, at + 2 + 2 * priority)
        else:
            target["enabled"] = 0xFF
            for priority in range(CLASSES):
                target["quanta"][priority] = get16(octets, at)


@compiled
def fill_messages(
    octets, offset, captured, times, interfaces, directions, headers, picked, where, found
):
    """Fill `found` CNM_RECORD[n] from the frames `picked` int64[n]; `where` as for pauses."""
    for index in range(picked.size):
        row = picked[index]
        header, target = headers[where[index]], found[index]
        fill_origin(row, times, interfaces, directions, header, target)
        at = offset[row] + header["place"]
        first = get16(octets, at)
        target["version"], target["feedback"] = first >> 12, first & 0x3F
        target["cpid"] = get64(octets, at + 2)
        target["offset_bytes"] = signed16(get16(octets, at + 10)) * frame_layout.CNM_UNIT
        target["delta_bytes"] = signed16(get16(octets, at + 12)) * frame_layout.CNM_UNIT
        target["priority"] = get16(octets, at + 14) >> 13
        target["destination"] = get48(octets, at + 16)
        target["msdu_length"] = get16(octets, at + 22)
        target["flow"] = target["sequence"] = ABSENT
        sample = at + MSDU
        shift = sample - frame_layout.MSDU
        if (
            sample + SAMPLE <= offset[row] + captured[row]
            and get16(octets, frame_layout.TYPE + shift) == frame_layout.IPV4_TYPE
            and get16(octets, frame_layout.UDP + 2 + shift) == frame_layout.UDP_PORT
            and get32(octets, frame_layout.MAGIC + shift) == frame_layout.MAGIC_WORD
        ):
            target["flow"] = signed32(get32(octets, frame_layout.FLOW + shift))
            target["sequence"] = get64(octets, frame_layout.SEQUENCE + shift)


@compiled
def fill_probes(octets, offset, times, interfaces, directions, headers, picked, where, found):
    """Fill `found` PROBE_RECORD[n] from the frames `picked` int64[n]; `where` as for pauses."""
    for index in range(picked.size):
        row = picked[index]
        header, target = headers[where[index]], found[index]
        fill_origin(row, times, interfaces, directions, header, target)
        shift = offset[row] + header["place"] - frame_layout.PROBE_KIND
        target["echo"] = header["kind"] == ECHO
        target["rate_bps"] = get64(octets, frame_layout.PROBE_RATE + shift)
        target["flow"] = signed32(get32(octets, frame_layout.PROBE_FLOW + shift))
        target["sequence"] = get64(octets, frame_layout.PROBE_SEQUENCE + shift)
        target["created_ps"] = get64(octets, frame_layout.PROBE_CREATED + shift)


def pauses(batch: Batch, headers: np.ndarray, rows: Rows | None = None) -> np.ndarray:
    """The PAUSE and PFC frames of a batch, PAUSE_RECORD[k]; `headers` are the batch's.

    `rows`, if they are known: where these frames are in the batch, and where in `headers`.
    """
    if rows is None:
        kinds = headers["kind"]
        rows = rows_with_headers(np.flatnonzero((kinds == Kind.PAUSE) | (kinds == Kind.PFC)))
    found = np.empty(len(rows[0]), PAUSE_RECORD)
    fill_pauses(
        batch.octets,
        batch.offset,
        batch.time_ns,
        batch.interface,
        batch.direction,
        headers,
        *rows,
        found,
    )
    return found


def messages(batch: Batch, headers: np.ndarray, rows: Rows | None = None) -> np.ndarray:
    """The CNMs of a batch, CNM_RECORD[k]; `headers` and `rows` as for `pauses`."""
    if rows is None:
        rows = rows_with_headers(np.flatnonzero(headers["kind"] == Kind.CNM))
    found = np.empty(len(rows[0]), CNM_RECORD)
    fill_messages(
        batch.octets,
        batch.offset,
        batch.captured,
        batch.time_ns,
        batch.interface,
        batch.direction,
        headers,
        *rows,
        found,
    )
    return found


def probes(batch: Batch, headers: np.ndarray, rows: Rows | None = None) -> np.ndarray:
    """The probes and echoes of a batch, PROBE_RECORD[k]; `headers` and `rows` as for `pauses`."""
    if rows is None:
        kinds = headers["kind"]
        rows = rows_with_headers(np.flatnonzero((kinds == Kind.PROBE) | (kinds == Kind.ECHO)))
    found = np.empty(len(rows[0]), PROBE_RECORD)
    fill_probes(
        batch.octets,
        batch.offset,
        batch.time_ns,
        batch.interface,
        batch.direction,
        headers,
        *rows,
        found,
    )
    return found


def rows_with_headers(picked: np.ndarray) -> Rows:
    """Rows of frames whose headers have the same places in a table."""
    return picked, picked
