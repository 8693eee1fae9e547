"""Packet sockets on named NICs, and the frames that probe a cable."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
from contextlib import suppress

from orchestrator.targets.software.sockets import (
    ETH_P_ALL,
    PACKET_AUXDATA,
    PACKET_IGNORE_OUTGOING,
    RECEIVE_BUFFER,
    SO_RCVBUFFORCE,
    SOL_PACKET,
)

SO_ATTACH_FILTER, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 26, 1, 1
LOAD_INTERFACE, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ANCILLARY_INTERFACE = 0xFFFFF000 + 8
"""SKF_AD_OFF + SKF_AD_IFINDEX (linux/filter.h): the index of the interface a frame came in by."""
ALL = 0xFFFF
ETHER_TYPE = 0x88B5
"""IEEE 802 local experimental."""
HEAD = bytes.fromhex("ffffffffffff 025442ffffff") + struct.pack("!H", ETHER_TYPE)
MAGIC = b"tBKprobe"


def open_on(nics: list[str]) -> socket.socket:
    """A non-blocking socket that receives what these NICs receive, whoever it is addressed to.

    It is opened deaf and hears once the filter is in: no frame of another NIC ever waits in it.
    """
    indices = [socket.if_nametoindex(nic) for nic in nics]
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    try:
        raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        try:
            raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        except PermissionError:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        for index in indices:
            request = struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b"")
            raw.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
        _attach(raw, indices)
        _bind(raw)
    except BaseException:
        raw.close()
        raise
    return raw


def _bind(raw: socket.socket) -> None:
    """Let it hear, on every interface that the filter lets through. (Python's own `bind` wants one
    interface.)"""
    address = struct.pack("HHiHBB8s", socket.AF_PACKET, socket.htons(ETH_P_ALL), 0, 0, 0, 0, b"")
    library = ctypes.CDLL(None, use_errno=True)
    if library.bind(raw.fileno(), address, len(address)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _attach(raw: socket.socket, indices: list[int]) -> None:
    """Let only frames of these interfaces in."""
    count = len(indices)
    program = [(LOAD_INTERFACE, 0, 0, ANCILLARY_INTERFACE)]
    for place, index in enumerate(indices):
        program.append((JUMP_EQUAL, count - place, 0, index))
    program += [(RETURN, 0, 0, 0), (RETURN, 0, 0, 0xFFFFFFFF)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    told = struct.pack("HP", len(program), ctypes.addressof(code))
    raw.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, told)


def probe(nonce: str, machine: str, nic: str) -> bytes:
    """The frame that says where it was sent."""
    return (HEAD + MAGIC + json.dumps([nonce, machine, nic]).encode()).ljust(60, b"\0")


def hear(raw: socket.socket, nonce: str) -> list[tuple[str, str, str]]:
    """(NIC, sending machine, sending NIC) of the probes with this nonce that have come in."""
    found = []
    with suppress(BlockingIOError):
        while True:
            octets, origin = raw.recvfrom(2048)
            if not octets.startswith(HEAD[12:], 12) or octets[14:22] != MAGIC:
                continue
            with suppress(ValueError, UnicodeDecodeError):
                told = json.loads(octets[22:].rstrip(b"\0"))
                if isinstance(told, list) and len(told) == 3 and told[0] == nonce:
                    found.append((str(origin[0]), str(told[1])[:200], str(told[2])[:20]))
    return sorted(set(found))
