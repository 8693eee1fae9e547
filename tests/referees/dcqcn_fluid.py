"""DCQCN's fluid model (Zhu et al., ECN or Delay, equations 3 to 7) and its fixed point.

A transcription of the printed equations, which shares no code with the plugins. Rates are in
packets per second, queues in packets, times in seconds. `solve` integrates the delay differential
equations by Heun's method with a fixed step; the feedback delay is a whole number of steps. As in
the protocol, flows begin at the link's rate with alpha = 1, and neither rate exceeds the link's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, log1p

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

LONGEST_EXPONENT = 700.0
Flow = tuple[float, float, float]
"""Current rate, target rate, alpha."""


@dataclass(frozen=True)
class Dcqcn:
    """Parameters as published for 40 Gb/s, with packets of 1000 octets."""

    link: float = 5e6
    k_min: float = 5.0
    k_max: float = 200.0
    p_max: float = 0.01
    g: float = 1 / 256
    tau: float = 50e-6
    """Interval of CNPs, s."""
    tau_alpha: float = 55e-6
    """Interval of alpha's decay (tau prime), s."""
    timer: float = 55e-6
    bytes_counted: float = 10_000.0
    """Byte counter B, packets."""
    r_ai: float = 5_000.0
    """Active increase R_AI, packets/s: 40 Mb/s."""
    fast: int = 5
    """Stages of fast recovery, F."""

    def marking(self, queue: float) -> float:
        """Equation 3: probability of a mark at a queue length."""
        if queue <= self.k_min:
            return 0.0
        if queue > self.k_max:
            return 1.0
        return (queue - self.k_min) / (self.k_max - self.k_min) * self.p_max

    def shares(self, p: float, rate: float) -> tuple[float, float, float, float, float]:
        """The terms a to e below equation 11, of the delayed marking and rate."""
        if p <= 0:
            per_timer = 1 / (self.timer * rate)
            return 0.0, 1 / self.bytes_counted, 1 / self.bytes_counted, per_timer, per_timer
        if p >= 1:
            return 1.0, 0.0, 0.0, 0.0, 0.0
        log = log1p(-p)
        counted, timed = -self.bytes_counted * log, -self.timer * rate * log
        b = p / expm1(counted) if counted < LONGEST_EXPONENT else 0.0
        d = p / expm1(timed) if timed < LONGEST_EXPONENT else 0.0
        return (
            -expm1(self.tau * rate * log),
            b,
            b * exp(-self.fast * counted),
            d,
            d * exp(-self.fast * timed),
        )

    def change(self, flow: Flow, p: float, rate: float) -> Flow:
        """Equations 5 to 7: change per second of one flow; `p` and `rate` are the delayed ones."""
        current, target, alpha = flow
        a, b, c, d, e = self.shares(p, rate)
        marked = -expm1(self.tau_alpha * rate * log1p(-p)) if p < 1 else 1.0
        gap = target - current
        d_current = -current * alpha / (2 * self.tau) * a + gap / 2 * rate * (b + d)
        d_target = -gap / self.tau * a + self.r_ai * rate * (c + e)
        return d_current, d_target, self.g / self.tau_alpha * (marked - alpha)

    def fixed_marking(self, flows: int) -> float:
        """The root of equation 11: the only marking probability at which nothing changes."""
        rate = self.link / flows

        def excess(p: float) -> float:
            a, b, c, d, e = self.shares(p, rate)
            alpha = -expm1(self.tau_alpha * rate * log1p(-p))
            return a * a * alpha - self.tau**2 * self.r_ai * rate * (b + d) * (c + e)

        return float(brentq(excess, 1e-9, 0.5, xtol=1e-12))

    def approximate_marking(self, flows: int) -> float:
        """Equation 14: the first term of its series."""
        gain = self.r_ai * flows**2 / (self.tau_alpha * self.link**2)
        return float(
            (gain * (1 / self.bytes_counted + flows / (self.timer * self.link)) ** 2) ** (1 / 3)
        )

    def queue_at(self, p: float) -> float:
        """Equation 9: queue length, in packets, at a marking probability up to p_max."""
        return min(p / self.p_max, 1.0) * (self.k_max - self.k_min) + self.k_min


@dataclass(frozen=True)
class Solution:
    """Queue and current rates (a column per group of flows), in the units of the model, over time
    (s)."""

    times: NDArray[np.float64]
    queue: NDArray[np.float64]
    rates: NDArray[np.float64]


def solve(
    model: Dcqcn,
    groups: Sequence[int],
    delay: float,
    duration: float,
    *,
    starts: Sequence[float] | None = None,
    step: float = 1e-6,
) -> Solution:
    """Solve the model for groups of so many flows each, which begin at `starts` (s, default 0).

    The flows of a group have the same state. Equation 4 is the queue; it does not fall below 0.
    """
    lag, steps = round(delay / step), round(duration / step)
    begins = [round(start / step) for start in starts or [0.0] * len(groups)]
    if lag < 1:
        raise ValueError(f"the delay, {delay} s, is below one step of {step} s")
    flows: list[Flow] = [(model.link, model.link, 1.0) for _ in groups]
    queue = np.zeros(steps + 1)
    rates = np.zeros((steps + 1, len(groups)))
    for i, begin in enumerate(begins):
        rates[0, i] = model.link if begin == 0 else 0.0
    length = 0.0
    queues, kept = [0.0], [[model.link] * len(groups)]
    for n in range(steps):
        total = 0.0
        p0, p1 = (model.marking(queues[max(k - lag, 0)]) for k in (n, n + 1))
        for i, flow in enumerate(flows):
            if n < begins[i]:
                continue
            before, after = (kept[max(k - lag, 0)][i] for k in (n, n + 1))
            first = model.change(flow, p0, before)
            guess = _bounded(model, [x + step * dx for x, dx in zip(flow, first, strict=True)])
            second = model.change(guess, p1, after)
            flows[i] = _bounded(
                model,
                [x + step / 2 * (u + v) for x, u, v in zip(flow, first, second, strict=True)],
            )
            total += groups[i] * (flow[0] + flows[i][0]) / 2
            rates[n + 1, i] = flows[i][0]
        length = max(length + step * (total - model.link), 0.0)
        queue[n + 1] = length
        queues.append(length)
        kept.append([flow[0] for flow in flows])
    return Solution(np.arange(steps + 1) * step, queue, rates)


def _bounded(model: Dcqcn, state: list[float]) -> Flow:
    """Rates are above 0 and at most the link's."""
    current, target, alpha = state
    return min(max(current, 1.0), model.link), min(target, model.link), alpha
