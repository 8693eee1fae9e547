"""FECN stability: slopes k of the queue-control function for which the queue converges.

With the linear function the fluid model is q' = (1 - alpha k / Q_eq) q + alpha k, alpha = C T / P
(FECN, equations 3 and 4): it converges for 0 < alpha k / Q_eq < 2. The text's own number for 10
Gb/s and 1 ms, "k <= Q_eq / alpha = 0.0384", is the limit 2 Q_eq / alpha: Q_eq / alpha is 0.0192
and converges in a single step, 0.0384 oscillates for ever, above it the queue diverges.

With the advertised rate averaged, r' = (1 - w) r + w r / rho, there are two states, and the
characteristic polynomial is z^2 - (2 - w - w g) z + (1 - w) with g = alpha k / Q_eq: stable for
g < (4 - 2 w) / w, which is 2 for w = 1 and 6 for w = 1/2. That is what lets FECN's hyperbola
(b = 1.1: g = 4.3 at the set point) converge at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

BITS = 8
PS = 10**12


@dataclass(frozen=True)
class Stability:
    """The numbers of one queue; all exact."""

    alpha: Fraction
    """Frames that the link carries in one interval."""
    set_point: Fraction
    """Frames."""
    average: Fraction
    """Weight of the newest rate."""

    @property
    def deadbeat_slope(self) -> Fraction:
        """The k with which the queue is at its set point after one interval, without averaging."""
        return self.set_point / self.alpha

    @property
    def limit(self) -> Fraction:
        """The k from which on the queue does not converge any more, without averaging."""
        return 2 * self.deadbeat_slope

    @property
    def limit_averaged(self) -> Fraction:
        """The slope from which on the queue diverges, with averaging."""
        return (4 - 2 * self.average) / self.average * self.deadbeat_slope

    def verdict(self, k: Fraction) -> str:
        """Behaviour of the queue with slope k, averaging included."""
        if k <= 0:
            return "does not return"
        if k > self.limit_averaged:
            return "diverges"
        if k == self.limit_averaged:
            return "oscillates"
        if self.average == 1 and k == self.deadbeat_slope:
            return "converges in one step"
        return "converges"

    def queues(self, k: Fraction, start: Fraction, steps: int) -> list[Fraction]:
        """The queue (frames) at the end of each interval, by the fluid model; may be negative."""
        queue, rate, found = start, Fraction(1), []
        for _ in range(steps):
            control = 1 - k * (queue - self.set_point) / self.set_point
            rate += self.average * (control - rate)
            queue += self.alpha * (rate - 1)
            found.append(queue)
        return found


def stability(
    capacity: int, interval: int, frame: int, set_point: int, average: Fraction = Fraction(1)
) -> Stability:
    """Stability of a link of `capacity` bit/s and `interval` ps; frame, set point in octets."""
    alpha = Fraction(capacity * interval, PS * BITS * frame)
    return Stability(alpha, Fraction(set_point, frame), average)


def pause_interval(capacity: int, buffer: int, low: int) -> Fraction:
    """Seconds that the longest PAUSE lasts: a full buffer of octets drains to its low mark."""
    return Fraction((buffer - low) * BITS, capacity)
