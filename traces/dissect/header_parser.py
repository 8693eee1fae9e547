"""Compiled header parser of whole batches.

Layers: Ethernet II, any number of VLAN tags (802.1Q, 802.1ad, 0x9100, 0x9200, 0x9300), CN-TAG
(802.1Qau), PPPoE sessions (RFC 2516), IPv4 (RFC 791), IPv6 with extension headers (RFC 8200), UDP,
TCP, RoCE (InfiniBand base transport header over UDP 4791 or EtherType 0x8915), MAC control, CNM,
FECN's probes. A field is taken when all of its octets were captured and lie within the packet that
the IP header announces.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.address_index import UNKNOWN, index_of_mac
from orchestrator.engine.frames.core_frame_types import BACK, FORWARD
from orchestrator.engine.frames.unaligned import big16, big32, big64
from orchestrator.engine.jit import compiled, inlined
from traces.capture import Batch, Interface
from traces.dissect.header_record import ABSENT, HEADERS, Kind
from traces.dissect.tunnel_headers import (
    ETHERNET_PAYLOAD,
    IPV4,
    IPV6,
    MPLS,
    MPLS_MULTICAST,
    TUNNEL_ERSPAN,
    TUNNEL_MPLS,
    UDP,
    below_labels,
    has_header,
    tunnel_of,
)

ETHERNET = 1
"""The only link type that is dissected."""
VLAN, PROVIDER_VLAN = 0x8100, 0x88A8
OLD_QINQ, OLD_QINQ_2, OLD_QINQ_3 = 0x9100, 0x9200, 0x9300
"""Outer tags of switches from before 802.1ad."""
PPPOE_SESSION, PPPOE_HEADER, PPPOE_DATA = 0x8864, 8, 0x1100
"""Sessions of PPP over Ethernet, and the first two octets of their data: version, type, code 0
(RFC 2516)."""
PPP_IPV4, PPP_IPV6 = 0x0021, 0x0057
CN_TAG, CNM_TYPE, MAC_CONTROL, LLDP_TYPE = (
    0x22E9,
    frame_layout.CNM_TYPE,
    frame_layout.MAC_CONTROL_TYPE,
    0x88CC,
)
ROCE_V1 = 0x8915
LEAST_TYPE = 0x600
"""Less is the length of a frame (IEEE 802.3, 3.2.6), which has an LLC header in place of a type."""
TCP = 6
MOST_TUNNELS = 4
"""Tunnels in tunnels that are followed."""
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS = 0, 43, 44, 51, 60
MOST_EXTENSIONS = 16
ROCE_PORT = 4791
CNP_OPCODE = 0x81
PAUSE_OPCODE, PFC_OPCODE = frame_layout.PAUSE_OPCODE, 0x0101
BTH, GRH, AETH = 12, 40, 4
OPERATION, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE = 0x1F, 0x11, 0x12
"""The operation among the bits of RoCE's opcode, and those whose AETH holds a syndrome alone."""
SYNDROME_TYPE, POSITIVE, NOT_READY, NEGATIVE = 0x60, 0x00, 0x20, 0x60
"""Bits of a syndrome that tell ACK, RNR NAK and NAK apart (InfiniBand, volume 1, 9.7.5.1.2)."""
CNM_PDU = 24
PARTITION = 0x7FFF
"""Of a partition key; the highest bit is the kind of membership (InfiniBand 10.9.1)."""
NO_NEXT_HEADER, JUMBO_PAYLOAD = 59, 0xC2
PAUSE_FIELDS, PFC_FIELDS = 4, 20
GRANT_FIELDS = frame_layout.GRANT_HEADER - frame_layout.PAUSE_OPCODE_AT
MAC = (1 << 48) - 1
NATIVE_HEADER = frame_layout.DATA_HEADER - frame_layout.PAYLOAD
NATIVE_ACK = frame_layout.ACK_HEADER - frame_layout.ACK_SAYS
NATIVE_SACK = frame_layout.SACK_HEADER - frame_layout.ACK_SAYS
NATIVE_CREDIT = frame_layout.CREDIT_HEADER - frame_layout.ACK_SAYS
NATIVE_TRIMMED = frame_layout.TRIMMED_HEADER - frame_layout.PAYLOAD
CREDIT_MESSAGE, REQUEST_MESSAGE = 1, 2
"""Message types in place of a version behind `CREDIT_PORT`."""
PROBE_PDU = frame_layout.PROBE_HEADER - frame_layout.PROBE_KIND
DATA, CNM, PAUSE, PFC, OTHER, ROCE, CNP, LLDP, PROBE, ECHO, ACK = range(Kind.ACK + 1)
SACK, TRIMMED, CREDIT, REQUEST, GRANT, ROCE_ACK, ROCE_NAK, ROCE_RNR_NAK = range(
    Kind.SACK, len(Kind)
)


@inlined
def transport(octets, at, end, row):
    """The base transport header of RoCE at `at`."""
    if at + BTH > end:
        return
    opcode = np.int64(octets[at])
    row["opcode"] = opcode
    row["notice"] = np.int64(octets[at + 4]) >> 6
    row["qp"] = big32(octets, at + 4) & 0xFFFFFF
    row["psn"] = big32(octets, at + 8) & 0xFFFFFF
    row["partition"] = big16(octets, at + 2) & PARTITION
    row["kind"] = CNP if opcode == CNP_OPCODE else ROCE
    operation = opcode & OPERATION
    if operation in (ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE) and at + BTH + AETH <= end:
        syndrome = np.int64(octets[at + BTH]) & SYNDROME_TYPE
        if syndrome == POSITIVE:
            row["kind"] = ROCE_ACK
        elif syndrome == NOT_READY:
            row["kind"] = ROCE_RNR_NAK
        elif syndrome == NEGATIVE:
            row["kind"] = ROCE_NAK


@inlined
def native_payload_kind(octets, at, end, port):
    """Kind of tailback's own payload behind a UDP header that ends at `at`."""
    if port == frame_layout.UDP_PORT and at + NATIVE_HEADER <= end:
        word = big32(octets, at)
        if word == frame_layout.MAGIC_WORD:
            return DATA
        if word == frame_layout.TRIMMED_WORD and at + NATIVE_TRIMMED <= end:
            return TRIMMED
    elif port == frame_layout.ACK_PORT and at + NATIVE_ACK <= end:
        version = octets[at] >> 4
        if version == frame_layout.ACK_VERSION:
            return ACK
        if version == frame_layout.SACK_VERSION and at + NATIVE_SACK <= end:
            return SACK
    elif port == frame_layout.CREDIT_PORT and at + NATIVE_CREDIT <= end:
        said = octets[at] >> 4
        if said == CREDIT_MESSAGE:
            return CREDIT
        if said == REQUEST_MESSAGE:
            return REQUEST
    return OTHER


@inlined
def udp_end(octets, at, end, row):
    """Where UDP at `at` ends: nothing is looked for behind what its length announces (RFC 768)."""
    length = big16(octets, at + 4)
    if length or row["version"] == 4:  # 0 over IPv6 is a jumbogram (RFC 2675)
        return min(end, at + length)
    return end


@inlined
def transport_ports(octets, at, end, protocol, row):
    """UDP or TCP at `at`, and the known protocols over UDP."""
    if at + 4 > end or (protocol != UDP and protocol != TCP):
        return
    row["source_port"] = big16(octets, at)
    port = big16(octets, at + 2)
    row["destination_port"] = port
    if protocol == TCP or at + 8 > end:
        return
    end = udp_end(octets, at, end, row)
    if port == ROCE_PORT:
        transport(octets, at + 8, end, row)
    else:
        row["kind"] = native_payload_kind(octets, at + 8, end, port)


@inlined
def ipv4(octets, begin, at, end, row):
    """IPv4 at `at` of a frame that begins at `begin`; returns the protocol of its payload, where
    the payload begins and where the packet ends. ABSENT in place of a protocol: no first fragment.
    """
    if at + 20 > end or octets[at] >> 4 != 4:
        return np.int64(ABSENT), at, end
    header = (np.int64(octets[at]) & 15) * 4
    if header < 20:
        return np.int64(ABSENT), at, end
    row["version"] = 4
    row["ecn"] = np.int64(octets[at + 1]) & 3
    row["ttl"] = np.int64(octets[at + 8])
    total = big16(octets, at + 2)
    if total == 0:  # left to the card by segmentation offload: the rest of the frame
        total = end - at
    if total < header:
        return np.int64(ABSENT), at, end
    end = min(end, at + total)
    protocol = np.int64(octets[at + 9])
    row["protocol"] = protocol
    row["from_high"], row["from_low"] = 0, big32(octets, at + 12)
    row["to_high"], row["to_low"] = 0, big32(octets, at + 16)
    row["place"] = at + header - begin
    if big16(octets, at + 6) & 0x1FFF != 0:  # a later fragment
        protocol = np.int64(ABSENT)
    return protocol, at + header, end


@inlined
def ipv6_end(octets, at, end):
    """Where the IPv6 packet at `at` ends, of a frame that ends at `end`.

    A payload length of 0 with a payload is a jumbogram, whose option says the length (RFC 2675), or
    was left to the card by segmentation offload, as in IPv4: then the frame's end is the packet's.
    """
    length, protocol = big16(octets, at + 4), np.int64(octets[at + 6])
    if length != 0:
        return min(end, at + 40 + length)
    if protocol == HOP_BY_HOP and at + 48 <= end and octets[at + 42] == JUMBO_PAYLOAD:
        return min(end, at + 40 + big32(octets, at + 44))
    return at + 40 if protocol == NO_NEXT_HEADER else end


@inlined
def ipv6(octets, begin, at, end, row):
    """IPv6 at `at` of a frame that begins at `begin`; returns what `ipv4` returns."""
    if at + 40 > end or octets[at] >> 4 != 6:
        return np.int64(ABSENT), at, end
    row["version"] = 6
    row["ecn"] = (big16(octets, at) >> 4) & 3
    row["ttl"] = np.int64(octets[at + 7])
    row["from_high"], row["from_low"] = big64(octets, at + 8), big64(octets, at + 16)
    row["to_high"], row["to_low"] = big64(octets, at + 24), big64(octets, at + 32)
    protocol = np.int64(octets[at + 6])
    end = ipv6_end(octets, at, end)
    at += 40
    first = True
    for _ in range(MOST_EXTENSIONS):
        if protocol not in (HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION_OPTIONS):
            break
        if at + 8 > end:
            break
        size = (octets[at + 1] + np.int64(1)) * 8
        if protocol == FRAGMENT:
            size = np.int64(8)
            first = first and big16(octets, at + 2) >> 3 == 0
        elif protocol == AUTHENTICATION:
            size = (octets[at + 1] + np.int64(2)) * 4
        protocol = np.int64(octets[at + 0])
        at += size
        if not first:  # a later fragment holds no further headers
            break
    row["protocol"] = protocol
    row["place"] = at - begin
    return protocol if first else np.int64(ABSENT), at, end


@inlined
def control(octets, at, end, row):
    """MAC control (802.3 annex 31) at `at`: PAUSE, PFC (802.1Qbb), grants of a link's credits."""
    if at + 2 > end:
        return
    opcode = big16(octets, at)
    row["opcode"] = opcode
    if opcode == PAUSE_OPCODE and at + PAUSE_FIELDS <= end:
        row["kind"] = PAUSE
    elif opcode == PFC_OPCODE and at + PFC_FIELDS <= end:
        row["kind"] = PFC
    elif (
        opcode == frame_layout.GRANT_OPCODE
        and at + GRANT_FIELDS <= end
        and big32(octets, at + 2) == frame_layout.GRANT_WORD
    ):
        row["kind"] = GRANT


@inlined
def probe(octets, at, end, row):
    """A probe or an echo at `at`, between tailback's addresses: the EtherType is not reserved."""
    if at + PROBE_PDU > end:
        return
    strange = index_of_mac(row["source"]) == UNKNOWN or index_of_mac(row["destination"]) == UNKNOWN
    way = big16(octets, at) - (frame_layout.PROBE_VERSION << 8)
    if not strange and way in (FORWARD, BACK):
        row["kind"] = PROBE if way == FORWARD else ECHO


@inlined
def ethernet(octets, begin, at, end, row):
    """Ethernet at `at` of a frame that begins at `begin`; returns the last EtherType and where its
    payload begins."""
    # two words of 8 octets cost less than two of 6
    row["destination"] = (big64(octets, at) >> 16) & MAC
    row["source"] = big64(octets, at + 4) & MAC
    kind = big16(octets, at + 12)
    at += 14
    tags = 0
    while kind in (VLAN, PROVIDER_VLAN, OLD_QINQ, OLD_QINQ_2, OLD_QINQ_3) and at + 2 <= end:
        if tags == 0:
            row["vlan"] = big16(octets, at) & 0xFFF
            row["priority"] = octets[at] >> 5
        tags = min(tags + 1, 127)
        if at + 4 > end:
            break
        kind = big16(octets, at + 2)
        at += 4
    row["tags"] = tags
    if kind == CN_TAG and at + 4 <= end:
        row["rpid"] = big16(octets, at)
        kind = big16(octets, at + 2)
        at += 4
    if kind == PPPOE_SESSION and at + PPPOE_HEADER <= end and big16(octets, at) == PPPOE_DATA:
        protocol = big16(octets, at + 6)
        if protocol in (PPP_IPV4, PPP_IPV6):
            kind = np.int64(IPV4 if protocol == PPP_IPV4 else IPV6)
            at += PPPOE_HEADER
    return kind, at


@inlined
def network(octets, begin, at, end, kind, innermost, row):
    """What an EtherType announces at `at`; returns the tunnel that it is, if it is one and not
    `innermost`, with what `tunnel_of` returns and the end of what is in it."""
    row["ethertype"] = kind if kind >= LEAST_TYPE else np.int64(0)
    row["place"] = at - begin
    if kind in (IPV4, IPV6):
        if kind == IPV4:
            protocol, at, end = ipv4(octets, begin, at, end, row)
        else:
            protocol, at, end = ipv6(octets, begin, at, end, row)
        tunnel, inner, place, number = tunnel_of(octets, at, end, protocol)
        if tunnel == 0 or innermost or not has_header(octets, place, end, inner):
            tunnel = np.int64(0)
            transport_ports(octets, at, end, protocol, row)
        return tunnel, inner, place, end, number
    if kind in (MPLS, MPLS_MULTICAST):
        inner, place = below_labels(octets, at, end)
        tunnel = np.int64(TUNNEL_MPLS)
        if innermost or not has_header(octets, place, end, inner):
            tunnel = np.int64(0)
        return tunnel, inner, place, end, np.int64(ABSENT)
    if kind == MAC_CONTROL:
        control(octets, at, end, row)
    elif kind == CNM_TYPE:
        if at + CNM_PDU <= end:
            row["kind"] = CNM
    elif kind == ROCE_V1:
        transport(octets, at + GRH, end, row)
    elif kind == LLDP_TYPE:
        row["kind"] = LLDP
    elif kind == frame_layout.PROBE_TYPE:
        probe(octets, at, end, row)
    return np.int64(0), np.int64(0), at, end, np.int64(ABSENT)


@inlined
def enter_tunnel(row, words, blank, tunnel, number, inner):
    """Forget what the headers around a tunnel's payload said, save the tunnel itself, and Ethernet
    where the payload has none of its own."""
    source, destination = row["source"], row["destination"]
    vlan, priority, tags = row["vlan"], row["priority"], row["tags"]
    tunnels, within = row["tunnel"] | tunnel, row["network"]
    for word in range(blank.size):
        words[word] = blank[word]
    row["tunnel"], row["network"] = tunnels, within if number < 0 else number
    if inner != ETHERNET_PAYLOAD:
        row["source"], row["destination"] = source, destination
        row["vlan"], row["priority"], row["tags"] = vlan, priority, tags


@compiled
def frame_headers(octets, begin, size, row, words, blank):
    """Fill `row`, a HEADERS, from an Ethernet frame of `size` octets that begins at `begin`.

    `words` is the same memory as int64[m] and `blank` int64[m] a row without any field. The headers
    are those of the innermost frame or packet that was captured, of at most MOST_TUNNELS; `tunnel`
    and `network` name what is around it. A frame that the network around it marked CE counts as
    marked if it is ECN-capable (RFC 6040, 4.2); one that a switch mirrored does not, since those
    marks are the mirror's.
    """
    for word in range(blank.size):
        words[word] = blank[word]
    end = begin + size
    if begin + 14 > end:
        return
    at, kind = begin, np.int64(ETHERNET_PAYLOAD)
    marked = False
    for depth in range(MOST_TUNNELS + 1):
        if kind == ETHERNET_PAYLOAD:
            kind, at = ethernet(octets, begin, at, end, row)
        innermost = depth == MOST_TUNNELS
        tunnel, inner, place, last, number = network(octets, begin, at, end, kind, innermost, row)
        if marked and row["ecn"] > 0:
            row["ecn"] = 3
        if tunnel == 0:
            break
        marked = tunnel != TUNNEL_ERSPAN and row["ecn"] == 3
        enter_tunnel(row, words, blank, tunnel, number, inner)
        kind, at, end = inner, place, last


@compiled
def headers(octets, offset, captured, interface, ethernet, rows, words, blank):
    """Fill `rows` HEADERS[>= n] for n frames. `ethernet` says which interfaces are dissected.

    `words` is the same memory as int64[>= n, m] and `blank` int64[m] a row without any field.
    """
    for index in range(offset.size):
        size = captured[index] if ethernet[interface[index]] else 0
        frame_headers(octets, offset[index], size, rows[index], words[index], blank)


def blank_row() -> np.ndarray:
    """A row without any field, as int64[m]."""
    row = np.full(1, ABSENT, HEADERS)
    for name in ("tags", "version", "tunnel"):
        row[name] = 0
    row["kind"] = OTHER
    return row.view(np.int64)


BLANK = blank_row()


def words_of(rows: np.ndarray) -> np.ndarray:
    """HEADERS[n] as int64[n, m]."""
    return rows.view(np.int64).reshape(-1, BLANK.size)


def dissect(
    batch: Batch, interfaces: list[Interface], rows: np.ndarray | None = None
) -> np.ndarray:
    """The headers of a batch, HEADERS[n].

    `rows`, when it is given and large enough, is filled instead of a new array. Frames of an
    interface that is not Ethernet are OTHER, without any field.
    """
    if rows is None or len(rows) < len(batch):
        rows = np.empty(len(batch), HEADERS)
    ethernet = np.array([interface.frame_linktype == ETHERNET for interface in interfaces])
    words = words_of(rows)
    headers(
        batch.octets,
        batch.offset,
        batch.captured,
        batch.interface,
        ethernet,
        rows,
        words,
        BLANK,
    )
    return rows[: len(batch)]
