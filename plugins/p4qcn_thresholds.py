"""Lossless thresholds of P4QCN and PFC in a shared buffer (P4QCN, section 3.2.2), in octets.

A switch of n ports and eight priorities shares a buffer of Q octets; what is in flight while a
message takes effect has to find room. Q_PFC <= (Q - 8 n Q_flight) / (8 n), Q_P4QCN <= Q_PFC -
Q_flight, and where the buffer is shared, as DCQCN sets it, Q_P4QCN < a (Q - 8 n Q_flight) / (8 n (a
+ 1)), a = 8. The first two subtract Q_flight from each queue's share once each.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

PRIORITIES = 8
SHARING = Fraction(8)


@dataclass(frozen=True)
class Thresholds:
    """The highest marks, in octets, rounded down; negative where the buffer is too small."""

    pfc: int
    p4qcn: int
    p4qcn_shared: int

    @property
    def possible(self) -> bool:
        """True if the buffer is large enough for such thresholds."""
        return min(self.pfc, self.p4qcn, self.p4qcn_shared) > 0


def thresholds(
    buffer: int,
    ports: int,
    in_flight: int,
    priorities: int = PRIORITIES,
    sharing: Fraction = SHARING,
) -> Thresholds:
    """The limits for a buffer of octets that `ports` ports share."""
    queues = priorities * ports
    room = Fraction(buffer - queues * in_flight, queues)
    shared = sharing / (sharing + 1) * room
    below = shared - 1 if shared.denominator == 1 else Fraction(shared.__floor__())
    return Thresholds(room.__floor__(), (room - in_flight).__floor__(), int(below))


def in_flight(rate: int, round_trip: int) -> int:
    """Octets of a path's bandwidth-delay product, rounded up: bit/s times ps."""
    return -(-rate * round_trip // (8 * 10**12))
