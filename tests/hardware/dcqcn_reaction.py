"""Rate of a NIC that gets CNPs, from the packets at its port, against the documented rule.

The rule (`tests.plugins.test_dcqcn_connectx`, in floating point) gets the CNPs as they arrive and
the packets as they leave, which its byte counter needs. Its rate, summed over the time of some
packets, is how many octets they may have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.plugins.test_dcqcn_connectx import Rule
from traces.pytest_plugin.nic_description import ReactionPoint
from traces.pytest_plugin.roce_packets import RocePackets, other_ends

US = 10**6
PACKETS = 24
"""Of a window."""
FRAMES = 2
"""By which a window may be off at its ends: one that is under way, one that a limiter lets go."""
STEP_US = 1.0
"""In which the rule's rate is summed up: its shortest time."""
SHARE = 0.02
"""Of the octets of a window, besides: headers that a limiter counts or not."""


@dataclass(frozen=True)
class Window:
    """Packets of a queue pair: from `begin` to `end` (us) they have `octets`, and the rule allows
    `allowed`; `alpha` at the beginning, `since` the last CNP (us)."""

    pair: int
    begin: float
    end: float
    octets: float
    allowed: float
    tolerance: float
    alpha: float
    since: float

    @property
    def is_off(self) -> bool:
        """True if the rate is not that of the rule."""
        return abs(self.octets - self.allowed) > self.tolerance

    def __str__(self) -> str:
        span = self.end - self.begin
        seen, rule = (one * 8 / span / 1e3 for one in (self.octets, self.allowed))
        more = "less" if self.octets < self.allowed else "more"
        return (
            f"from {self.begin:.5g} to {self.end:.5g} us, {self.since:.4g} us after a CNP, queue "
            f"pair {self.pair:#x} sends {seen:.3g} Gb/s, {more} than the {rule:.3g} Gb/s of the "
            f"rule (alpha is {self.alpha:.2f} there)"
        )


def windows(packets: RocePackets, stated: ReactionPoint, rate: int, slack: int) -> list[Window]:
    """The windows of all queue pairs from their first CNP on; `rate` of the port in bit/s, `slack`
    what times are good to (ps)."""
    found = []
    for (peer, number), back in sorted(other_ends(packets, of_nic=True).items()):
        address = np.frombuffer(peer, np.uint8)
        data, cnps = packets.data, packets.cnps
        mine = data.from_nic & (data.pair == number) & (data.destination == address).all(axis=1)
        to_nic = ~cnps.from_nic & (cnps.pair == back) & (cnps.source == address).all(axis=1)
        found += _of_pair(number, data.where(mine), cnps.where(to_nic), stated, rate, slack)
    return found


def _of_pair(
    number: int,
    data: RocePackets,
    cnps: RocePackets,
    stated: ReactionPoint,
    rate: int,
    slack: int,
) -> list[Window]:
    """The windows of one queue pair; none before a CNP."""
    if not len(cnps) or len(data) < 2:
        return []
    rule = Rule(stated.model_dump(), link=rate / 1e6)
    events = [(at, 0) for at in (cnps.times_ps / US).tolist()]
    events += zip((data.times_ps / US).tolist(), data.lengths.tolist(), strict=True)
    before, last = 0.0, 0.0
    found: list[Window] = []
    octets = allowed = most = begin = alpha = since = 0.0
    count = -1
    for at, length in sorted(events):
        while before < at:
            step = min(before + STEP_US, at)
            rule.advance(step)
            allowed += (step - before) * (rule.rate if rule.active else rule.link) / 8
            before = step
        if not length:
            rule.cnp(at)
            last = at
            continue
        if not rule.active:
            continue
        rule.sent(at, length)
        octets, most, count = octets + length, max(most, length), count + 1
        if count == PACKETS:
            peak = slack / US * rule.link / 8
            tolerance = FRAMES * most + SHARE * octets + peak
            found.append(Window(number, begin, at, octets, allowed, tolerance, alpha, since))
        if count in (0, PACKETS):
            begin, octets, allowed, count = at, 0.0, 0.0, 0
            alpha, since = rule.alpha, at - last
    return found


def described(every: list[Window]) -> str:
    """The rates in one sentence."""
    rates = [one.octets * 8 / (one.end - one.begin) / 1e3 for one in every]
    return (
        f"{len(every)} windows of {PACKETS} packets, at {min(rates):.3g} to {max(rates):.3g} Gb/s"
    )
