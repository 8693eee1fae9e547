"""Somebody in the middle of a link: takes every frame, and passes it on as a rule has it.

To be run in the worker of a run, with one core left to it: it is Python, and good for some ten
thousand frames a second.
"""

from __future__ import annotations

import heapq
import itertools
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.raw_sockets import (
    ETH_P_ALL,
    PACKET_AUXDATA,
    PACKET_IGNORE_OUTGOING,
    SOL_PACKET,
)

Rule = Callable[[int, bytes], Sequence[tuple[float, bytes]]]
"""The number of a frame and the frame: what is passed on in its place, after how many seconds."""
NAME = "relay"
"""Of the machine that it is in; no node of a trial's plan is called so."""
VLAN_VALID = 1 << 4
LONGEST = 9100
BUFFER = 8_000_000


def straight(number: int, frame: bytes) -> list[tuple[float, bytes]]:
    """As a cable."""
    return [(0.0, frame)]


def tagged(frame: bytes, aside: Sequence[tuple[int, int, bytes]]) -> bytes:
    """A frame as it was on the wire: the kernel tells its VLAN tag beside it."""
    status, _, _, _, _, tag, kind = struct.unpack_from("IIIHHHH", aside[0][2])
    if not status & VLAN_VALID:
        return frame
    return frame[:12] + struct.pack("!HH", kind or 0x8100, tag) + frame[12:]


class Relay(threading.Thread):
    """Between the two interfaces of its machine; `rule` is for what comes in by the first, `back`
    for what comes in by the other."""

    def __init__(self, machines: Machines, rule: Rule, back: Rule = straight) -> None:
        super().__init__(daemon=True)
        with machines._inside(machines.machines[NAME]):
            self._ends = [_open(f"p{number}") for number in range(2)]
        self._rules = [rule, back]
        self._waiting: list[tuple[float, int, socket.socket, bytes]] = []
        self._count = itertools.count()

    def run(self) -> None:
        """Until the process ends."""
        ready = select.poll()
        for end in self._ends:
            ready.register(end, select.POLLIN)
        numbers = [0, 0]
        while True:
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= now:
                _, _, out, frame = heapq.heappop(self._waiting)
                out.send(frame)
            left_s = self._waiting[0][0] - now if self._waiting else 1.0
            ready.poll(1000 * left_s)
            for way, end in enumerate(self._ends):
                with suppress(BlockingIOError):
                    while True:
                        frame, aside, _, _ = end.recvmsg(LONGEST, 64)
                        self._pass(way, numbers[way], tagged(frame, aside))
                        numbers[way] += 1

    def _pass(self, way: int, number: int, frame: bytes) -> None:
        out = self._ends[1 - way]
        for delay_s, made in self._rules[way](number, frame):
            if delay_s > 0.0:
                due = time.monotonic() + delay_s
                heapq.heappush(self._waiting, (due, next(self._count), out, made))
            else:
                out.send(made)


def _open(interface: str) -> socket.socket:
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    end.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    end.bind((interface, ETH_P_ALL))
    return end
