"""Interfaces that `tailback otg` serves as ports: named by the user, checked, claimed, opened."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.errors import BadInput, Problem, Refused
from orchestrator.otg.otg_ports import Interface
from orchestrator.plan.units import UnitError, parse_rate
from orchestrator.targets.software.linux_syscalls import capabilities
from orchestrator.targets.software.raw_sockets import ask_for_times, open_raw
from orchestrator.testbed.agent import ethtool, nic_claims
from orchestrator.testbed.wire.envelope import Unacceptable

WHO = "tailback otg"
NET_RAW = 13
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 1, 1
PORT = re.compile(r"(?P<location>[^=@\s]{1,64})=(?P<name>[^=@\s/]{1,15})(?:@(?P<rate>\S{1,32}))?")
MOST_PORTS = 64
SEND_BUFFER = 4_000_000


def parse_ports(texts: Sequence[str]) -> dict[str, tuple[str, int | None]]:
    """Location -> interface and speed (bit/s; None: as it reports), from `p1=veth1@10Gb/s`.

    Raises BadInput.
    """
    problems = []
    found: dict[str, tuple[str, int | None]] = {}
    for text in texts:
        match = PORT.fullmatch(text)
        if match is None:
            said = "LOCATION=INTERFACE or LOCATION=INTERFACE@RATE is, such as p1=veth1@10Gb/s"
            problems.append(Problem("--port", text[:100], said))
            continue
        location, name, rate = match["location"], match["name"], None
        if match["rate"] is not None:
            try:
                rate = parse_rate(match["rate"])
                if not 10**6 <= rate <= 10**12:
                    raise UnitError("a rate from 1Mb/s to 1000Gb/s is")
            except UnitError as error:
                problems.append(Problem("--port", text[:100], str(error)))
                continue
        if location in found or any(name == other for other, _ in found.values()):
            problems.append(Problem("--port", text[:100], "each location and interface is, once"))
        found[location] = name, rate
    if not texts or len(texts) > MOST_PORTS:
        said = f"1 to {MOST_PORTS} ports are, such as --port p1=veth1"
        problems.append(Problem("--port", f"{len(texts)} ports", said))
    if problems:
        raise BadInput(WHO, problems)
    return found


@contextlib.contextmanager
def opened_ports(
    wanted: Mapping[str, tuple[str, int | None]], *, in_use: bool
) -> Iterator[tuple[dict[str, Interface], dict[str, socket.socket], socket.socket]]:
    """Interfaces and receiving sockets by location, and the socket that sends, until the end.

    Raises Refused without the right to send, BadInput for interfaces that cannot be served.
    """
    if NET_RAW not in capabilities():
        raise Refused(
            WHO,
            f"it needs CAP_NET_RAW, to send through interfaces, and user {os.geteuid()} has not",
            "Remedy: run it as root.",
        )
    interfaces: dict[str, Interface] = {}
    sockets: dict[str, socket.socket] = {}
    with contextlib.ExitStack() as stack:
        for location, (name, rate) in wanted.items():
            text = f"{location}={name}"
            interfaces[location] = _checked(text, name, rate, in_use)
            try:
                claim = nic_claims.Claim.make(name, in_use=in_use)
            except Unacceptable as no:
                raise _unfit(text, no.sentence) from no
            stack.callback(claim.lock.close)
            sockets[location] = stack.enter_context(_open(name))
        sender = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        yield interfaces, sockets, sender


def _checked(text: str, name: str, rate: int | None, in_use: bool) -> Interface:
    try:
        nic_claims.check(name, in_use=in_use)
    except Unacceptable as no:
        busy = no.code == "nic-in-use" and not in_use
        hint = "; with --in-use it is served all the same" if busy else ""
        raise _unfit(text, no.sentence + hint) from no
    flags = ethtool.flags(name)
    if not flags & ethtool.UP:
        raise _unfit(text, f"it is down; `ip link set {name} up` brings it up")
    speed = ethtool.speed_mbps(name)
    if rate is None and speed is None:
        raise _unfit(text, f"it does not report its speed; give it: {text}@10Gb/s")
    return Interface(name, rate or (speed or 0) * 10**6, ethtool.mtu(name))


def _unfit(text: str, said: str) -> BadInput:
    return BadInput(WHO, [Problem("--port", text, said)])


def _open(name: str) -> socket.socket:
    """A socket that receives all frames of one interface, with the kernel's times of arrival."""
    raw = open_raw()
    try:
        raw.bind((name, 3))
        ask_for_times(raw)
        request = struct.pack("iHH8s", socket.if_nametoindex(name), PACKET_MR_PROMISC, 0, b"")
        raw.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
    except BaseException:
        raw.close()
        raise
    return raw
