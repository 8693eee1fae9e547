"""Record types of flows and points, and the indices of their counters."""

from __future__ import annotations

import numpy as np

from traces.dissect.header_record import Kind

DATA, ROCE, CNP, LLDP = int(Kind.DATA), int(Kind.ROCE), int(Kind.CNP), int(Kind.LLDP)
FIRST_ROCE_ANSWER = int(Kind.ROCE_ACK)
"""This kind and those behind it are RoCE's ACKs and NAKs."""
CNMS, PAUSES, PROBES = range(3)
"""Sorts of control frames."""
CONTROLS = 3
SORT_OF = {
    Kind.CNM: CNMS,
    Kind.PAUSE: PAUSES,
    Kind.PFC: PAUSES,
    Kind.PROBE: PROBES,
    Kind.ECHO: PROBES,
}
SORTS = tuple(SORT_OF.get(kind, -1) for kind in Kind)
"""By kind; -1 for frames of flows."""
STAMPED = tuple(kind in (Kind.DATA, Kind.ACK, Kind.SACK) for kind in Kind)
"""By kind: those among which are types with room for stamps."""
ROWS, MOST_ROWS, MATCHED, ROOMS, LLDPS, OVERFLOWN, LATEST_NS, BACKWARD, FIRST_CONTROL = range(9)
"""Indices of `count`. LATEST_NS and BACKWARD are the two words of `time_order.note_order`, of a
file whose records are found on the way."""

WORDS = 9
"""int64 words of a flow's key."""
WINDOW = 1024
"""Sequence numbers behind the highest that are remembered one by one; a power of 2."""
OVERFLOW = 0
"""The row of the flow table that takes what no longer finds a place."""

FLOW = np.dtype(
    [
        (name, np.int64)
        for name in (
            "point",
            "kind",
            "source",  # of the first frame, as the next five are
            "destination",
            "vlan",
            "priority",
            "ttl",
            "tunnel",
            "network",
            "number",  # of tailback's flow
            "headers",  # 4 or 6 with IP
            "frames",
            "octets",
            "first_ns",
            "last_ns",
            "first_length",
            "ect1",
            "ect0",
            "ce",
            "numbered",  # frames with a sequence number
            "low",
            "high",
            "distinct",
            "duplicates",
            "reordered",
            "undecided",
            "reads",
            "responses",  # frames of RoCE that answer reads
            "datagrams",  # frames of RoCE whose numbers are not the flow's
            "restarts",  # times that numbering of RoCE began anew
        )
    ]
)
POINT = np.dtype(
    [
        ("frames", np.int64, (len(Kind),)),
        ("octets", np.int64),
        ("first_ns", np.int64),
        ("last_ns", np.int64),
        ("timed", np.int64),
        ("ce", np.int64),
    ]
)
