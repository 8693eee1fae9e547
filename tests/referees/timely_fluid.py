"""TIMELY's fluid model (Zhu et al., ECN or Delay, section 4.1), solved with fixed steps.

A transcription of the printed equations, which shares no code with the plugin. Rates are in bit/s,
queues in bits, times in seconds. The published model has no fixed point: where the gradient is 0 a
rate grows. Delays depend on the state, so that past queues are read between the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.referees.dcqcn_fluid import Solution


@dataclass(frozen=True)
class Timely:
    """Parameters of the paper's validation, for 10 Gb/s."""

    link: float = 10e9
    alpha: float = 0.875
    beta: float = 0.8
    delta: float = 10e6
    t_low: float = 50e-6
    t_high: float = 500e-6
    min_rtt: float = 20e-6
    propagation: float = 4e-6
    segment: float = 128e3
    """16 KB, the least that TIMELY's authors name."""
    mtu: float = 8e3

    def change(self, rate: float, gradient: float, heard: float) -> float:
        """Change of a rate at one update, bit/s; `heard` is the queue that the round trip met."""
        if heard < self.link * self.t_low:
            return self.delta
        if heard > self.link * self.t_high:
            return -self.beta * (1 - self.link * self.t_high / heard) * rate
        return self.delta if gradient <= 0 else -gradient * self.beta * rate


def solve(
    model: Timely,
    first_rates: Sequence[float],
    duration: float,
    *,
    starts: Sequence[float] | None = None,
    step: float = 1e-6,
) -> Solution:
    """Solve the model by Euler's method for flows with first rates (bit/s) and starts (s)."""
    steps = round(duration / step)
    begins = [round(start / step) for start in starts or [0.0] * len(first_rates)]
    rates, gradients = list(first_rates), [0.0] * len(first_rates)
    queues, kept = [0.0], np.zeros((steps + 1, len(first_rates)))

    def past(time: float) -> float:
        place = time / step
        if place <= 0:
            return queues[0]
        below = int(place)
        above = min(below + 1, len(queues) - 1)
        return queues[below] + (queues[above] - queues[below]) * (place - below)

    kept[0] = [r if begin == 0 else 0.0 for r, begin in zip(rates, begins, strict=True)]
    for n in range(steps):
        now, queue = n * step, queues[n]
        total = 0.0
        lag = queue / model.link + model.mtu / model.link + model.propagation
        heard = past(now - lag)
        for i, begin in enumerate(begins):
            if n < begin:
                continue
            update = max(model.segment / rates[i], model.min_rtt)
            grown = (heard - past(now - lag - update)) / (model.link * model.min_rtt)
            change = model.change(rates[i], gradients[i], heard)
            gradients[i] += step * model.alpha / update * (grown - gradients[i])
            total += rates[i]
            rates[i] = min(max(rates[i] + step * change / update, 1e6), model.link)
            kept[n + 1, i] = rates[i]
        queues.append(max(queue + step * (total - model.link), 0.0))
    return Solution(np.arange(steps + 1) * step, np.array(queues), kept)


def solve_by_segment(
    model: Timely, first_rates: Sequence[float], duration: float, *, step: float = 1e-6
) -> Solution:
    """The same with one update per segment, as the protocol has it; the queue flows as before.

    The first segment of the second flow is begun by three tenths, so that flows are out of phase.
    """
    steps = round(duration / step)
    rates, gradients = list(first_rates), [0.0] * len(first_rates)
    sent = [0.3 * model.segment * (i % 2) for i in range(len(rates))]
    before: list[float | None] = [None] * len(rates)
    queue, kept = np.zeros(steps + 1), np.zeros((steps + 1, len(rates)))
    kept[0] = rates
    for n in range(steps):
        lag = (queue[n] + model.mtu) / model.link + model.propagation
        for i in range(len(rates)):
            sent[i] += rates[i] * step
            if sent[i] < model.segment:
                continue
            sent[i] -= model.segment
            heard = float(queue[max(n - round(lag / step), 0)])
            last = before[i]
            grown = 0.0 if last is None else (heard - last) / (model.link * model.min_rtt)
            before[i] = heard
            gradients[i] += model.alpha * (grown - gradients[i])
            change = model.change(rates[i], gradients[i], heard)
            rates[i] = min(max(rates[i] + change, 1e7), model.link)
        queue[n + 1] = max(queue[n] + step * (sum(rates) - model.link), 0.0)
        kept[n + 1] = rates
    return Solution(np.arange(steps + 1) * step, queue, kept)
