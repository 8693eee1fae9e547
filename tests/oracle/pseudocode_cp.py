"""The QCN congestion point, line by line from the pseudo code (QCN 2.2, L146-L208).

An oracle for tests: plain Python integers, no dependency on the code under test. `L<n>` is a
line of the pseudo code. Where docs/settled/algorithms.md#qcn-congestion-point decides
otherwise in item m, the comment says "departs from L<n>: CP<m>" and why. Lengths are octets (the
pseudo code counts pages); divisions round down; KB is 1000 octets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Jitter = Callable[[int], int]
"""random_number_between(0.85, 1.15) * interval, in octets."""

MARK_TABLE = (150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500)
"""L199-L206, at a sample base of 150 000 octets."""


def no_jitter(interval: int) -> int:
    """The interval itself."""
    return interval


@dataclass(frozen=True)
class CpParameters:
    """L26-L27, and the base that the mark table is scaled to (CP6)."""

    Q_EQ: int = 26_000
    W: int = 2
    sample_base: int = 150_000


@dataclass(frozen=True)
class FBFrame:
    """L18-L20."""

    fb: int
    qoff: int
    qdelta: int


class CongestionPoint:
    """One queue's congestion point. `qlen` is set by the caller, without the arriving frame."""

    def __init__(self, parameters: CpParameters, jitter: Jitter = no_jitter) -> None:
        self.p = parameters
        self.jitter = jitter
        self.qlen = 0  # L148
        self.qlen_old = 0  # L149
        self.time_to_mark = self.mark_table(0)  # L150, unjittered

    def mark_table(self, qntz_fb: int) -> int:
        """L196-L208. Departs from L199-L206: CP6. Scaled by sample_base / 150 000."""
        return MARK_TABLE[qntz_fb // 8] * self.p.sample_base // MARK_TABLE[0]

    def arrival(self, length: int) -> FBFrame | None:
        """L153-L192: foreach (IncomingFrame); the message to its source, if one is due."""
        fb = (self.p.Q_EQ - self.qlen) - self.p.W * (self.qlen - self.qlen_old)  # L156
        limit = self.p.Q_EQ * (2 * self.p.W + 1)
        if fb < -limit:  # L157
            fb = -limit  # L158
        elif fb > 0:  # L159
            fb = 0  # L160

        # L166 says only "most significant bits": CP2 makes it 6 bits of the clipped range.
        qntz_fb = min(63, -fb * 63 // limit)

        message = None  # L169
        self.time_to_mark -= length  # L171
        if self.time_to_mark < 0:  # L172
            if qntz_fb > 0:  # L174
                message = FBFrame(
                    fb=qntz_fb,  # L187
                    # Departs from L188: CP4. Q_EQ - qlen there is negative in congestion, and L19
                    # of the receiver wants it positive.
                    qoff=self.qlen - self.p.Q_EQ,
                    # Departs from L177 before L189: CP3. Taken in that order qdelta is always 0.
                    qdelta=self.qlen - self.qlen_old,  # L189
                )
            self.qlen_old = self.qlen  # L177
            self.time_to_mark = self.jitter(self.mark_table(qntz_fb))  # L179-L180
        return message
