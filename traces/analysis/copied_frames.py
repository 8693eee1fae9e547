"""Packets that a capture holds twice, as from a mirror of two ports or of both directions of one.

A copy differs from its original in what hops change: MAC addresses, VLAN tags, TTL, ECN. So copies
are found by the rest of an IP packet's headers and its first octets. Packets of a generator that
are all alike are no copies: nearly every packet has to be there twice, neither once nor more often.
"""

from __future__ import annotations

from collections import Counter

from traces.capture import Batch
from traces.dissect.header_parser import OLD_QINQ, OLD_QINQ_2, OLD_QINQ_3, PROVIDER_VLAN, VLAN

EXAMINED = 4096
"""Frames of a point that are compared: its first ones."""
LEAST_PACKETS = 16
"""Fewer tell nothing."""
SHARE = 0.95
"""Of the packets that are there twice, from which on the point is one of a mirror."""
BEHIND = 64
"""Octets behind an IP header that are compared."""
TAGS = [tag.to_bytes(2, "big") for tag in (VLAN, PROVIDER_VLAN, OLD_QINQ, OLD_QINQ_2, OLD_QINQ_3)]
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"


def packet_key(octets: bytes) -> bytes | None:
    """What hops keep of the IP packet in an Ethernet frame; None without one."""
    at = 12
    while octets[at : at + 2] in TAGS:
        at += 4
    kind, ip = octets[at : at + 2], octets[at + 2 : at + 62 + BEHIND]
    if kind == IPV4 and len(ip) >= 20:
        return ip[:1] + ip[2:8] + ip[9:10] + ip[12 : 20 + BEHIND]
    if kind == IPV6 and len(ip) >= 40:
        return ip[4:7] + ip[8 : 40 + BEHIND]
    return None


class CopiedFrames:
    """The first IP packets of each point, by their keys."""

    def __init__(self) -> None:
        self._keys: dict[int, Counter[bytes]] = {}
        self._left: dict[int, int] = {}

    def add(self, batch: Batch, points: int) -> None:
        """Note the packets of a batch, whose interfaces are numbers of points below `points`."""
        if len(self._left) == points and not any(self._left.values()):
            return
        for row, point in enumerate(batch.interface[:EXAMINED].tolist()):
            if (left := self._left.setdefault(point, EXAMINED)) > 0:
                self._left[point] = left - 1
                if (key := packet_key(batch.frame(row))) is not None:
                    self._keys.setdefault(point, Counter())[key] += 1

    def is_mirrored(self, point: int) -> bool:
        """True if nearly every packet of a point is there twice."""
        keys = self._keys.get(point, Counter())
        pairs = sum(count == 2 for count in keys.values())
        return keys.total() >= LEAST_PACKETS and 2 * pairs >= SHARE * keys.total()
