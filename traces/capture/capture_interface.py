"""Interface of a capture, and the conversion of its time stamps to nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

BINARY = 0x80
"""This bit of `tsresol` says that the other seven are an exponent of 2, not of 10."""
FINEST_DECIMAL, FINEST_BINARY = 18, 63
"""Finer resolutions than 10^-18 s and 2^-63 s are refused: no clock has them."""
NS = 10**9
MAX_NS = 2**63 - 1
MAX_OFFSET_S = MAX_NS // NS // 2

ETHERNET, SLL, SLL2 = 1, 113, 276
"""Link types: Ethernet, and the two headers of Linux cooked captures."""
RAW_IP = (101, 12, 14, 228, 229)
"""Link types of IP without a link header; 12 and 14 are what some systems write for 101, 228 and
229 are IPv4 and IPv6 alone."""
LOOPBACK = (0, 108)
"""Link types of BSD loopback captures (LINKTYPE_NULL, LINKTYPE_LOOP): the address family in 4
octets, which one writes in the order of the capturing machine, the other in that of the network."""
READABLE_TYPES = (
    "Ethernet (1), Linux cooked captures (113, 276), BSD loopback (0, 108) and raw IP (101)"
)
"""The same for people."""
ETHERNET_HEADER = 14
"""Octets of an Ethernet header."""

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
    dropped_by_interface: int | None = None
    """Frames lost for want of room in the interface (isb_ifdrop); None when the file lacks it."""
    dropped_by_system: int | None = None
    """Frames lost by the operating system (isb_osdrop)."""
    dropped_between_frames: int | None = None
    """Sum of the losses that single frames state (epb_dropcount)."""
    fcs_octets: int = 0
    """Octets of frame check sequence at the end of each frame, as far as the file says or its first
    frames show. They are no octets of the frames of a batch."""
    fcs_unstated: bool = False
    """True if the file does not state them: the first frames end with the CRC of what is before."""
    speed_bps: int | None = None
    """Rate of the link, when the file says. Of two different ones, the larger."""
    transmit_bps: int | None = None
    receive_bps: int | None = None
    """Rates of the two directions, where the file gives them."""
    untimed: int = 0
    """Frames whose time lies beyond the year 2262; they are read without a time."""
    link_errors: dict[str, int] = field(default_factory=dict)
    """Frames with an error of the link layer, by its name in LINK_ERRORS (epb_flags)."""

    has_ethernet_headers: bool = False
    """True if batches have Ethernet headers in place of its own."""

    @property
    def missing_octets(self) -> int:
        """Octets that a frame of this interface, an IP packet alone, lacks to an Ethernet frame."""
        return ETHERNET_HEADER if self.linktype in (*RAW_IP, *LOOPBACK) else 0

    @property
    def frame_linktype(self) -> int:
        """Link type of the frames in batches."""
        return ETHERNET if self.has_ethernet_headers else self.linktype

    @property
    def is_ethernet(self) -> bool:
        """True if the frames in batches are Ethernet's."""
        return self.frame_linktype == ETHERNET

    @property
    def unreadable(self) -> str:
        """Its link type and those that can be read, for people."""
        return f"link type {self.linktype}; {READABLE_TYPES} are accepted"

    @property
    def dropped(self) -> int | None:
        """Frames that the capture itself lost; None when the file does not say.

        Counters at the interface's end and losses between frames state the same losses: the larger
        of the two is taken, for a file may have lost its last block, or not state all.
        """
        counters = [
            one for one in (self.dropped_by_interface, self.dropped_by_system) if one is not None
        ]
        stated = [sum(counters)] if counters else []
        if self.dropped_between_frames is not None:
            stated.append(self.dropped_between_frames)
        return max(stated, default=None)


LINK_ERRORS = {
    24: "crc",
    25: "too_long",
    26: "too_short",
    27: "interframe_gap",
    28: "unaligned",
    29: "start_of_frame",
    30: "preamble",
    31: "symbol",
}
"""Bits of epb_flags that name an error of the link layer."""


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
