"""Drain times of queues from their operating point: the least over a run.

A queue is held where its congestion point wants it, where sources that go by delays let it be, or
below the mark from which on its neighbours are paused. There it is the room above the mark that
counts: it fills while PAUSE is on its way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from orchestrator.engine.node.transmitter import BIT_PS
from orchestrator.plan import Nic, Port, ResolvedPlan
from orchestrator.plan.algorithm_params import Params
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.time_varying import OverTime

Served = Iterable[tuple[int, int]]
"""Rates (bit/s), each with the octets that there is room for."""


class Drains:
    """Drain times of a plan's queues (ps); None where no mechanism holds one."""

    def __init__(self, resolved: ResolvedPlan) -> None:
        self._resolved, self._times = resolved, OverTime(resolved)
        self._into: dict[str, dict[str, list[int]]] = defaultdict(dict)
        """Node -> link -> the rates at which it brings frames there."""
        self._lines: dict[str, list[int]] = {}
        """Port -> the rates at which its link brings frames there."""
        for way in resolved.plan.directions():
            rates = self._times.rates(way)
            self._into[way.receiver.node][way.link] = rates
            self._lines[way.receiver.entity] = rates

    def of_point(self, port: Port) -> int | None:
        """Of an output whose congestion point holds it."""
        return self._of_held(port.entity, self._times.served(port))

    def of_delays(self, port: Port, params: Params) -> int | None:
        """Of an output that reaction points with these parameters hold, by delays."""
        found = [
            octets * BIT_PS // rate
            for rate, _ in self._times.served(port)
            if (octets := params.operating_queue(rate)) is not None
        ]
        return min(found, default=None)

    def of_pause(self, port: Port) -> int | None:
        """Until the room of an output that its neighbours are paused for is full."""
        rooms = {octets for _, octets in self._times.served(port)}
        incoming = self._rates_into(port)
        return self._of_room(port.entity, [(rate, room) for rate in incoming for room in rooms])

    def of_input_point(self, port: Port) -> int | None:
        """Of the input of a port whose congestion point holds it."""
        return self._of_held(port.input, self._at_input(port))

    def of_input_pause(self, port: Port) -> int | None:
        """Until the room of an input that its neighbour is paused for is full."""
        return self._of_room(port.input, self._at_input(port))

    def of_host_queue(self, port: Port) -> int | None:
        """Of a NIC's whole queue."""
        node = self._resolved.plan.nodes[port.node]
        if not isinstance(node, Nic):
            return None
        return node.host_queue * BIT_PS // max(self._lines[port.entity])

    def of_uncontrolled(self, port: Port) -> int:
        """Of an output without congestion control: the whole queue."""
        return min(octets * BIT_PS // rate for rate, octets in self._times.served(port))

    def _of_held(self, queue: str, served: Served) -> int | None:
        point = self._resolved.use("congestion_point", queue)
        if point is None:
            return None
        found = (operating(point, rate, octets) * BIT_PS // rate for rate, octets in served)
        return min(found, default=None)

    def _of_room(self, queue: str, served: Served) -> int | None:
        pause = self._resolved.use("pause", queue)
        if pause is None:
            return None
        rooms = ((rate, max(octets - operating(pause, rate, 0), 0)) for rate, octets in served)
        return min((room * BIT_PS // rate for rate, room in rooms), default=None)

    def _at_input(self, port: Port) -> Served:
        lines, rooms = self._lines[port.entity], self._times.inputs(port)
        return [(rate, octets) for rate in lines for octets in rooms]

    def _rates_into(self, port: Port) -> list[int]:
        """bit/s that can come to a port's queue: what the other links of its node carry, by the
        plan and at the most; where it has no others, its own."""
        others = [rates for link, rates in self._into[port.node].items() if link != port.link]
        others = others or [self._lines[port.entity]]
        return [sum(rates[0] for rates in others), sum(max(rates) for rates in others)]


def operating(use: Use, rate: int, otherwise: int) -> int:
    """Octets that an algorithm holds its queue at, as it says; `otherwise` where it does not."""
    said = use.params.operating_queue(rate)
    return otherwise if said is None else said
