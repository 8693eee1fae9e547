"""Ethernet headers in place of other link headers: Linux cooked captures (SLL, SLL2), raw IP, BSD
loopback.

Layouts after the link-layer header types of pcap. The addresses that such a header lacks are 0.
"""

from __future__ import annotations

import numpy as np

from traces.capture.capture_interface import (
    ETHERNET,
    ETHERNET_HEADER,
    LOOPBACK,
    RAW_IP,
    SLL,
    SLL2,
)
from traces.capture.frame_batch import Batch

HEADER = ETHERNET_HEADER
SLL_OCTETS, SLL2_OCTETS, FAMILY_OCTETS = 16, 20, 4
NETLINK = 824
"""ARPHRD_NETLINK: the protocol of such a cooked frame is no EtherType."""
IN, OUT = 1, 2
SENT = 4
"""Packet type of a cooked frame that this machine sent."""
TYPE_OF_VERSION = {4: b"\x08\x00", 6: b"\x86\xdd"}
LONGEST_SHIFT = 2
"""Octets that raw IP of a simple packet block has too little room in front of it."""


def to_ethernet(batch: Batch, linktypes: np.ndarray) -> None:
    """Give the frames of a batch Ethernet headers; `linktypes` int64[interfaces].

    A cooked frame is as long as the Ethernet frame that it was, 14 octets and what it carries; raw
    IP and IP of a loopback stay as long as the packet. Directions are filled in where cooked
    headers state them.
    """
    of_frames = linktypes[batch.interface]
    for linktype, convert in ((SLL, _sll), (SLL2, _sll2)):
        rows = np.flatnonzero(of_frames == linktype)
        if len(rows):
            convert(batch, rows)
    _drop_front(batch, np.flatnonzero(np.isin(of_frames, LOOPBACK)), FAMILY_OCTETS)
    for row in np.flatnonzero(np.isin(of_frames, (*RAW_IP, *LOOPBACK))).tolist():
        _raw_ip(batch, row)


def _drop_front(batch: Batch, rows: np.ndarray, octets: int) -> None:
    batch.offset[rows] += octets
    batch.captured[rows] = np.maximum(batch.captured[rows] - octets, 0)
    batch.original[rows] = np.maximum(batch.original[rows] - octets, 0)


def _fields(batch: Batch, rows: np.ndarray, begin: int, count: int) -> np.ndarray:
    """Octets of some frames' headers, uint8[rows, count]."""
    found: np.ndarray = batch.octets[batch.offset[rows, None] + np.arange(begin, begin + count)]
    return found


def _directions(batch: Batch, rows: np.ndarray, types: np.ndarray) -> None:
    unknown = batch.direction[rows] == 0
    batch.direction[rows[unknown]] = np.where(types[unknown] == SENT, OUT, IN)


def _complete_headers(batch: Batch, rows: np.ndarray, octets: int) -> np.ndarray:
    """The rows whose header was captured completely. The others count as empty."""
    cut = rows[batch.captured[rows] < octets]
    batch.captured[cut] = 0
    kept: np.ndarray = rows[batch.captured[rows] >= octets]
    return kept


def _sll(batch: Batch, rows: np.ndarray) -> None:
    """Packet type, ARPHRD, address length, address (8), protocol: 16 octets."""
    rows = _complete_headers(batch, rows, SLL_OCTETS)
    header = _fields(batch, rows, 0, SLL_OCTETS)
    kinds = header[:, 2].astype(np.int64) << 8 | header[:, 3]
    _directions(batch, rows, header[:, 1])
    _drop_front(batch, rows, SLL_OCTETS - HEADER)
    at = batch.offset[rows, None]
    batch.octets[at + np.arange(6)] = 0
    batch.octets[at + np.arange(6, 12)] = header[:, 6:12]
    batch.octets[at[kinds == NETLINK] + np.arange(12, 14)] = 0


def _sll2(batch: Batch, rows: np.ndarray) -> None:
    """Protocol, reserved, interface, ARPHRD, packet type, address length, address (8)."""
    rows = _complete_headers(batch, rows, SLL2_OCTETS)
    header = _fields(batch, rows, 0, SLL2_OCTETS)
    kinds = header[:, 8].astype(np.int64) << 8 | header[:, 9]
    _directions(batch, rows, header[:, 10])
    _drop_front(batch, rows, SLL2_OCTETS - HEADER)
    at = batch.offset[rows, None]
    batch.octets[at + np.arange(6)] = 0
    protocols = np.where((kinds == NETLINK)[:, None], 0, header[:, :2])
    batch.octets[at + np.arange(12, 14)] = protocols


def _raw_ip(batch: Batch, row: int) -> None:
    """An IP packet alone. Its header goes over that of its record, which has been scanned.

    Its version is that of its first octet: systems differ in the number of a loopback's address
    family for IPv6 (10, 23, 24, 28, 30).
    """
    at, size = int(batch.offset[row]), int(batch.captured[row])
    if not size:
        return
    if at < HEADER:  # a simple packet block at the buffer's beginning: its trailer gives the room
        shift = HEADER - at
        assert shift <= LONGEST_SHIFT
        batch.octets[at + shift : at + shift + size] = batch.octets[at : at + size].copy()
        at += shift
    kind = TYPE_OF_VERSION.get(int(batch.octets[at]) >> 4, b"\0\0")
    header = bytes(HEADER - 2) + kind
    batch.octets[at - HEADER : at] = np.frombuffer(header, np.uint8)
    batch.offset[row], batch.captured[row] = at - HEADER, size + HEADER


def is_readable(linktype: int) -> bool:
    """True if frames of a link type are Ethernet's or can be given its headers."""
    return linktype in (ETHERNET, SLL, SLL2, *RAW_IP, *LOOPBACK)
