"""Fairness of the flows that compete at a capture point: data flows in its busier direction.

Jain's index compares what competes for one resource. Acknowledgements, CNPs, control protocols and
flows in the other direction of the link do not compete with the data, so they are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from traces.analysis.analysis_result import Fairness, FlowSeen
from traces.dissect import KINDS, Kind

TCP, UDP, SCTP = 6, 17, 132
TRANSPORTS = (TCP, UDP, SCTP)
FCOE = 0x8906
BARE_ACK = {4: 98, 6: 118}
"""Octets of a TCP segment without data at most, by version of IP: with a tag and SACK options."""
CONTROL_PORTS = frozenset(
    # DNS, DHCP, NTP, BGP, PTP, DHCPv6, RIP, BFD, RADIUS, mDNS
    (53, 67, 68, 123, 179, 319, 320, 520, 521, 546, 547, 1812, 1813, 3784, 3785, 4784, 5353)
)
NAMES = {TCP: "TCP", UDP: "UDP", SCTP: "SCTP"}


@dataclass
class Stations:
    """Sides of a link on which stations are, as far as their frames show it: a frame goes from one
    side to the other. Union-find with parity."""

    _parent: dict[str, str]
    _unlike: dict[str, bool]
    """True if a station is on another side than its parent."""

    def side(self, station: str) -> tuple[str, bool]:
        """The group of a station, and whether it is on the other side than the group's first."""
        self._parent.setdefault(station, station)
        unlike = False
        while self._parent[station] != station:
            unlike ^= self._unlike[station]
            station = self._parent[station]
        return station, unlike

    def join(self, source: str, destination: str) -> None:
        """A frame went from one station to the other."""
        (one, here), (other, there) = self.side(source), self.side(destination)
        if one != other:
            self._parent[other] = one
            self._unlike[other] = not (here ^ there)


def is_group(address: str) -> bool:
    """True for MAC addresses of several stations."""
    return bool(address) and bool(int(address[:2], 16) & 1)


def carries_data(flow: FlowSeen) -> bool:
    """True for a flow that competes for a link: no answers and no control protocol."""
    if flow.kind in (KINDS[Kind.DATA], KINDS[Kind.TRIMMED]):
        return True
    if flow.kind == KINDS[Kind.ROCE]:
        return flow.data_frames > 0
    if flow.kind != KINDS[Kind.OTHER]:
        return False
    if flow.protocol is None:
        return flow.ethertype == FCOE
    if flow.protocol not in TRANSPORTS:
        return False
    if flow.source_port is None or {flow.source_port, flow.destination_port} & CONTROL_PORTS:
        return False  # without ports: later fragments of flows, or cut
    version = 6 if ":" in (flow.from_address or "") else 4
    return flow.protocol != TCP or flow.octets > BARE_ACK[version] * flow.frames


def protocol_name(flow: FlowSeen) -> str:
    """Name of a flow's protocol."""
    if flow.kind != KINDS[Kind.OTHER]:
        return {"roce": "RoCE"}.get(flow.kind, flow.kind)
    return NAMES.get(flow.protocol or 0, "FCoE")


def busier_direction(flows: list[FlowSeen]) -> list[FlowSeen]:
    """The flows in the direction of a link that has most octets.

    Directions follow from the stations: those of one flow are on different sides. Where groups of
    stations share no station, the busier direction of each group is taken for the same.
    """
    stations = Stations({}, {})
    for flow in flows:
        if flow.source and flow.destination and not is_group(flow.destination):
            stations.join(flow.source, flow.destination)
    groups: dict[str, tuple[list[FlowSeen], list[FlowSeen]]] = {}
    for flow in flows:
        group, unlike = stations.side(flow.source)
        groups.setdefault(group, ([], []))[unlike].append(flow)
    return [
        flow
        for ways in groups.values()
        for flow in max(ways, key=lambda way: sum(one.octets for one in way))
    ]


def jain(amounts: list[int]) -> float | None:
    """Jain's index of fairness; None for fewer than two, of which it says nothing."""
    squares = sum(amount * amount for amount in amounts)
    return sum(amounts) ** 2 / (len(amounts) * squares) if squares and len(amounts) > 1 else None


def fairness(flows: list[FlowSeen]) -> Fairness:
    """Fairness of the octets of tailback's own data flows or, without these, of others' data."""
    data = [one for one in flows if carries_data(one)]
    own = [one for one in data if one.flow is not None]
    compared = busier_direction(own or data)
    kinds = sorted({protocol_name(one) for one in compared})
    return Fairness(
        jain=jain([one.octets for one in compared]),
        flows=len(compared),
        kinds=kinds,
        left_out=len(flows) - len(compared),
    )
