"""Offsets of fields in encoded frames, in octets from the destination address; constants.

Data frames are VLAN-tagged UDP over IPv4 with tailback's payload header; congestion notification
messages (CNM) follow IEEE 802.1Qau, PAUSE follows IEEE 802.3 annex 31B, PFC IEEE 802.1Qbb. Grants
of a link's credits are MAC control frames with opcodes of tailback. No frame carries an FCS.
"""

from __future__ import annotations

VLAN_TYPE = 0x8100
VLAN_ID = 1
IPV4_TYPE = 0x0800
IPV6_TYPE = 0x86DD
OUTER_TYPE = 0x88A8
"""EtherType of a service VLAN tag (IEEE 802.1Q, 9.5: 802.1ad)."""
MOST_TAGS = 2
"""VLAN tags of a frame."""
CNM_TYPE = 0x22E7
MAC_CONTROL_TYPE = 0x8808
PAUSE_OPCODE = 0x0001
PAUSE_ADDRESS = 0x0180C2000001

SOURCE_MAC = 6
VLAN = 12
TAG_OCTETS = 4
TYPE = 16
"""EtherType after the VLAN tag; the MSDU of a tagged frame starts here."""
MSDU = TYPE
IP = 18
UDP = 38
PAYLOAD = 46
MAGIC = PAYLOAD
FLOW = 50
SEQUENCE = 54
CREATED = 62
DATA_HEADER = 70
"""Octets of a data frame before its zero padding; also the shortest data frame."""

MAGIC_WORD = 0x74424B31
"""'tBK1': marks the payload of a tailback data frame, and its version."""
UDP_PORT = 0xC7B1
"""Destination port of data frames, from the dynamic range, which IANA assigns to no service."""
SOURCE_PORT_BASE = 0xC800
SOURCE_PORT_MASK = 0x07FF
"""A flow's source port is the base plus its low bits, so that other tools tell flows apart."""
IP_PROTOCOL_UDP = 17
IP_TTL = 64
IP_DONT_FRAGMENT = 0x4000

CNM_FEEDBACK = 18
"""Version (4 bits, 0), reserved (6 bits, 0), quantised feedback (6 bits)."""
CNM_CPID = 20
CNM_OFFSET = 28
CNM_DELTA = 30
CNM_PRIORITY = 32
CNM_DESTINATION = 34
CNM_MSDU_LENGTH = 40
CNM_MSDU = 42
CNM_MSDU_OCTETS = 64
"""The most that a CNM repeats of the sampled frame."""
CNM_LENGTH = CNM_MSDU + CNM_MSDU_OCTETS
"""Length of a CNM about a frame of 80 octets or more."""
CNM_UNIT = 64
"""Octets per unit of cnmQOffset and cnmQDelta. From memory of the standard: no source at hand
confirms it, so it stands here alone."""

PROBE_TYPE = 0x88B6
"""IEEE 802 local experimental EtherType 2, as FECN gives its probes no format
(docs/settled/frames.md#probe)."""
PROBE_VERSION = 1
PROBE_KIND = 18
"""Version (8 bits), then 1 for a probe on its way forward, 2 for one that was turned round."""
PROBE_RATE = 20
"""bit/s, 8 octets."""
PROBE_FLOW = 28
PROBE_SEQUENCE = 32
PROBE_CREATED = 40
PROBE_HEADER = 48

ROCE_PORT = 4791
ROCE_TOS = 0xC0
"""Of a CNP: class selector 6; it is no ECN-capable packet."""
BTH = 46
CNP_OPCODE = 0x81
BTH_PKEY = 0xFFFF
BTH_BECN = 0x40
BTH_PAIR = 51
"""Destination queue pair, 3 octets: the flow."""
CNP_ICRC = 74
CNP_LENGTH = 78

ACK_PORT = 0xC7B2
"""Destination port of acknowledgements, the one after that of data frames."""
ACK_VERSION = 1
ACK_SAYS = PAYLOAD
"""Version (4 bits), then 4 bits of the transport's; the flow (3 octets) follows."""
ACK_SEQUENCE = 50
ACK_CREATED = 54
ACK_OFFSET = 62
ACK_DELTA = 66
ACK_HEADER = 70
SACK_VERSION = 2
"""Of an acknowledgement with a map of single segments, which follows."""
SACK_MAP = ACK_HEADER
SACK_HEADER = 74

CREDIT_PORT = 0xC7B3
"""Destination port of credits and of requests for them. They begin as acknowledgements do, with 1
of a credit and 2 of a request for the version."""
CREDIT_SEQUENCE = 50
CREDIT_CREATED = 58
CREDIT_OFFSET = 66
CREDIT_HEADER = 70

TRIMMED_WORD = 0x74425431
"""'tBT1' in the place of a data frame's first word: what follows its header was cut off."""
TRIMMED_LENGTH = DATA_HEADER
"""Octets that the frame had, 2 octets behind the header."""
TRIMMED_HEADER = 72

PAUSE_TYPE_AT = 12
PAUSE_OPCODE_AT = 14
PAUSE_QUANTA_AT = 16
PAUSE_HEADER = 18
PFC_OPCODE = 0x0101
PFC_VECTOR_AT = 16
"""Class-enable vector: bit n for priority n, the high octet 0."""
PFC_QUANTA_AT = 18
PFC_HEADER = 34
GRANT_OPCODE = 0xFFFE
"""EXTENSION, for what an organisation adds to MAC control."""
GRANT_WORD_AT = 16
GRANT_WORD = 0x02744201
"""A locally administered 'tB' for the organisation, then 1 of a grant."""
GRANT_VECTOR_AT = 20
"""As of PFC: bit n for priority n."""
GRANT_OCTETS_AT = 22
GRANT_HEADER = 30
MINIMUM = 60
"""The shortest Ethernet frame without FCS."""
