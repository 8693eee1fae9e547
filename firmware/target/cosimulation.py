"""Co-simulation of gateware and compiled nodes in one virtual time.

Conservative synchronisation: the compiled nodes advance first, by at most the least delay of a
frame from the gateware (lookahead), so that all their input is known. The gateware follows with the
frames that they sent. Where they send nothing (sinks, NICs without flows), the gateware advances
first, without a bound.
"""

from __future__ import annotations

import numpy as np

from firmware.target.frame_exchange import (
    HEADER_OCTETS,
    Exchange,
    advance,
    capture_foreign_frame,
    new_exchange,
)
from firmware.target.model_network import Link, Rig
from orchestrator.assembly import Assembly
from orchestrator.engine.records import NONE
from orchestrator.plan import Nic, Plan, Sink

STRIDE_PS = 200_000_000
"""The gateware's lead where no frame returns to it: interval of the frame exchange."""


def never_sends(plan: Plan, name: str) -> bool:
    """Return whether a node never sends: a sink, a NIC without flows."""
    node = plan.nodes[name]
    if not isinstance(node, Nic):
        return isinstance(node, Sink)
    if node.notification_point is not None or node.receiver is not None:
        return False
    return all(name not in (flow.node, flow.destination) for flow in plan.flows())


class Cosim:
    """Virtual time of a run. `beside`: the world of the compiled nodes; None without any."""

    def __init__(self, rig: Rig, gate: Assembly, beside: Assembly | None, ports: list[str]) -> None:
        self.rig, self.fabric, self.gate, self.beside = rig, rig.fabric, gate, beside
        self.time = 0
        self._by_number = {link.number: link for link in rig.links}
        self._into = {link.sender: link for link in rig.links if link.receiver_is_model}
        senders = [gate.indices.port_rows[port] for port in ports]
        peers = [int(gate.world.ports[row].peer) for row in senders]
        inside = set(senders)
        self._exchange: Exchange = new_exchange(
            [p if p in inside else NONE for p in peers], senders
        )
        self._waiting: list[tuple[int, int, int, np.ndarray]] = []
        back = [link for link in rig.links if not link.sender_is_model]
        names = {row: name for name, row in gate.indices.nodes.items()}
        senders_back = {names[int(gate.world.ports[link.sender].node)] for link in back}
        self._talks = not all(never_sends(gate.resolved.plan, name) for name in senders_back)
        ahead = [link.lookahead for link in rig.links if not link.receiver_is_model]
        self._quantum = max(min(ahead, default=STRIDE_PS), rig.period) if self._talks else STRIDE_PS
        self._beside_at = 0

    def run(self, until: int, *, accesses: bool = False) -> None:
        """Advance to a time (ps), or until register accesses end."""
        while self.time < until or accesses:
            goal = min(self.time + self._quantum, until) if not accesses else self._goal()
            if self._talks:
                if self._beside_at <= self.time:
                    self._let_others(max(goal, self.time + self._quantum))
                goal = min(goal, self._beside_at)
            self.time = self.fabric.run(goal, accesses=accesses)
            self._collect()
            if accesses:
                return

    def _goal(self) -> int:
        return (
            self._beside_at
            if self._talks and self._beside_at > self.time
            else (self.time + self._quantum)
        )

    @property
    def foreign(self) -> int:
        """Frames from the gateware that the compiled nodes could not decode."""
        return int(self._exchange.foreign[0])

    def catch_up(self, until: int) -> None:
        """Advance the compiled nodes to the gateware's time, at most to `until`."""
        if not self._talks:
            self._let_others(until)

    def _collect(self) -> None:
        """Pass on frames that the gateware transmitted."""
        while True:
            taken = self.fabric.take()
            for k in range(taken.count):
                link = self._by_number[int(taken.directions[k])]
                due, length = int(taken.due[k]), int(taken.lengths[k])
                receiver = link.receiver if link.receiver_is_model else NONE
                capture_foreign_frame(
                    self.gate.world, link.sender, receiver, taken.octets[k], length, due
                )
                if not link.receiver_is_model:
                    self._waiting.append((due, link.receiver, length, taken.octets[k].copy()))
            if taken.count < len(taken.due):
                return

    def _let_others(self, until: int) -> None:
        """Advance the compiled nodes to `until`, and pass their frames to the gateware."""
        self._beside_at = until
        if self.beside is None:
            return
        self._waiting.sort(key=lambda frame: frame[0])
        ready = [frame for frame in self._waiting if frame[0] < until]
        self._waiting = self._waiting[len(ready) :]
        octets = np.array([frame[3] for frame in ready], np.uint8).reshape(-1, HEADER_OCTETS)
        exchange = self._exchange
        out = advance(
            self.beside.world,
            exchange,
            np.array([frame[1] for frame in ready], np.int64),
            np.array([frame[0] for frame in ready], np.int64),
            np.array([frame[2] for frame in ready], np.int64),
            octets,
            until,
        )
        for k in range(out):
            sender = int(exchange.senders[exchange.wires[k]])
            link: Link = self._into[sender]
            due, length = int(exchange.due[k]), int(exchange.lengths[k])
            self.fabric.send(link.number, due, length, exchange.octets[k])
            capture_foreign_frame(
                self.gate.world, NONE, link.receiver, exchange.octets[k], length, due
            )
