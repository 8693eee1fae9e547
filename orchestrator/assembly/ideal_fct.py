"""Ideal completion time of a message over its empty path, the reference of slowdowns.

All of its frames are there at once and nothing else is under way: they follow one another as fast
as the slowest hop lets them, store and forward. Links, service rates, inputs and delays are as the
plan begins; acknowledgements, limiters and what plugins do count nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator.engine.node.transmitter import BIT_PS
from orchestrator.plan import Flow, Plan, Port, Switch
from orchestrator.plan.shortest_paths import Routes, path


@dataclass(frozen=True)
class Hop:
    """A transmitter: rate and octets it adds to a frame, what else spaces frames, what follows."""

    rate: int
    overhead: int
    service: int
    """bit/s that starts of frames keep to, without the overhead."""
    delay: int

    def wire(self, octets: np.ndarray) -> np.ndarray:
        """ps that frames take, int64[n]."""
        return -(-(octets + self.overhead) * BIT_PS // self.rate)

    def spacing(self, octets: np.ndarray) -> np.ndarray:
        """ps from the start of a frame to that of the next one, int64[n]."""
        return np.maximum(self.wire(octets), -(-octets * BIT_PS // self.service))


class Paths:
    """The hops of the flows of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._table: Routes = plan.routes()
        self._known = {port.entity: port for port in plan.ports()}
        self._found: dict[tuple[str, str, str | None], list[Hop]] = {}

    def of(self, flow: Flow) -> list[Hop]:
        """The hops of a flow; [] when it has no way."""
        via = self.plan.traffic[flow.entry].via
        key = (flow.node, flow.destination, via)
        if key not in self._found:
            self._found[key] = self._hops(flow.node, flow.destination, via)
        return self._found[key]

    def _hops(self, start: str, destination: str, via: str | None) -> list[Hop]:
        taken: list[Port] = []
        if via is not None:
            mine = [p for p in self._known.values() if p.node == start and p.link == via]
            taken, start = mine, mine[0].peer
        rest = path(self.plan, self._table, self._known, start, destination)
        if isinstance(rest, str):
            return []
        hops: list[Hop] = []
        before: Port | None = None
        for port in [*taken, *rest]:
            hops += self._through(before, port)
            before = port
        return hops

    def _through(self, before: Port | None, port: Port) -> list[Hop]:
        """A node's input (where it has any) and its output port."""
        node, link = self.plan.nodes[port.node], self.plan.links[port.link]
        back = link.delay if link.delay_back is None else link.delay_back
        service = link.rate
        hops: list[Hop] = []
        if isinstance(node, Switch):
            service = node.service_of(port.name, link.rate)
            inputs = node.inputs
            # to a memory that ports share there is no transfer
            if before is not None and inputs is not None and inputs.shared_memory is None:
                rate = int(self.plan.links[before.link].rate * inputs.speedup)
                hops.append(Hop(rate, 0, rate, inputs.crossbar_latency))
        delay = link.delay if port.forward else back
        return [*hops, Hop(link.rate, link.overhead, service, delay)]


def ideal_ps(hops: list[Hop], frame: int, headers: int, sizes: np.ndarray) -> np.ndarray:
    """ps that messages of `sizes` octets take in frames of `frame` octets, int64[n].

    `headers` of these are no part of a message.

    Frames i = 0 .. of one length start at hop h at (first one's arrival) + i * (the largest spacing
    of hops up to h); the last frame, which may be shorter, is followed by itself.
    """
    segment = frame - headers
    frames = -(-sizes // segment)
    last = headers + sizes - (frames - 1) * segment
    full = np.array([frame])
    arrival = np.zeros(len(sizes), np.int64)
    first, widest = 0, 0
    for hop in hops:
        spacing = int(hop.spacing(full)[0])
        widest = max(widest, spacing)
        before = first + (frames - 2) * widest + spacing
        start = np.where(frames > 1, np.maximum(arrival, before), arrival)
        arrival = start + hop.wire(last) + hop.delay
        first += int(hop.wire(full)[0]) + hop.delay
    return arrival
