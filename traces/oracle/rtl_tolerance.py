"""RTL timing tolerances: deviations of clocked devices from the reference, which acts at once.

Everything here is a count of clocks of our gateware and follows from firmware/rtl; docs/gateware.md
("Clocks per event") and docs/replay.md ("Clocked devices") say the same in words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any

from orchestrator.assembly.queue_rows import units_of
from orchestrator.plan import Plan, ResolvedPlan, Sink, Switch

WORD = 8
"""Octets that a node of the target moves per clock."""
LONGEST = 1522
"""Octets of the longest frame that is reckoned with, tags included."""

STORE_CLOCKS = 4
"""Switch: from the clock that takes a frame's last word in to the first in which the arbiter sees
the frame. Its octets are counted in two register slices (octet_count.v), it is kept, its first word
is read (frame_fifo.v)."""
QUEUE_CLOCKS = 11
"""Switch: from the bus's last word to the clock in which an idle port's link has the frame's first:
7 of the lookup (switch_lookup.v), 2 of counting, 1 that keeps the frame, 1 that starts it. Of one
clock's arrival and departure the arrival is first (frame_fifo.v)."""
MESSAGE_CLOCKS = 16
"""Switch: what a message of its own takes of the bus, unseen by the captures of its inputs: 114
octets at most (cnm_generate.v) and an idle clock (axis_arbiter.v)."""
TAKE_CLOCKS = 32
"""A transmitter takes the next frame so long before the frame before it has left."""
SAMPLE_CLOCKS = 64
"""Switch: what a congestion point takes to look at a frame that is sampled (qcn_cp.v)."""
BY_OCCUPANCY = "occupancy-random"
SEARCH_CLOCKS = 6
"""Switch: a search for an occupied unit, besides one per bit of its number (culprit_array.v)."""
UNIT = 256
"""Octets of a unit (culprit_array.v)."""
SCAN_CLOCKS = 2
"""Switch: a unit that is looked through (culprit_array.v)."""
LONG_SEARCH = 1e-9
"""The chance of a search that takes longer than reckoned with."""
TELL_CLOCKS = 8
"""Switch: from feedback to a message's first word (switch_port.v, cnm_generate.v)."""
EVENT_CLOCKS = 150
"""NIC: what a reaction point takes at most for an event that changes a rate (qcn_rp.v); one may be
at hand when the next comes."""
IDLE_CLOCKS = 24
"""NIC: what the transmitter idles at most between frames that wait (qcn_nic.v)."""
CHARGE_CLOCKS = 100
"""NIC: what a token bucket takes at most before it takes a frame's tokens: a new rate with a
granularity (63), another bucket's refill and a look of its own (9 each; token_bucket.v), and what
passes between the frame's start and the wish."""
ROUNDING_CLOCKS = 2
"""Two captured times that are compared: each is a whole nanosecond and not that of a clock."""


@dataclass(frozen=True)
class RtlTiming:
    """Clocks of a gateware run."""

    period_ps: int
    steps_ps: int = 0
    """Largest lateness of the last register write of a step of the timeline."""
    beside: Set[str] = field(default_factory=frozenset)
    """Nodes that are not gateware: the words of their frames are taken in one per clock when the
    frame has arrived."""

    @property
    def act_ns(self) -> int:
        """Time in which a NIC acts on a message, an expiry or a refill: its own time behind that of
        an event at hand."""
        return self._ns(2 * EVENT_CLOCKS)

    def order_ps(self, overhead_ps: int) -> int:
        """Span within which a switch's arrivals and departures may be in another order than they
        are reckoned to be: a message on the bus, a departure behind another one that was taken
        before the link was free (`overhead_ps`: preamble and gap of a frame)."""
        clocks = MESSAGE_CLOCKS + TAKE_CLOCKS + ROUNDING_CLOCKS
        return clocks * self.period_ps + overhead_ps

    def charge_ps(self, overhead_ps: int) -> int:
        """Span by which a NIC takes a frame's tokens before the frame starts (it took it before the
        last one had left), or behind that."""
        early = (TAKE_CLOCKS + ROUNDING_CLOCKS) * self.period_ps + overhead_ps
        return max(early, CHARGE_CLOCKS * self.period_ps)

    def late_ns(self, resolved: ResolvedPlan) -> int:
        """Largest lateness of a frame that leaves a node."""
        message = self._message_ns(resolved.plan) + self._ns(_draw_clocks(resolved))
        return max(message, self._refill_ns())

    def _message_ns(self, plan: Plan) -> int:
        """A message waits for the congestion point, and on the bus for a frame of each port."""
        inputs: Counter[str] = Counter()
        for way in plan.directions():
            if isinstance(plan.nodes[way.receiver.node], Switch):
                inputs[way.receiver.node] += not isinstance(plan.nodes[way.sender.node], Sink)
        turns = max(inputs.values(), default=0) * (-(-LONGEST // WORD))
        own = SAMPLE_CLOCKS + TELL_CLOCKS + STORE_CLOCKS + MESSAGE_CLOCKS + QUEUE_CLOCKS
        return self._ns(turns + own)

    def _refill_ns(self) -> int:
        return self.act_ns + self._ns(IDLE_CLOCKS)

    def _ns(self, clocks: int) -> int:
        return -(-clocks * self.period_ps // 1000)


def _draw_clocks(resolved: ResolvedPlan) -> int:
    """Most clocks in which a congestion point that samples by occupancy finds an occupied unit.

    It sends no message for a queue shorter than Q_eq / (1 + w): F is not above 0 there.
    """
    most = 0
    ports = {port.entity: port for port in resolved.plan.ports()}
    for holder, use in resolved.uses["congestion_point"].items():
        params: Any = use.params
        if getattr(params, "sampling", None) != BY_OCCUPANCY or holder not in ports:
            continue
        units = units_of(resolved, holder, ports[holder])
        least = params.set_point // (1 + params.weight)
        share = min(max(least // UNIT, 1) / units, 0.5)
        searches = math.ceil(math.log(LONG_SEARCH) / math.log(1 - share))
        search = (units - 1).bit_length() + SEARCH_CLOCKS
        if 0 < params.searches < searches:
            most = max(most, params.searches * search + units * SCAN_CLOCKS)
        else:
            most = max(most, searches * search)
    return most
