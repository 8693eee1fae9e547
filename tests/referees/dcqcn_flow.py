"""One DCQCN flow whose packets are marked with a constant probability, event by event.

The protocol's rules in floating point, which share no code with the plugins: a CNP at most every
`tau`, cuts, five stages, alpha. `fixed_marking` finds the probability at which the flow's mean rate
is its share of the link. It differs from the fluid model's in two respects: timers go on while
marks bring no CNP, and the rate is that of a random process instead of a mean's.
"""

from __future__ import annotations

import random
from math import log

from scipy.optimize import brentq

from tests.referees.dcqcn_fluid import Dcqcn

CUTS = 20_000
"""Of one estimate of a mean rate: its standard error is below half a per cent."""


def mean_rate(model: Dcqcn, p: float, seed: int = 1) -> float:
    """Mean rate in packets/s of a flow that is marked with probability `p`.

    The byte counter is left out: at these rates its cycle is ten times the time between cuts.
    """
    if not 0 < p < 1:
        raise ValueError(f"p = {p}: a probability between 0 and 1 is expected")
    chance = random.Random(seed)
    rate, alpha = model.link / 2, 0.1
    sent = passed = 0.0
    for _ in range(CUTS):
        target, stage, elapsed = rate, 0, 0.0
        rate *= 1 - alpha / 2
        alpha += (1 - alpha) * model.g
        until_marked = -log(1 - chance.random()) / p
        while True:
            deaf = min(max(model.tau - elapsed, 0.0), model.timer)
            open_packets = (model.timer - deaf) * rate
            if until_marked <= open_packets:
                time = deaf + until_marked / rate
                sent += time * rate
                passed += time
                break
            until_marked -= open_packets
            sent += model.timer * rate
            passed += model.timer
            elapsed += model.timer
            alpha -= alpha * model.g
            stage += 1
            if stage >= model.fast:
                target = min(target + model.r_ai, model.link)
            rate = min((rate + target) / 2, model.link)
    return sent / passed


def fixed_marking(model: Dcqcn, flows: int) -> float:
    """The marking probability at which `flows` such flows fill the link on average."""
    share = model.link / flows
    least, most = model.fixed_marking(flows) / 2, model.fixed_marking(flows) * 3
    return float(brentq(lambda p: mean_rate(model, p) - share, least, most, xtol=1e-6))
