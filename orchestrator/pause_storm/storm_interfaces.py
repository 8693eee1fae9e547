"""Interfaces of a storm: named by the user, checked, claimed, opened; their settings stay.

So there is nothing to put back, whatever becomes of this process; a port that was held goes on when
the quanta of the last frame have run.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.errors import BadInput, Problem, Refused
from orchestrator.pause_storm.storm_request import WHO, StormRequest
from orchestrator.targets.software.linux_syscalls import capabilities
from orchestrator.targets.software.raw_sockets import SO_TIMESTAMPING
from orchestrator.testbed.agent import ethtool, nic_claims
from orchestrator.testbed.wire.envelope import Unacceptable

NET_RAW = 13
SENT_BY_KERNEL = 1 << 1 | 1 << 4
"""SOF_TIMESTAMPING_TX_SOFTWARE: take a time when a frame is handed to the driver, and
SOF_TIMESTAMPING_SOFTWARE: tell it (linux/net_tstamp.h). The frame comes back with it."""
STAMPS_WAITING = 4_000_000
"""Octets of stamps that may wait to be read."""
HIGHEST = 6
"""Of SO_PRIORITY without further rights: ahead of other frames in the interface's own queues."""


@dataclass(frozen=True)
class Port:
    """An interface that is open."""

    name: str
    mac: str
    driver: str
    rate_bps: int
    raw: socket.socket


@contextlib.contextmanager
def opened(asked: StormRequest) -> Iterator[list[Port]]:
    """The interfaces, claimed until the block is left.

    Raises Refused without the right to send, BadInput for interfaces that cannot be stormed.
    """
    if NET_RAW not in capabilities():
        raise Refused(
            WHO,
            f"it needs CAP_NET_RAW, to send through interfaces, and user {os.geteuid()} has not",
            "Remedy: run it as root.",
        )
    with contextlib.ExitStack() as stack:
        ports = []
        for name in asked.interfaces:
            rate = _checked(name, asked)
            try:
                claim = nic_claims.Claim.make(name, in_use=asked.in_use)
            except Unacceptable as no:
                raise _unfit(name, no.sentence) from no
            stack.callback(claim.lock.close)
            raw = stack.enter_context(_open(name))
            driver = ethtool.driver(name) or "unknown"
            ports.append(Port(name, ethtool.mac(name), driver, rate, raw))
        yield ports


def _checked(name: str, asked: StormRequest) -> int:
    """The rate of an interface that is there, up and has a carrier. Raises BadInput."""
    try:
        nic_claims.check(name, in_use=asked.in_use)
        flags = ethtool.flags(name)
    except Unacceptable as no:
        in_use = no.code == "nic-in-use" and not asked.in_use
        hint = "; with --in-use it is stormed all the same" if in_use else ""
        raise _unfit(name, no.sentence + hint) from no
    if not flags & ethtool.UP:
        raise _unfit(name, f"it is down; `ip link set {name} up` brings it up")
    if not flags & ethtool.RUNNING:
        raise _unfit(name, "it has no carrier: no device is at the other end of its cable")
    if asked.rate_bps is not None:
        return asked.rate_bps
    speed = ethtool.speed_mbps(name)
    if speed is None:
        raise _unfit(name, "it does not say how fast its link is; give it with --rate")
    return speed * 10**6


def _unfit(name: str, said: str) -> BadInput:
    return BadInput(WHO, [Problem("INTERFACE", name, said)])


def _open(name: str) -> socket.socket:
    """A packet socket that only sends, with the kernel's stamps of what it sent."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        raw.bind((name, 0))
        prepare(raw)
    except BaseException:
        raw.close()
        raise
    return raw


def prepare(raw: socket.socket) -> None:
    """Ask for stamps, for room for them, and for a place ahead of other frames."""
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, SENT_BY_KERNEL)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, STAMPS_WAITING)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, HIGHEST)
