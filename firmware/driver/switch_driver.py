"""Driver of a QCN switch in gateware: set from a plan's rows, read into them."""

from __future__ import annotations

from firmware.compiler.point_shell import PointShell
from firmware.driver.plan_records import Records, count_held
from firmware.driver.point_driver import CompiledPoint
from firmware.driver.register_mirror import RegisterMirror
from firmware.driver.window_discovery import WindowLocation
from firmware.registers.kernel_maps import KERNEL_POINT
from firmware.registers.register_maps import QCN_CP, SWITCH, SWITCH_PORT
from firmware.registers.register_window import Bus
from orchestrator.assembly.route_tables import ports_by_address
from orchestrator.engine.node_api import QUANTUM_PS
from orchestrator.engine.records import NONE
from orchestrator.errors import Refused
from plugins.qcn_cp import SAMPLE_BASE, SAMPLE_INTERVALS

ROUTE = 1 << 8
CLOCK_PS = 10**12
BY_OCCUPANCY = 3
"""The value of `sampling` that draws a frame of the queue at random."""


class Switch:
    """One switch. Raises Refused, by name, when the gateware lacks a requirement of the plan."""

    def __init__(
        self,
        name: str,
        records: Records,
        bus: Bus,
        found: list[WindowLocation],
        shell: PointShell | None = None,
    ) -> None:
        """`shell`: that of congestion points which are compiled; None: they are those of QCN."""
        self.name, self.records = name, records
        self.ports = records.ports(name)
        maps = [f.map for f in found]
        point = QCN_CP if shell is None else KERNEL_POINT
        expected = [SWITCH, *[SWITCH_PORT, point] * len(self.ports)]
        if maps[0] is not SWITCH:
            raise Refused(f"gateware of {name}", f"it is a {maps[0].module}", "Name a switch.")
        if len(maps) < len(expected) or maps != [SWITCH, *[SWITCH_PORT, point] * (len(maps) // 2)]:
            have = maps.count(SWITCH_PORT)
            lack = f"it has {have} ports, the plan wants {len(self.ports)}"
            raise Refused(f"gateware of {name}", lack, "Build it with more ports.")
        self.period = CLOCK_PS // found[0].clock_hz
        self._route_bits = found[0].caps >> 8 & 0xFF
        self._can_tell_head = bool(found[1].caps & 1)
        bits = found[1].caps >> 2 & 0x3F
        self._units = 1 << bits if bits else 0
        self._octets = found[1].caps >> 8
        self._switch = RegisterMirror(found[0].window(bus))
        self._at = [RegisterMirror(f.window(bus)) for f in found[1 : 1 + 2 * len(self.ports) : 2]]
        points = found[2 : 2 + 2 * len(self.ports) : 2]
        self._cps = [RegisterMirror(f.window(bus)) for f in points]
        self._compiled: dict[str, CompiledPoint] = {}
        for port, at, cp in zip(self.ports, points, self._cps, strict=True):
            if shell is not None and records.has(self._queue(port).congestion_point):
                self._compiled[port] = CompiledPoint(port, records, cp, shell)
                self._compiled[port].check(at.caps)

    def begin(self) -> None:
        """Configure routes, then everything else, from a clean state."""
        records, window = self.records, self._switch.window
        routes = ports_by_address(records.world, records.indices.nodes[self.name])
        first = records.world.nodes[records.indices.nodes[self.name]].first_port
        if len(routes) > 1 << self._route_bits:
            lack = f"it keeps {1 << self._route_bits} addresses, the plan has {len(routes)}"
            raise Refused(f"gateware of {self.name}", lack, "Fewer flows, or a larger ROUTE_W.")
        for address in range(1 << self._route_bits):
            port = routes[address] if address < len(routes) else NONE
            window.set("route_address", address)
            window.set("route", 0 if port == NONE else ROUTE | int(port - first))
        self.apply()
        for at, cp in zip(self._at, self._cps, strict=True):
            at.window.control(True, clear=True)
            at.window.set("hold_port", 0)
            cp.window.control(True, clear=True)
        for port, point in self._compiled.items():
            point.write_state(self._queue(port).congestion_point)
        for port, cp in zip(self.ports, self._cps, strict=True):
            queue = self._queue(port)
            cp.window.control(records.has(queue.congestion_point))
        window.control(True, clear=True)

    def _queue(self, port: str):
        return self.records.world.queues[self.records.indices.queues[port]]

    def apply(self) -> None:
        """Write changes of the rows to the registers."""
        records = self.records
        for port, at, cp in zip(self.ports, self._at, self._cps, strict=True):
            queue, row = self._queue(port), records.indices.port_rows[port]
            if (held := records.taken_hold(row)) is not None:
                at.window.set("hold_port", held)
            if queue.capacity > self._octets:
                lack = f"a queue holds {self._octets} octets, the plan wants {queue.capacity}"
                raise Refused(f"gateware of {port}", lack, "Build it with more WORDS.")
            at.want(
                address=int(records.world.ports[row].address),
                capacity=int(queue.capacity),
                gain=int(queue.service_rate) * self.period,
                quantum=QUANTUM_PS // int(records.world.ports[row].rate),
            )
            if records.has(queue.pause):
                at.want(
                    pause_high=records.param(queue.pause, "high"),
                    pause_low=records.param(queue.pause, "low"),
                    pause_quanta=records.param(queue.pause, "quanta"),
                    pause_quantum=QUANTUM_PS // int(queue.pause_rate),
                    pause_on=1,
                )
            if port in self._compiled:
                self._compiled[port].apply(queue.congestion_point, queue, self.period)
            elif records.has(queue.congestion_point):
                self._congestion_point(port, cp, queue)

    def _congestion_point(self, port: str, cp: RegisterMirror, queue) -> None:
        records, instance = self.records, queue.congestion_point
        base = records.param(instance, "sample_base")
        sampling = records.param(instance, "sampling")
        if sampling and not self._can_tell_head:
            lack = "it samples arrivals only (built without KEEP_HEAD)"
            raise Refused(f"gateware of {port}", lack, 'Set sampling = "arrival".')
        if sampling == BY_OCCUPANCY:
            if queue.units > self._units:
                lack = f"it samples occupancy in {self._units} units of 256 octets, the plan wants "
                remedy = "Build it with more UNITS."
                raise Refused(f"gateware of {port}", f"{lack}{queue.units}", remedy)
            cp.want(
                searches=records.param(instance, "searches"),
                units=int(queue.units),
                units_seed=int(queue.lfsr),
            )
        intervals = {
            f"interval_{step}": octets * base // SAMPLE_BASE
            for step, octets in enumerate(SAMPLE_INTERVALS)
        }
        cp.want(
            set_point=records.param(instance, "set_point"),
            weight=records.param(instance, "weight"),
            sampling=sampling,
            counts_arriving=records.param(instance, "counts"),
            jitter_on=records.param(instance, "jitter"),
            seed=records.state(instance, "lfsr"),
            **intervals,
        )

    def hold(self) -> None:
        """Latch all counters at this instant, for `read`."""
        for at, cp in zip(self._at, self._cps, strict=True):
            at.window.hold()
            cp.window.hold()

    def read(self) -> None:
        """Read all latched counters into the rows."""
        world, indices = self.records.world, self.records.indices
        for port, at, cp in zip(self.ports, self._at, self._cps, strict=True):
            counted = at.window.held()
            queue, row = self._queue(port), world.ports[indices.port_rows[port]]
            queue.bytes = counted["queue_octets"]
            queue.bytes_max = counted["queue_most"]
            queue.bytes_out = counted["octets_out"]
            queue.frames_in = counted["frames_in"]
            queue.frames_out = counted["frames_out"]
            queue.frames_dropped = counted["frames_lost"]
            # the queue counts only its octets; its frames are enqueued minus dequeued
            queue.frames = queue.frames_in - queue.frames_out - queue.frames_dropped
            queue.pause_sent = counted["pause_asked"]
            queue.feedback_value = counted["feedback_value"]
            if port in self._compiled:
                self._compiled[port].read(queue.congestion_point, queue)
            else:
                queue.feedback_sent = cp.window.held()["messages"]
            row.bytes_out, row.frames_out = counted["sent_octets"], counted["sent_frames"]
            count_held(row, counted["paused_clocks"] * self.period)
            row.pause_received = counted["pause_received"]

    def end(self) -> None:
        """Turn off messages and PAUSE; the switch goes on forwarding."""
        for at, cp in zip(self._at, self._cps, strict=True):
            at.want(pause_on=0)
            at.window.set("hold_port", 0)
            cp.window.control(False)

    def losses(self) -> dict[str, int]:
        """Frames lost outside the emulated queues: none in a sound run."""
        lost = {
            port: at.window.get("overrun") for port, at in zip(self.ports, self._at, strict=True)
        }
        events = {f"gate of {port}": one.losses() for port, one in self._compiled.items()}
        return {f"input of {port}": count for port, count in lost.items()} | events

    def waiting(self) -> dict[str, dict[str, int]]:
        """Port -> events of its compiled congestion point that waited, and how long."""
        return {port: one.waiting() for port, one in self._compiled.items()}
