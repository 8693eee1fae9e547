"""Driver of a QCN NIC in gateware: set from a plan's rows, read into them."""

from __future__ import annotations

from firmware.compiler.point_shell import PointShell
from firmware.driver.plan_records import NodeBlock, Records, count_held
from firmware.driver.point_driver import CompiledLimiters
from firmware.driver.register_mirror import RegisterMirror
from firmware.driver.window_discovery import WindowLocation
from firmware.registers.kernel_maps import KERNEL_LIMITER
from firmware.registers.register_maps import (
    FLOW_SOURCES,
    NIC,
    QCN_RP,
    TOKEN_BUCKET,
)
from firmware.registers.register_window import Bus
from orchestrator.engine.node_api import BIT_PS, QUANTUM_PS, by_clock
from orchestrator.engine.records import NONE, START_FLOW
from orchestrator.errors import Refused

CLOCK_PS = 10**12
ON, START = 1, 2
"""Bits of `commit`."""


class Nic:
    """One NIC, or one port of it; time 0 of the plan is `origin` (ps) of its clock.

    Raises Refused, by name, when the gateware lacks a requirement of the plan.
    """

    def __init__(
        self,
        part: NodeBlock,
        records: Records,
        bus: Bus,
        found: list[WindowLocation],
        origin: int = 0,
        shell: PointShell | None = None,
    ) -> None:
        """`shell`: that of reaction points which are compiled; None: they are those of QCN."""
        self.name, self.part, self.records, self.origin = part.name, part, records, origin
        self.flows, self.limiters = part.flows, part.limiters
        maps = [f.map for f in found[:4]]
        points = QCN_RP if shell is None else KERNEL_LIMITER
        if maps != [NIC, points, TOKEN_BUCKET, FLOW_SOURCES]:
            raise Refused(f"gateware of {self.name}", f"it is a {maps[0].module}", "Name a NIC.")
        limiters, flows = found[0].caps & 0xFF, found[0].caps >> 8 & 0xFF
        self._room = found[3].caps >> 16
        for what, have, want in (
            ("limiters", limiters, len(self.limiters)),
            ("flows", flows, len(self.flows)),
        ):
            if have < want:
                lack = f"it has {have} {what}, the plan wants {want}"
                raise Refused(f"gateware of {self.name}", lack, f"Build it with more {what}.")
        if limiters > len(self.limiters) > 0 and len(self.flows) > len(self.limiters):
            lack = f"it has {limiters} limiters; the plan has {len(self.limiters)} for more flows"
            raise Refused(f"gateware of {self.name}", lack, f"Set reaction_points = {limiters}.")
        self.period = CLOCK_PS // found[0].clock_hz
        windows = [RegisterMirror(f.window(bus)) for f in found[:4]]
        self._nic, self._rp, self._bucket, self._sources = windows
        self._compiled = None
        if shell is not None and self.limiters:
            self._compiled = CompiledLimiters(self.name, records, self._rp, shell)
            self._compiled.check(found[1].caps)
        self._on: dict[int, tuple[int, ...]] = {}
        self._announced: set[int] = set()
        self._marked = False
        self._counted = {"feedback_ignored": 0, "feedback_unassigned": 0}

    def begin(self) -> None:
        """Configure everything from a clean state, all flows off."""
        world = self.records.world
        self._nic.want(quantum=QUANTUM_PS // int(world.ports[self._port].rate))
        self._sources.window.control(True, clear=True)
        self._nic.window.set("hold_port", 0)
        if self.limiters:
            self._limiters()
        self.apply()
        self._announce()
        self._nic.window.control(True, clear=True)

    @property
    def _port(self) -> int:
        return int(self.records.indices.port_rows[self.part.ports[0]])

    def _limiters(self) -> None:
        world, first = self.records.world, self.records.world.limiters[self.limiters[0]]
        self._reaction_point()
        self._bucket.want(
            depth=int(first.depth), period=int(first.period), granularity=int(first.granularity)
        )
        self._rp.window.control(True, clear=True)
        self._bucket.window.control(True, clear=True)
        for number, row in enumerate(self.limiters):
            limiter = world.limiters[row]
            if self._compiled is not None:
                self._compiled.begin(number, limiter.algorithm)
            else:
                self._rp.window.set("seed_index", number)
                self._rp.window.set("seed", self.records.state(limiter.algorithm, "lfsr"))
            self._bucket.window.set("phase_index", number)
            self._bucket.window.set("phase", self.origin + int(limiter.phase))

    def _reaction_point(self) -> None:
        records = self.records
        limiter = records.world.limiters[self.limiters[0]]
        if self._compiled is not None:
            self._compiled.apply(limiter)
            return
        names = ("time_reset", "byte_reset", "threshold", "ai_rate", "hai_rate", "min_rate")
        plain = {name: records.param(limiter.algorithm, name) for name in names}
        self._rp.want(
            link_rate=int(limiter.link_rate),
            gd_num=records.param(limiter.algorithm, "gd_num"),
            gd_den=records.param(limiter.algorithm, "gd_den"),
            factor_num=records.param(limiter.algorithm, "min_decrease_factor_num"),
            factor_den=records.param(limiter.algorithm, "min_decrease_factor_den"),
            cap_target=records.param(limiter.algorithm, "cap_target"),
            extra_fast_recovery=records.param(limiter.algorithm, "extra_fast_recovery"),
            jitter_on=records.param(limiter.algorithm, "jitter"),
            **plain,
        )

    def apply(self) -> None:
        """Write changes of the rows to the registers."""
        if (held := self.records.taken_hold(self._port)) is not None:
            self._nic.window.set("hold_port", held)
        if self.limiters:
            self._reaction_point()
        for number, row in enumerate(self.flows):
            flow = self.records.world.flows[row]
            rate, length = self.records.param(flow.algorithm, "rate"), int(flow.length)
            if flow.on:
                self._announced.discard(number)
            on = int(flow.on or number in self._announced)
            wanted = (on, rate, length, int(flow.capacity))
            before = self._on.get(number)
            if before == wanted:
                continue
            starts = bool(on) and not (before and before[0])
            self._commit(number, row, on * ON | starts * START, int(flow.next_frame))
            self._on[number] = wanted

    def _announce(self) -> None:
        """Set the first start of the sources before time 0, so that it is exact to the ps."""
        commands = self.records.world.commands
        for number, row in enumerate(self.flows):
            mine = (c for c in commands if c.action == START_FLOW and c.offset == row)
            if (first := next(mine, None)) is not None:
                phase = int(self.records.world.flows[row].phase)
                self._commit(number, row, ON | START, int(first.at) + phase)
                self._announced.add(number)
                self._on[number] = (1, *self._on[number][1:])

    def _commit(self, number: int, row: int, how: int, start: int) -> None:
        """Set a flow of the gateware from its row."""
        flow = self.records.world.flows[row]
        rate, length = self.records.param(flow.algorithm, "rate"), int(flow.length)
        room = max(int(flow.capacity) // length, 1)
        if room > self._room:
            lack = f"a host queue holds {self._room} frames, the plan wants {room}"
            raise Refused(f"gateware of {self.name}", lack, "Set a smaller host_queue.")
        self._sources.want(
            index=number,
            whole=by_clock(length * BIT_PS // rate, int(flow.drift)),
            rest=length * BIT_PS % rate,
            rate=rate,
            start=self.origin + start if how & START else 0,
            length=length,
            room=room,
            source=int(flow.source),
            destination=int(flow.destination),
            priority_code=int(flow.priority),
            flow=row,
        )
        if flow.mark or self._marked:
            self._sources.want(tos=int(flow.mark))
            self._marked = True
        self._sources.window.set("commit", how)

    def hold(self) -> None:
        """Latch the latched counters at this instant, for `read`."""
        self._nic.window.hold()
        self._rp.window.hold()

    def read(self) -> None:
        """Read everything into the rows: latched counters; limiters and sent frames of flows as of
        now."""
        world = self.records.world
        counted = self._nic.window.held()
        port = world.ports[self._port]
        self._count("feedback_ignored", counted["feedback_ignored"])
        self._count("feedback_unassigned", self._rp.window.held()["feedback_unassigned"])
        port.bytes_out, port.frames_out = counted["sent_octets"], counted["sent_frames"]
        count_held(port, counted["paused_clocks"] * self.period)
        port.pause_received = counted["pause_received"]
        for number, row in enumerate(self.limiters):
            window, limiter = self._nic.window, world.limiters[row]
            self._nic.want(limiter_index=number)
            limiter.active = window.get("limiter_active")
            limiter.rate = window.get("limiter_rate")
            limiter.target = window.get("limiter_target")
            if self._compiled is not None:
                self._compiled.read(number, limiter.algorithm)
            else:
                for stage in ("byte_stage", "timer_stage"):
                    self.records.show(limiter.algorithm, stage, window.get(f"limiter_{stage}"))
            limiter.feedback_received = window.get("limiter_feedback")
            has = window.get("limiter_flow")
            limiter.flow = self.flows[has & 0xFFFF] if has >> 16 else NONE
        for number, row in enumerate(self.flows):
            flow = world.flows[row]
            self._sources.want(index=number)
            flow.frames_sent = self._sources.window.get("flow_frames")
            flow.bytes_sent = self._sources.window.get("flow_octets")

    def _count(self, name: str, counted: int) -> None:
        """Add the increase of this port's count to the node's."""
        node = self.records.world.nodes[self.records.indices.nodes[self.part.node]]
        node[name] += counted - self._counted[name]
        self._counted[name] = counted

    def end(self) -> None:
        """Stop all sources, except the host's own traffic."""
        self._nic.window.set("hold_port", 0)
        self._nic.window.control(False)

    def losses(self) -> dict[str, int]:
        """Messages lost outside of the emulated queues: none in a sound run."""
        return {f"messages to {self.name}": self._nic.window.get("feedback_lost")}

    def waiting(self) -> dict[str, dict[str, int]]:
        """Events of compiled reaction points that waited, and how long."""
        return {} if self._compiled is None else {self.name: self._compiled.waiting()}
