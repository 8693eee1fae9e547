"""Receive sockets on named interfaces, filtered to the addresses of a node as a NIC would be.

They are opened where the interfaces are, by the process that starts a run, and handed to its
worker. A device may flood: the socket's filter drops a frame for another node, as a NIC would.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Iterable, Sequence

from orchestrator.assembly.row_index import Indices
from orchestrator.engine.frames.address_index import GROUP, mac_of
from orchestrator.plan import Plan, Switch
from orchestrator.targets.software.raw_sockets import (
    ETH_P_ALL,
    PACKET_AUXDATA,
    PACKET_IGNORE_OUTGOING,
    RECEIVE_BUFFER,
    SO_RCVBUFFORCE,
    SOL_PACKET,
)

SO_ATTACH_FILTER, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 26, 1, 1
LOAD_WORD, LOAD_HALF, EQUAL, AT_LEAST, ABOVE, HAS, RETURN = 0x20, 0x28, 0x15, 0x35, 0x25, 0x45, 6
"""Instructions of a socket filter (linux/bpf_common.h)."""
INTERFACE = 0xFFFFF000 + 8
"""SKF_AD_OFF + SKF_AD_IFINDEX (linux/filter.h): the interface that a frame came in by."""
ACCEPT = 0xFFFFFFFF
MULTICAST = 0x0100
"""In the first two octets of an address."""
Line = tuple[int, int, int, int]


def addressed_to(plan: Plan, node: str) -> list[tuple[int, int]] | None:
    """Ranges of address indices, ends included, of the frames to a node; None: any.

    A switch forwards frames to other nodes. A NIC needs the addresses of its flows.
    """
    if isinstance(plan.nodes[node], Switch):
        return None
    indices = Indices(plan)
    own = [indices.flows[flow.entity] for flow in plan.flows() if flow.node == node]
    own.append(indices.node_address(node))
    own += [indices.port_address(port.entity) for port in indices.ports_of[node]]
    return _ranges(sorted(own))


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def open_receiver(
    interfaces: Sequence[str], addresses: list[tuple[int, int]] | None
) -> socket.socket:
    """A non-blocking socket on some interfaces. It is deaf until its filter is in: no frame of
    another interface ever waits in it. Raises OSError."""
    indices = [socket.if_nametoindex(name) for name in interfaces]
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
        _attach(raw, program(indices, addresses))
        _listen(raw)
    except BaseException:
        raw.close()
        raise
    return raw


def program(indices: Sequence[int], addresses: list[tuple[int, int]] | None) -> list[Line]:
    """The filter: frames of these interfaces, to a group or to one of these addresses."""
    count = len(indices)
    lines: list[Line] = [(LOAD_WORD, 0, 0, INTERFACE)]
    for place, index in enumerate(indices):
        lines.append((EQUAL, count - place, 0, index))
    lines.append((RETURN, 0, 0, 0))
    if addresses is None:
        return [*lines, (RETURN, 0, 0, ACCEPT)]
    prefix, mask = int(mac_of(0)), 0xFFFFFFFF
    lines += [
        (LOAD_HALF, 0, 0, 0),
        (HAS, 0, 1, MULTICAST),
        (RETURN, 0, 0, ACCEPT),
        (EQUAL, 1, 0, prefix >> 32),
        (RETURN, 0, 0, 0),
        (LOAD_WORD, 0, 0, 2),
    ]
    for low, high in addresses:
        assert high < GROUP
        lines += [
            (AT_LEAST, 0, 2, int(mac_of(low)) & mask),
            (ABOVE, 1, 0, int(mac_of(high)) & mask),
            (RETURN, 0, 0, ACCEPT),
        ]
    return [*lines, (RETURN, 0, 0, 0)]


def _attach(raw: socket.socket, lines: Sequence[Line]) -> None:
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    sock_fprog = struct.pack("HP", len(lines), ctypes.addressof(code))
    raw.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, sock_fprog)


def _listen(raw: socket.socket) -> None:
    """Bind to all interfaces that the filter passes: Python's own `bind` takes one."""
    address = struct.pack("HHiHBB8s", socket.AF_PACKET, socket.htons(ETH_P_ALL), 0, 0, 0, 0, b"")
    library = ctypes.CDLL(None, use_errno=True)
    if library.bind(raw.fileno(), address, len(address)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
