"""Network of Verilated models: builds the nodes of a plan and joins them by its links."""

from __future__ import annotations

from dataclasses import dataclass

from firmware.driver.nic_driver import Nic
from firmware.driver.plan_records import NodeBlock, Records
from firmware.driver.switch_driver import Switch
from firmware.driver.window_discovery import discover
from firmware.target.compiled_limiters import limiters_of, receives_cnps
from firmware.target.compiled_points import shell_of
from firmware.verilated.fabric_binding import Fabric
from firmware.verilated.model_build import Model, build_fabric
from firmware.verilated.parallel_build import build_models
from orchestrator.assembly import Assembly
from orchestrator.engine.node_api import BIT_PS, CLOCK_BITS
from orchestrator.errors import Refused
from orchestrator.plan import Nic as NicNode
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import Report

WORD = 8
"""Octets that a node moves per clock."""
PERIODS = (8_000, 4_000, 2_000, 1_000, 500, 250)
"""ps of a clock: 125 MHz, that of NetFPGA-QCN, or as much as the links of a node need."""
SHARE = 0.8
"""Share of a node's internal bandwidth that its links may use together: frames do not fill the last
word, and a clock is idle between two frames."""
TAKE_CLOCKS = 32
"""Clocks from a free transmitter to the next frame's first word, buffered by the transmitter; those
that a frame may wait for a congestion point's answer are added."""
ROUTE_BITS = 8
LEAST_UNITS = 16
"""Least cells of a queue that is sampled by occupancy (culprit_array.v)."""


def _power(least: int) -> int:
    return 1 << max(least - 1, 1).bit_length()


def too_fast(resolved: ResolvedPlan, nodes: list[str]) -> list[Refused]:
    """Refusals for nodes whose links are too fast for every clock."""
    found = []
    for node in nodes:
        try:
            period_of(resolved, [node])
        except Refused as lack:
            found.append(lack)
    return found


def _load(resolved: ResolvedPlan, node: str) -> int:
    """bit/s of the links that pass through one block of gateware of a node."""
    plan = resolved.plan
    later = [a.values["rate"] for a in resolved.actions if a.kind == "link" and "rate" in a.values]
    rates = [max(plan.links[p.link].rate, *later, 0) for p in plan.ports() if p.node == node]
    return max(rates) if isinstance(plan.nodes[node], NicNode) else sum(rates)


def period_of(resolved: ResolvedPlan, nodes: list[str]) -> int:
    """ps of a clock. Raises Refused when no clock is fast enough."""
    periods = []
    for node in nodes:
        load = _load(resolved, node)
        fits = [t for t in PERIODS if load <= SHARE * 8 * WORD * 10**12 / t]
        if not fits:
            raise Refused(
                f"target gateware: {node}",
                f"its links carry {load / 1e9:g} Gb/s, more than {8 * WORD} bit at "
                f"{10**6 / PERIODS[-1]:g} MHz",
                "Use slower links or fewer.",
            )
        periods.append(max(fits))
    return min(periods)


def model_of(resolved: ResolvedPlan, records: Records, part: NodeBlock, period: int) -> Model:
    """Model for a block of a node, its sizes rounded up so that few models are built."""
    clock = ("CLK_HZ", 10**12 // period)
    if isinstance(resolved.plan.nodes[part.node], NicNode):
        flows, world = part.flows, records.world
        room = max(
            (int(world.flows[f].capacity // world.flows[f].length) for f in flows), default=1
        )
        sizes = {
            "LIMITERS": max(len(part.limiters), 1),
            "FLOWS": _power(len(flows)),
            "ROOM": max(_power(room), 4),
        }
        if (limiters := limiters_of(resolved, part.node)) is None:
            return Model("qcn_nic", (*sizes.items(), clock))
        sizes["LIMITER_DIGEST"] = limiters.digest
        given = (*sizes.items(), clock)
        return Model("qcn_nic", given, limiters.algorithm, limiters.sources, ("KERNEL_LIMITER",))
    ports = part.ports
    rows = [records.world.queues[records.indices.queues[port]] for port in ports]
    later = [a.values["buffer"] for a in resolved.actions if "buffer" in a.values]
    octets = max([int(row.capacity) for row in rows] + later)
    addresses = len(records.world.behind)
    sizes = {
        "PORTS": len(ports),
        "WORDS": max(_power(octets // WORD * 9 // 8 + 1200), 32768),
        "FRAMES": max(_power(octets // 60), 4096),
        "ROUTE_W": max((addresses - 1).bit_length(), ROUTE_BITS),
    }
    if units := max(int(row.units) for row in rows):
        sizes["UNITS"] = max(_power(units), LEAST_UNITS)
    shell = shell_of(resolved, part.node)
    if shell is not None or receives_cnps(resolved):
        sizes["CNPS"] = 1
    if shell is None:
        return Model("qcn_switch", (*sizes.items(), clock))
    sizes["POINT_DIGEST"] = shell.digest
    parameters = (*sizes.items(), clock)
    return Model("qcn_switch", parameters, shell.algorithm, shell.sources, ("KERNEL_POINT",))


def slowed(rate: int, drift: int) -> int:
    """bit/s that a link of `rate` carries by a clock that is `drift` * 2^-30 slow, rounded down."""
    return (rate << CLOCK_BITS) // ((1 << CLOCK_BITS) + drift)


@dataclass
class Link:
    """A direction of a link; `sender` and `receiver` are port rows, as in the worlds."""

    number: int
    sender: int
    receiver: int
    sender_is_model: bool
    receiver_is_model: bool
    lookahead: int
    """ps between a frame's last word at the sender and its arrival, at least."""


class Rig:
    """All models of a run, their drivers, and the links that touch them."""

    def __init__(
        self,
        resolved: ResolvedPlan,
        gate: Assembly,
        nodes: list[str],
        progress: Report,
        cores: int = 1,
        counts: bool = False,
    ) -> None:
        """`counts`: the models count the executions of each line."""
        self.records, self._resolved = Records(gate), resolved
        self.period = period_of(resolved, nodes)
        self.parts = {part.name: part for node in nodes for part in self.records.node_blocks(node)}
        models = {
            name: model_of(resolved, self.records, part, self.period)
            for name, part in self.parts.items()
        }
        libraries = build_models(models.values(), progress, counts=counts)
        self.models = models
        self.fabric = Fabric(build_fabric(), self.period, cores)
        self.numbers = {
            name: self.fabric.add(libraries[model], len(self.parts[name].ports))
            for name, model in models.items()
        }
        self._places = {
            port: (self.numbers[name], place)
            for name, part in self.parts.items()
            for place, port in enumerate(part.ports)
        }
        self.links = self._links(resolved)
        self.drivers: list[Nic | Switch] = []

    def _links(self, resolved: ResolvedPlan) -> list[Link]:
        plan, indices = resolved.plan, self.records.indices
        world = self.records.world
        captured = set(plan.capture.ports)
        destinations = {flow.destination for flow in plan.flows()}
        found = []
        for way in plan.directions():
            ends = [self._places.get(port.entity) for port in (way.sender, way.receiver)]
            if ends == [None, None]:
                continue
            row = indices.port_rows[way.sender.entity]
            shell = shell_of(resolved, way.sender.node) if ends[0] is not None else None
            taken = TAKE_CLOCKS + (shell.hold_clocks if shell is not None else 0)
            link = world.ports[row]
            word_ps = -(-WORD * BIT_PS // int(link.rate))
            reported = (
                ends[1] is None
                or bool({way.sender.entity, way.receiver.entity} & captured)
                or way.receiver.node in destinations
            )
            number = self.fabric.link(
                *ends,
                rate=slowed(int(link.rate), int(link.drift)),
                delay=int(link.delay),
                overhead=int(link.overhead),
                words=max(-(-taken * self.period // word_ps), 2),
                reported=reported,
            )
            ahead = int(link.delay) + (int(link.overhead) + 1) * BIT_PS // int(link.rate)
            receiver = indices.port_rows[way.receiver.entity]
            here, there = (end is not None for end in ends)
            found.append(Link(number, row, receiver, here, there, ahead))
        return found

    def attach(self, advance) -> None:
        """Find the windows of all models; `advance` clocks them until register accesses end."""
        plan = self.records.plan
        for name, number in self.numbers.items():
            bus, part = self.fabric.bus(number, advance), self.parts[name]
            found = discover(bus)
            if isinstance(plan.nodes[part.node], NicNode):
                shell = limiters_of(self._resolved, part.node)
                self.drivers.append(Nic(part, self.records, bus, found, shell=shell))
            else:
                shell = shell_of(self._resolved, part.node)
                self.drivers.append(Switch(name, self.records, bus, found, shell))

    def apply(self) -> None:
        """Write the timeline's changes to nodes and links."""
        for driver in self.drivers:
            driver.apply()
        for link in self.links:
            if link.sender_is_model:
                row = self.records.world.ports[link.sender]
                rate = slowed(int(row.rate), int(row.drift))
                self.fabric.set_link(link.number, rate, int(row.delay), bool(row.up))

    def hold(self) -> None:
        """Latch all counters at one instant, apart from the clocks of the accesses."""
        for link in self.links:
            if link.sender_is_model:
                row = self.records.world.ports[link.sender]
                row.frames_lost = self.fabric.link_counts(link.number)[1]
        for driver in self.drivers:
            driver.hold()

    def read(self) -> None:
        """Read all sampled registers into the rows, latched counters included."""
        for driver in self.drivers:
            driver.read()
