"""Interface of a capture, and the conversion of its time stamps to nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BINARY = 0x80
"""This bit of `tsresol` says that the other seven are an exponent of 2, not of 10."""
FINEST_DECIMAL, FINEST_BINARY = 18, 63
"""Finer resolutions than 10^-18 s and 2^-63 s are refused: no clock has them."""
NS = 10**9
MAX_NS = 2**63 - 1
MAX_OFFSET_S = MAX_NS // NS // 2

CLOCK_COLUMNS = 5
"""Columns of a clock's row: exponent of 2, factor, divisor, largest count, offset in ns."""


@dataclass
class Interface:
    """One interface block of pcapng, or the whole of a pcap file, with what is known of it."""

    name: str
    linktype: int
    snaplen: int
    """Most octets kept of a frame; 0 is no limit."""
    tsresol: int = 6
    """Digits of a second that a time stamp counts, as in the file: 6, 9, or BINARY | bits."""
    tsoffset_s: int = 0
    received: int | None = None
    dropped: int | None = None
    """Frames that the capture itself lost; None when the file does not say."""
    fcs_octets: int = 0
    """Octets of frame check sequence at the end of each frame, as far as the file says."""
    speed_bps: int | None = None
    """Rate of the link, when the file says."""


def clock(interface: Interface) -> np.ndarray:
    """The row for `traces.capture.scanner.nanoseconds`, int64[CLOCK_COLUMNS].

    A count of at most `largest` (in whole seconds when the exponent is not 0) stays before 2262,
    the end of int64 nanoseconds.
    """
    offset = interface.tsoffset_s * NS
    room = MAX_NS - max(offset, 0)
    bits = interface.tsresol & ~BINARY if interface.tsresol & BINARY else 0
    if bits:
        return np.array([bits, NS, 1, room // NS - 1, offset], np.int64)
    digits = 0 if interface.tsresol == BINARY else interface.tsresol
    factor, divisor = 10 ** max(9 - digits, 0), 10 ** max(digits - 9, 0)
    return np.array([0, factor, divisor, room // factor, offset], np.int64)


def readable(tsresol: int) -> bool:
    """True if time stamps of this resolution are supported."""
    if tsresol & BINARY:
        return tsresol & ~BINARY <= FINEST_BINARY
    return tsresol <= FINEST_DECIMAL


def printable(text: str) -> str:
    """Untrusted `text`, safe to print: control characters are replaced."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
