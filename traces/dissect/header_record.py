"""Header record: one row per frame with the headers that identify flows and congestion."""

from __future__ import annotations

import enum

import numpy as np

ABSENT = -1
"""A field that the frame does not have, or of which the capture did not keep every octet."""


class Kind(enum.IntEnum):
    """Kind of a frame to congestion control. The rest is OTHER."""

    DATA = 0
    """A data frame of tailback's: UDP with our payload header."""
    CNM = 1
    PAUSE = 2
    PFC = 3
    OTHER = 4
    ROCE = 5
    """RoCEv1 or v2 with its base transport header, but no CNP and no answer."""
    CNP = 6
    LLDP = 7
    PROBE = 8
    """A probe of FECN on its way forward; ECHO: one that was turned round."""
    ECHO = 9
    ACK = 10
    """An acknowledgement of one of tailback's transports; SACK: one with single segments."""
    SACK = 11
    TRIMMED = 12
    """A data frame of tailback's that a switch cut to its header: its payload did not arrive."""
    CREDIT = 13
    """What a receiver lets a source send; REQUEST: what a source wants of it."""
    REQUEST = 14
    GRANT = 15
    """Credits of a link, in MAC control."""
    ROCE_ACK = 16
    """RoCE's answer of a positive syndrome (ACK); ROCE_NAK: of a negative one; ROCE_RNR_NAK: of one
    that the receiver is not ready. An answer whose syndrome was not captured is ROCE."""
    ROCE_NAK = 17
    ROCE_RNR_NAK = 18


TUNNELS = ("vxlan", "geneve", "gre", "erspan", "ip", "mpls")
"""Names of tunnels, by bit of `tunnel`."""
KINDS = tuple(kind.name.lower() for kind in Kind)

HEADERS = np.dtype(
    [
        ("destination", np.int64),  # MAC addresses as numbers of 48 bits
        ("source", np.int64),
        ("from_high", np.int64),  # IP addresses as two words, two's complement; IPv4 in the low
        ("from_low", np.int64),
        ("to_high", np.int64),
        ("to_low", np.int64),
        ("network", np.int64),  # of the innermost tunnel that names one: VNI, VSID, key of GRE
        ("place", np.int32),  # of the transport header, or of what follows the last EtherType
        ("ethertype", np.int32),  # the last one, behind VLAN tags and CN-TAG; 0: a length
        ("rpid", np.int32),  # flow identifier of the CN-TAG
        ("source_port", np.int32),  # UDP, TCP
        ("destination_port", np.int32),
        ("qp", np.int32),  # destination queue pair of RoCE
        ("psn", np.int32),  # packet sequence number of RoCE, 24 bits
        ("opcode", np.int32),  # of RoCE's base transport header, or of MAC control
        ("partition", np.int32),  # of RoCE, 15 bits
        ("ttl", np.int16),  # time to live, or hop limit
        ("vlan", np.int16),  # identifier of the outermost tag
        ("protocol", np.int16),  # of IP, behind IPv6's extension headers
        ("kind", np.int8),  # a Kind
        ("priority", np.int8),  # priority code point of the outermost tag
        ("tags", np.int8),  # number of VLAN tags
        ("tunnel", np.int8),  # bits of TUNNELS: those around the fields above, 0 without any
        ("version", np.int8),  # 4, 6, or 0 without IP
        ("ecn", np.int8),  # the code point, 0 to 3
        ("notice", np.int8),  # RoCE: 2 for FECN, 1 for BECN, 3 for both
    ],
    align=True,
)
"""A dissected frame; int64 arithmetic on every field is exact. ABSENT where there is none."""
