"""Headroom of PFC buffers: octets that still arrive after a buffer has paused its neighbour.

Between the frame that crosses the high mark and the last one that still comes lie: the frame that
the port is sending itself, the PAUSE or PFC frame, its way to the neighbour, the neighbour's
response, a frame that the neighbour has just begun, and what is on the way back (IEEE 802.1Qbb
annex; docs/settled/algorithms.md#pfc-and-pause).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.plan.entity_names import Port
    from orchestrator.plan.plan import Plan, ResolvedPlan

PAUSE_OCTETS = 60
"""A PAUSE or PFC frame of an emulated node, without FCS."""
PAUSE_BITS = 672
"""A PAUSE or PFC frame with FCS, preamble and gap."""
QUANTUM_BITS = 512
INTERFACE_BITS = 8_192
"""Delay of an interface, at either end (10GBASE-R; that of other media is given)."""
RESPONSE_QUANTA = {
    10**8: 1,
    10**9: 2,
    10 * 10**9: 60,
    25 * 10**9: 80,
    40 * 10**9: 118,
    50 * 10**9: 147,
    100 * 10**9: 394,
    200 * 10**9: 453,
    400 * 10**9: 905,
    800 * 10**9: 905,
}
"""By rate (bit/s): quanta from the arrival of a PAUSE frame until the neighbour begins no more
frames (IEEE 802.3, 31B.3.7)."""
SHORTEST_FRAME = 64
"""Octets of the shortest frame, with FCS."""
CABLE_PS_PER_METRE = 5_000
WIRE_OVERHEAD = 20
"""Octets of preamble and gap."""


@dataclass(frozen=True)
class HeadroomTerms:
    """Bit times that add up to the headroom of a port."""

    own_frame: int
    pause_frame: int
    interfaces: int
    cable: int
    response: int
    peer_frame: int

    @property
    def bits(self) -> int:
        """All of them."""
        return sum(asdict(self).values())

    @property
    def octets(self) -> int:
        """Octets that can arrive in that time."""
        return -(-self.bits // 8)


def response_bits_at(rate: int) -> int:
    """Response of a neighbour to PAUSE or PFC at a rate (bit/s), in bit times.

    Of a rate that the standard does not name it is that of the next higher one. Raises ValueError
    above the highest.
    """
    for known, quanta in RESPONSE_QUANTA.items():
        if rate <= known:
            return quanta * QUANTUM_BITS
    fastest = max(RESPONSE_QUANTA) // 10**9
    raise ValueError(f"no response time is known above {fastest} Gb/s")


def cells_for(octets: int, longest: int, cell: int) -> int:
    """Cells of `cell` octets that a buffer may need for `octets` of wire time.

    Frames of the worst length up to `longest` (octets with FCS) arrive, each with preamble and
    gap: the shortest ones, or those that just begin another cell.
    """
    lengths = {SHORTEST_FRAME, max(longest, SHORTEST_FRAME)}
    lengths |= {at + 1 for at in range(cell, longest, cell) if at >= SHORTEST_FRAME}
    frames = ((-(-length // cell), length + WIRE_OVERHEAD) for length in lengths)
    return max(-(-octets * cells // wire) for cells, wire in frames)


def of_cable(
    rate: int,
    metres: int,
    frame: int,
    *,
    peer_frame: int | None = None,
    interface_bits: int = INTERFACE_BITS,
    response_bits: int | None = None,
) -> HeadroomTerms:
    """Headroom of a real port: `rate` in bit/s; longest frames of both sides, octets with FCS.

    `response_bits`: None for that of the standard. Raises ValueError where it has none.
    """
    peer = frame if peer_frame is None else peer_frame
    there_and_back = 2 * metres * CABLE_PS_PER_METRE * rate
    return HeadroomTerms(
        own_frame=(frame + WIRE_OVERHEAD) * 8,
        pause_frame=PAUSE_BITS,
        interfaces=2 * interface_bits,
        cable=-(-there_and_back // 10**12),
        response=response_bits_at(rate) if response_bits is None else response_bits,
        peer_frame=(peer + WIRE_OVERHEAD) * 8,
    )


@dataclass(frozen=True)
class BufferHeadroom:
    """A buffer with PAUSE or PFC: what it has above its high mark, and what it needs there."""

    entity: str
    octets: int
    needed: int

    @property
    def lossless(self) -> bool:
        """True if nothing can be lost here."""
        return self.octets >= self.needed

    def __str__(self) -> str:
        return (
            f"{self.entity} has {self.octets} octets above its high mark and needs {self.needed}: "
            "it may lose frames although it pauses its neighbour"
        )


def buffer_headrooms(resolved: ResolvedPlan) -> list[BufferHeadroom]:
    """Every buffer of a plan that pauses its neighbours; needs are exact for emulated nodes.

    The headroom of a port in shared memory is for all its lossless lanes: each may need its own at
    the same time. There each copy of a multicast frame counts.
    """
    from orchestrator.plan.frame_lengths import longest_frames
    from orchestrator.plan.plan_tables import Switch
    from orchestrator.plan.shortest_paths import by_its_node

    if not resolved.uses.get("pause"):
        return []
    plan = resolved.plan
    found = []
    by_node = by_its_node(plan)
    longest = longest_frames(resolved)
    copies = max(map(len, plan.groups.values()), default=1)
    rates = {name: link.rate for name, link in plan.links.items()}
    senders = {way.receiver.entity: way.sender.entity for way in plan.directions()}
    for port in plan.ports():
        node = plan.nodes[port.node]
        if not isinstance(node, Switch):
            continue
        buffers = [(port.entity, node.buffer_of(port.name), by_node[port.node])]
        if node.inputs is not None:
            buffers.append((port.input, node.inputs.buffer, [port]))
        for entity, capacity, feeding in buffers:
            use = resolved.use("pause", entity)
            if use is None or (mark := use.params.operating_queue(rates[port.link])) is None:
                continue
            others = feeding if entity == port.input else [p for p in feeding if p != port]
            needed = sum(
                _needed(plan, p, longest[p.entity], longest[senders[p.entity]]) for p in others
            )
            room = _room(resolved, entity, capacity) - mark
            if use.algorithm.uses_headroom:
                assert node.inputs is not None
                room = node.inputs.headroom or 0
                needed *= sum(node.inputs.holds(lane.priorities[0]) for lane in plan.lanes())
                needed *= min(copies, len(by_node[port.node]))
            found.append(BufferHeadroom(entity, room, needed))
    return found


def _room(resolved: ResolvedPlan, entity: str, capacity: int) -> int:
    """Octets that a buffer may hold at any time: its capacity, or less by buffer management."""
    from orchestrator.plan.plugin_catalog import MANAGEMENT

    managed = resolved.use(MANAGEMENT, entity)
    return capacity if managed is None else managed.params.least_limit(capacity)


def _needed(plan: Plan, port: Port, own: int, peers: int) -> int:
    """Octets that may still come through a port after the high mark was crossed there.

    The crossing frame, all that is sent until the PAUSE is there and is on its way, and one frame
    that began just before. `own`, `peers`: the longest frames that the port and its neighbour send
    to each other, octets.
    """
    link = plan.links[port.link]
    sent = own + PAUSE_OCTETS + 2 * link.overhead
    delays = link.delay + (link.delay if link.delay_back is None else link.delay_back)
    coming = sent - (-delays * link.rate // (8 * 10**12))
    return coming + 2 * peers


def as_table(room: BufferHeadroom) -> dict[str, Any]:
    """For `--json`."""
    return asdict(room) | {"lossless": room.lossless}


def lossless_buffers(resolved: ResolvedPlan) -> frozenset[str]:
    """Input buffers that can lose nothing, by their headroom; as few as that is certain of.

    Not of plans whose timeline changes more than traffic, nor with watchdogs, which end a hold; not
    where a link's delay is none that the plan says, where outputs of the switch hold the same
    neighbours, where a PAUSE may run out before it is said again, where the neighbour does not obey
    PFC (`obeys_pfc`), or where switches give a DSCP other priorities than hosts do.
    """
    from orchestrator.plan.entity_names import has_remapping
    from orchestrator.plan.frame_lengths import longest_frames
    from orchestrator.plan.lossless_lanes import is_lossless, obeys_pfc
    from orchestrator.plan.plan_tables import Switch

    plan, pausing = resolved.plan, resolved.uses.get("pause", {})
    steady = all(action.verb in ("start", "stop") for action in resolved.actions)
    if not pausing or not steady or resolved.uses.get("watchdog") or has_remapping(plan):
        return frozenset()
    longest = longest_frames(resolved)
    by_input = {port.input: port for port in plan.ports()}
    senders = {way.receiver.entity: way.sender.node for way in plan.directions()}
    of_outputs = {name.partition(".")[0] for name in pausing if name not in by_input}
    found = set()
    for room in buffer_headrooms(resolved):
        port = by_input.get(room.entity)
        if port is None or port.node in of_outputs or not room.lossless:
            continue
        node, link = plan.nodes[port.node], plan.links[port.link]
        assert isinstance(node, Switch)
        assert node.inputs is not None
        quanta = getattr(pausing[room.entity].params, "quanta", 0)
        own = (longest[port.entity] + PAUSE_OCTETS + 2 * link.overhead) * 8
        says_in_time = quanta * QUANTUM_BITS // 2 > own
        known_delay = all(stage.plugin == "fixed-delay" for stage in link.stages)
        own_room = node.inputs.shared_memory is None or node.inputs.headroom is not None
        neighbour = plan.nodes[senders[port.entity]]
        stops = not getattr(pausing[room.entity].algorithm, "own_lane", False) or all(
            any(obeys_pfc(neighbour, priority) for priority in lane.priorities)
            for lane in plan.lanes()
            if is_lossless(plan, port.input, lane)
        )
        if says_in_time and known_delay and own_room and stops:
            found.add(room.entity)
    return frozenset(found)
