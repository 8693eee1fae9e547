"""Invariant CRC of RoCEv2: Ethernet's CRC over a packet, with ones in fields that routers change.

It begins with eight octets of ones in place of an InfiniBand route header, then comes the packet
from its IP header on, with ones in place of TOS, TTL, both checksums and the base transport
header's fifth octet; of IPv6 in place of traffic class, flow label, hop limit, the UDP checksum and
that octet (RoCEv2, annex A17; docs/settled/frames.md#congestion-notification-packet has a packet to
hold it against). A run of zeros multiplies the register by a power of x, as polynomials modulo
Ethernet's, so that a payload of zeros takes a few multiplications.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.unaligned import native64
from orchestrator.engine.index_types import int64
from orchestrator.engine.jit import compiled

CRC_POLYNOMIAL = 0xEDB88320
ROUTE_HEADER = 8
"""Octets of ones that stand for an InfiniBand local route header."""
ICRC_OCTETS = 4
LONG_RUN = 64
"""Octets of zeros in a row from which on a multiplication is faster."""
BEHIND_HEADERS = 54
"""Octet from the IP header on behind which no field is changed by a router, of either version."""
ONE, X_8 = 1 << 31, 1 << 23
"""The polynomials 1 and x^8; bit 31 is the coefficient of x^0."""


@compiled
def crc_octet(crc: int, octet: int) -> int:
    """The CRC-32 of Ethernet, reflected, one octet further; not complemented."""
    crc ^= octet
    for _ in range(8):
        crc = (crc >> 1) ^ (CRC_POLYNOMIAL if crc & 1 else 0)
    return crc


@compiled
def product(a: int, b: int) -> int:
    """The product of two polynomials modulo Ethernet's."""
    total = int64(0)
    for bit in range(32):
        if (a >> (31 - bit)) & 1 != 0:
            total ^= b
        b = (b >> 1) ^ (CRC_POLYNOMIAL if b & 1 else 0)
    return total


@compiled
def crc_zeros(crc: int, count: int) -> int:
    """The CRC `count` octets of zeros further: times x to the power of eight times as many."""
    power, square = int64(ONE), int64(X_8)
    while count > 0:
        if count & 1 != 0:
            power = product(square, power)
        square = product(square, square)
        count >>= 1
    return product(power, crc)


@compiled
def crc_payload(crc: int, octets: np.ndarray, begin: int, end: int) -> int:
    """The CRC of octets `begin` to before `end`, in which long runs of zeros are common."""
    place = begin
    while place < end:
        zeros = place
        while zeros + 8 <= end and native64(octets, zeros) == 0:
            zeros += 8
        if zeros - place >= LONG_RUN:
            crc = crc_zeros(crc, zeros - place)
            place = zeros
            continue
        last = min(max(zeros, place) + 8, end)
        while place < last:
            crc = crc_octet(crc, int64(octets[place]))
            place += 1
    return crc


@compiled
def icrc_of_ipv6(octets: np.ndarray, ip: int, end: int) -> int:
    """The same of an IPv6 packet: octet 0 keeps its version, the upper four bits."""
    crc = int64(0xFFFFFFFF)
    for _ in range(ROUTE_HEADER):
        crc = crc_octet(crc, 0xFF)
    behind = min(ip + BEHIND_HEADERS, end)
    for place in range(ip, behind):
        offset = place - ip
        # traffic class and flow label, hop limit, checksum of UDP, reserved octet of the BTH
        ones = 0xFF if offset in (1, 2, 3, 7, 46, 47, 52) else 0x0F if offset == 0 else 0
        crc = crc_octet(crc, int64(octets[place]) | ones)
    return crc_payload(crc, octets, behind, end) ^ 0xFFFFFFFF


@compiled
def icrc(octets: np.ndarray, ip: int, end: int) -> int:
    """The ICRC over an IP packet without options from `ip` to before `end`, UDP and BTH in it."""
    if octets[ip] >> 4 == 6:
        return icrc_of_ipv6(octets, ip, end)
    crc = int64(0xFFFFFFFF)
    for _ in range(ROUTE_HEADER):
        crc = crc_octet(crc, 0xFF)
    behind = min(ip + BEHIND_HEADERS, end)
    for place in range(ip, behind):
        offset = place - ip
        # TOS, TTL, checksums of IP and UDP, reserved octet of the BTH
        changes = offset in (1, 8, 10, 11, 26, 27, 32)
        crc = crc_octet(crc, int64(0xFF) if changes else int64(octets[place]))
    return crc_payload(crc, octets, behind, end) ^ 0xFFFFFFFF


@compiled
def put_icrc(octets: np.ndarray, at: int, ip: int) -> None:
    """Write the ICRC of the packet that begins at `ip` to octet `at`, behind it, little-endian."""
    crc = icrc(octets, ip, at)
    for place in range(4):
        octets[at + place] = (crc >> (8 * place)) & 0xFF


@compiled
def put_last_icrc(octets: np.ndarray, known: int, length: int, ip: int) -> int:
    """Fill a frame up with zeros behind its known octets and write the ICRC into its last four.
    Returns how many octets are written: `known` where it is longer than `octets`."""
    if length > octets.size:
        return known
    for k in range(known, length - ICRC_OCTETS):
        octets[k] = 0
    put_icrc(octets, length - ICRC_OCTETS, ip)
    return length


@compiled
def is_icrc(octets: np.ndarray, at: int, ip: int) -> bool:
    """True if the ICRC at octet `at` is right."""
    crc = icrc(octets, ip, at)
    wrong = 0
    for place in range(4):
        wrong |= octets[at + place] ^ ((crc >> (8 * place)) & 0xFF)
    return wrong == 0
