"""Which frames of a capture are what, and the fields of ours, for all frames at once.

Frames that agree in their types, header length and protocol have their fields at the same
offsets: dpkt decodes one frame of each such shape, numpy then reads the fields of them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import dpkt  # type: ignore[import-untyped]
import numpy as np

from orchestrator.frames import layout

DATA, CNM, PAUSE, PFC, OTHER = "data", "cnm", "pause", "pfc", "other"
KINDS = (DATA, CNM, PAUSE, PFC, OTHER)
VLAN_TYPES = (layout.VLAN_TYPE, 0x88A8)
PFC_OPCODE = 0x0101
PAYLOAD_OCTETS = layout.DATA_HEADER - layout.PAYLOAD


@dataclass
class Dissection:
    """One row per frame. Fields are 0 where the frame's kind has none.

    `kind` int8[n] indexes KINDS; `source` int64[n] the source MAC; `flow`, `sequence` int64[n] of
    data; `feedback` int64[n] of CNMs (6 bits); `quanta` int64[n] of PAUSE (512 bit times).
    """

    kind: np.ndarray
    source: np.ndarray
    flow: np.ndarray
    sequence: np.ndarray
    feedback: np.ndarray
    quanta: np.ndarray

    def rows(self, kind: str) -> np.ndarray:
        """The frames of a kind."""
        return np.flatnonzero(self.kind == KINDS.index(kind))


def number(octets: np.ndarray, at: int, size: int) -> np.ndarray:
    """Big-endian fields of `size` octets at offset `at`, int64[n]; 0 beyond the kept octets."""
    value = np.zeros(len(octets), np.int64)
    for index in range(at, at + size):
        value <<= 8
        if index < octets.shape[1]:
            value |= octets[:, index]
    return value


def udp_payload(frame: bytes) -> int | None:
    """Offset of the payload of a UDP-over-IPv4 frame, VLAN-tagged or not; None for others."""
    try:
        ethernet = dpkt.ethernet.Ethernet(frame)
    except dpkt.Error:
        return None
    ip = ethernet.data
    if not isinstance(ip, dpkt.ip.IP) or not isinstance(ip.data, dpkt.udp.UDP) or ip.offset:
        return None
    tags = len(getattr(ethernet, "vlan_tags", ()))
    return 14 + layout.TAG_OCTETS * tags + ip.hl * 4 + 8


def dissect(octets: np.ndarray, kept: np.ndarray) -> Dissection:
    """Dissect frames; `octets` uint8[n, width] zero-padded, of which `kept` int64[n] are real."""
    count = len(kept)
    fields = {
        name: np.zeros(count, np.int64) for name in ("flow", "sequence", "feedback", "quanta")
    }
    found = Dissection(
        kind=np.full(count, KINDS.index(OTHER), np.int8), source=number(octets, 6, 6), **fields
    )
    outer = number(octets, layout.VLAN, 2)
    tagged = np.isin(outer, VLAN_TYPES)
    inner = np.where(tagged, number(octets, layout.TYPE, 2), outer)
    _control(found, octets, kept, outer)
    for tag in (False, True):
        shift = layout.TAG_OCTETS * tag
        rows = np.flatnonzero((tagged == tag) & (inner == layout.CNM_TYPE) & (kept >= 24 + shift))
        found.kind[rows] = KINDS.index(CNM)
        found.feedback[rows] = number(octets[rows], 14 + shift, 2) & 0x3F
        rows = np.flatnonzero((tagged == tag) & (inner == layout.IPV4_TYPE) & (kept >= 34 + shift))
        head = number(octets[rows], 14 + shift, 1) << 8 | number(octets[rows], 23 + shift, 1)
        for shape in np.unique(head):
            _data(found, octets, kept, rows[head == shape])
    return found


def _control(found: Dissection, octets: np.ndarray, kept: np.ndarray, outer: np.ndarray) -> None:
    """PAUSE and PFC."""
    rows = np.flatnonzero((outer == layout.MAC_CONTROL_TYPE) & (kept >= layout.PAUSE_HEADER))
    opcode = number(octets[rows], layout.PAUSE_OPCODE_AT, 2)
    pauses = rows[opcode == layout.PAUSE_OPCODE]
    found.kind[pauses] = KINDS.index(PAUSE)
    found.quanta[pauses] = number(octets[pauses], layout.PAUSE_QUANTA_AT, 2)
    found.kind[rows[opcode == PFC_OPCODE]] = KINDS.index(PFC)


def _data(found: Dissection, octets: np.ndarray, kept: np.ndarray, rows: np.ndarray) -> None:
    """Our data frames among IPv4 frames of one shape."""
    longest = rows[kept[rows].argmax()]
    payload = udp_payload(octets[longest, : kept[longest]].tobytes())
    if payload is None:
        return
    some = octets[rows]
    ours = (number(some, payload - 6, 2) == layout.UDP_PORT) & (
        number(some, payload, 4) == layout.MAGIC_WORD
    )
    ours &= kept[rows] >= payload + PAYLOAD_OCTETS
    rows = rows[ours]
    shift = payload - layout.PAYLOAD
    found.kind[rows] = KINDS.index(DATA)
    found.flow[rows] = number(octets[rows], layout.FLOW + shift, 4)
    found.sequence[rows] = number(octets[rows], layout.SEQUENCE + shift, 8)
