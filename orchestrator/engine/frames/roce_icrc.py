"""Invariant CRC of RoCEv2: Ethernet's CRC over a packet, with ones in fields that routers change.

It begins with eight octets of ones in place of an InfiniBand route header, then comes the packet
from its IP header on, with ones in place of TOS, TTL, both checksums and the base transport
header's fifth octet (RoCEv2, annex A17; docs/settled/frames.md#congestion-notification-packet has
a packet to hold it against).
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled

CRC_POLYNOMIAL = 0xEDB88320
ROUTE_HEADER = 8
"""Octets of ones that stand for an InfiniBand local route header."""


@compiled
def crc_octet(crc, octet):
    """The CRC-32 of Ethernet, reflected, one octet further; not complemented."""
    crc ^= octet
    for _ in range(8):
        crc = (crc >> 1) ^ (CRC_POLYNOMIAL if crc & 1 else 0)
    return crc


@compiled
def icrc(octets, ip, end):
    """The ICRC over an IPv4 packet without options from `ip` to before `end`, UDP and BTH in it."""
    crc = 0xFFFFFFFF
    for _ in range(ROUTE_HEADER):
        crc = crc_octet(crc, 0xFF)
    for place in range(ip, end):
        offset = place - ip
        # TOS, TTL, checksums of IP and UDP, reserved octet of the BTH
        changes = offset in (1, 8, 10, 11, 26, 27, 32)
        crc = crc_octet(crc, np.int64(0xFF) if changes else np.int64(octets[place]))
    return crc ^ 0xFFFFFFFF


@compiled
def put_icrc(octets, at, ip):
    """Write the ICRC of the packet that begins at `ip` to octet `at`, behind it, little-endian."""
    crc = icrc(octets, ip, at)
    for place in range(4):
        octets[at + place] = (crc >> (8 * place)) & 0xFF


@compiled
def is_icrc(octets, at, ip):
    """True if the ICRC at octet `at` is right."""
    crc = icrc(octets, ip, at)
    wrong = 0
    for place in range(4):
        wrong |= octets[at + place] ^ ((crc >> (8 * place)) & 0xFF)
    return wrong == 0
