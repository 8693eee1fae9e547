"""TCP model for the simulator: NewReno or CUBIC with selective acknowledgements.

The sender counts in segments of one size. Windows are kept in thousandths of a segment, times in
ps; all of it in whole numbers. What is in it and what is not stands in docs/tcp.md. After RFC 5681
(congestion control), 6675 (recovery with SACK), 6582 (its NewReno exit), 6298 (the timer), 9438
(CUBIC), 1122 (delayed acknowledgements), 3168 (ECN).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from tailback.plugin import Algorithm, Capability, Duration, Params
from traffic.ack_coalescing import MOST_SEGMENTS
from traffic.tcp_receiver import arrived
from traffic.tcp_sender import WINDOW, acknowledged, send

MS = 10**9


class Tcp(Params):
    """Parameters of a TCP connection."""

    former: ClassVar[dict[str, str]] = {"congestion": "congestion_control"}

    congestion_control: Literal["newreno", "cubic"] = Field(
        "cubic", description="congestion control"
    )
    initial_window: int = Field(10, ge=1, le=1000, description="segments (RFC 6928)")
    window: int = Field(
        WINDOW, ge=2, le=WINDOW, description="segments that the receiver lets be under way"
    )
    min_rto: Duration = Field(
        200 * MS, ge=10**6, le=60 * 10**12, description="shortest retransmission timeout"
    )
    ack_every: int = Field(
        2, ge=1, le=MOST_SEGMENTS, description="segments in order that one ACK answers (RFC 1122)"
    )
    delayed_ack: Duration = Field(
        40 * MS, le=500 * MS, description="delay of an ACK for further segments; 0: none"
    )
    ecn: bool = Field(False, description="segments are ECN-capable, marks halve the window")

    def sends_ect(self) -> bool:
        """With `ecn`."""
        return self.ecn


STATE = np.dtype(
    [
        *(
            (name, np.int64)
            for name in (
                "begun",  # 1: the fields below are set up
                "una",  # sender: first segment that was not acknowledged
                "nxt",  # first segment that was never sent
                "window",  # congestion window, thousandths of a segment
                "threshold",  # slow start threshold, likewise
                "duplicates",  # consecutive duplicate acknowledgements
                "recovering",  # 1: repairs losses; 2: after a timeout
                "recover",  # until this segment is acknowledged
                "pipe",  # segments that are believed to be under way
                "highest",  # one past the highest segment that was selectively acknowledged
                "look",  # segments before it are not to be sent again
                "urgent",  # 1: the first lost segment is to be sent at once
                "srtt",  # ps
                "rttvar",
                "timeout",
                "deadline",  # of the retransmission timer; NEVER
                "backoff",  # timeouts in a row
                "reduced",  # segment up to which a mark reduces the window no more
                "epoch",  # CUBIC: start of its curve (ps); 0: none
                "most",  # CUBIC: the window before the last reduction, thousandths
                "friendly",  # CUBIC: what Reno's window would be by now
                "reach",  # CUBIC: ms from the epoch until the window is `most` again
                "prior",  # CUBIC: the window before the last reduction, thousandths
                "grown",  # thousandths of a segment times the window that are not in it yet
                "friendly_grown",  # CUBIC: of `friendly`, likewise, in 17ths
                "lost",  # losses, for people who look
                "timeouts",
                "expected",  # receiver: the first segment that is missing
                "beyond",  # one past the highest segment that waited behind a gap
                "owed",  # in-order segments that were not acknowledged yet
                "echo",  # when the first of these was made
                "marked",  # 1: a marked segment came since the last acknowledgement
            )
        ),
        ("sacked", np.int64, (WINDOW,)),  # sender: segment known to have arrived
        ("again", np.int64, (WINDOW,)),  # 1: lost, to be sent again; 2: was sent again
        ("there", np.int64, (WINDOW,)),  # receiver: segment waits behind a gap
    ]
)
"""Of both ends, which the simulator has in one place; each kernel touches its own end's alone."""

TCP: Algorithm = Algorithm(
    "tcp",
    "transport",
    "a model of TCP",
    Tcp,
    STATE,
    {"send": send, "acknowledged": acknowledged, "arrived": arrived},
    needs=frozenset({Capability.ACKNOWLEDGEMENTS}),
    counts=("timeouts",),
)
