"""QCN stability: longest feedback delay at which a linear fluid model of the loop is damped.

The model is that of Averaging Principle as a whole, without timer: N equal sources, each notified
of a share p of its frames, a byte counter of B frames. Around the rest point, with a = p C / N the
messages per second of one source, R its current rate, T its target, q the queue:

    T' = -a (T - R)
    R' = -G a (C/N) F(t - tau) - G a F0 R + a / (2 K) (T - R)        K = (1 - p)^-B - 1
    q' = N R,                     F = q + w / (C p) N R

so that the open loop is L(s) e^(-s tau) with

    L(s) = G p C^2 / N (1 / s + w / (C p)) / (s + G a F0 + a s / (2 K (s + a)))

In (T - R) lies the averaging: after each B frames without a message R goes half of the way to T. G
is the cut per frame of F: half of the rate at the largest F, (2 w + 1) Q_eq. F0, what holds active
increase down at rest, is (1 - p)^(5 B) R_AI / (2 K^2 G R). The delay margin is the phase that is
left where |L| = 1, over that frequency. Frames have one length, all in frames and seconds.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass

FRAMES_TO_ACTIVE = 5
"""Cycles of the byte counter before active increase."""
LOW, HIGH = 1e-3, 1e9
"""Angular frequencies between which the gain passes 1."""


@dataclass(frozen=True)
class Loop:
    """N alike sources and one queue. Rates in frames/s, lengths in frames."""

    rate: float
    """C, of the queue's service."""
    sources: int
    """N."""
    weight: float
    """w."""
    set_point: float
    """Q_eq."""
    share: float
    """p: of its frames, so many samples; at rest F is near 0 and the interval its longest."""
    cycle: float
    """B, of the byte counter."""
    increase: float
    """R_AI, active increase of one source."""

    @property
    def gain(self) -> float:
        """G: what a frame of F takes of the rate."""
        return 0.5 / ((2 * self.weight + 1) * self.set_point)

    @property
    def _k(self) -> float:
        return float((1 - self.share) ** -self.cycle - 1)

    @property
    def rest(self) -> float:
        """F0: F at rest, in frames."""
        own = self.rate / self.sources
        up = (1 - self.share) ** (FRAMES_TO_ACTIVE * self.cycle) * self.increase
        return float(up / (2 * self._k**2 * self.gain * own))

    def open(self, s: complex) -> complex:
        """L(s), the loop without its delay."""
        c, n, p = self.rate, self.sources, self.share
        a = p * c / n
        down = s + self.gain * a * self.rest + a * s / (2 * self._k * (s + a))
        return self.gain * p * c * c / n * (1 / s + self.weight / (c * p)) / down

    def crossover(self) -> float:
        """The angular frequency at which the gain is 1, rad/s; |L| falls all the way."""
        low, high = math.log(LOW), math.log(HIGH)
        while high - low > 1e-12:
            middle = (low + high) / 2
            if abs(self.open(1j * math.exp(middle))) > 1:
                low = middle
            else:
                high = middle
        return math.exp(low)

    def longest_delay(self) -> float:
        """The delay margin, s: with a longer one the loop swings up."""
        omega = self.crossover()
        left = math.pi + cmath.phase(self.open(1j * omega))
        return left / omega
