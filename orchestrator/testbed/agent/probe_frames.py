"""Packet sockets on named NICs, and probe frames for cables."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress

from orchestrator.targets.software.dut import dut_probing
from orchestrator.targets.software.dut.rx_sockets import open_receiver
from orchestrator.testbed.agent.agent_messages import Arrived, Frame

ALL = 0xFFFF
ETHER_TYPE = 0x88B5
"""IEEE 802 local experimental."""
HEAD = bytes.fromhex("ffffffffffff 025442ffffff") + struct.pack("!H", ETHER_TYPE)
MAGIC = b"tBKprobe"


def open_on(nics: list[str], hears: Sequence[Sequence[int]] | None = None) -> socket.socket:
    """A non-blocking socket that receives all frames of these NICs; with `hears` only those to a
    group or to an address of these ranges.

    The filter is set before the socket is bound: no frame of another NIC ever waits in it.
    """
    return open_receiver(nics, None if hears is None else [(low, high) for low, high in hears])


def probe(nonce: str, machine: str, nic: str) -> bytes:
    """Probe frame with the machine and NIC that send it."""
    return (HEAD + MAGIC + json.dumps([nonce, machine, nic]).encode()).ljust(60, b"\0")


def received_probes(raw: socket.socket, nonce: str) -> list[tuple[str, str, str]]:
    """(NIC, sending machine, sending NIC) of the received probes with this nonce."""
    found = []
    with suppress(BlockingIOError):
        while True:
            octets, origin = raw.recvfrom(2048)
            if not octets.startswith(HEAD[12:], 12) or octets[14:22] != MAGIC:
                continue
            with suppress(ValueError, UnicodeDecodeError):
                fields = json.loads(octets[22:].rstrip(b"\0"))
                if isinstance(fields, list) and len(fields) == 3 and fields[0] == nonce:
                    found.append((str(origin[0]), str(fields[1])[:200], str(fields[2])[:20]))
    return sorted(set(found))


def send_device_probes(raw: socket.socket, nonce: str, frames: list[Frame]) -> int:
    """Send probes of devices; how many left. A NIC that is too narrow sends none of the long ones,
    and the far end says so."""
    sent = 0
    for one in frames:
        octets = dut_probing.probe(
            *(bytes.fromhex(nonce), one.number, bytes.fromhex(one.source), one.octets),
            to=bytes.fromhex(one.to),
        )
        with suppress(OSError):
            raw.sendto(octets, (one.nic, 0))
            sent += 1
    return sent


def received_device_probes(raw: socket.socket, nonce: str) -> list[Arrived]:
    """Received device probes with this nonce."""
    found: dict[tuple[str, int, int, bool], Arrived] = {}
    with suppress(BlockingIOError):
        while True:
            octets, tagged, nic = dut_probing.take_at(raw)
            if (fields := dut_probing.read(octets, bytes.fromhex(nonce))) is not None:
                one = Arrived(nic=nic, number=fields[0], octets=fields[1], tagged=tagged)
                found[(nic, fields[0], fields[1], tagged)] = one
    return list(found.values())
