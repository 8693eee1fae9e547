"""XDP program: assembled here, loaded by the bpf system call (linux/bpf.h), held by a link.

A program sends what a port receives on its queue q to entry FIRST + q of a map of sockets, and
passes on to the kernel what comes on other queues or finds no socket. Each port has a program of
its own, with its FIRST in it, and all share one map: a process with the capability
makes map and programs, before the interfaces exist, and hands them on as descriptors.
A link goes when its descriptor is closed, at the latest with the process, and the program with it.
"""

from __future__ import annotations

import ctypes
import os
import struct

SYS_BPF = 321
"""On x86-64."""
MAP_CREATE, MAP_UPDATE_ELEM, PROG_LOAD, LINK_CREATE = 0, 2, 5, 28
MAP_OF_SOCKETS, TYPE_XDP, ATTACH_XDP = 17, 6, 37
"""BPF_MAP_TYPE_XSKMAP, BPF_PROG_TYPE_XDP, BPF_XDP."""
GENERIC, NATIVE = 1 << 1, 1 << 2
"""XDP_FLAGS_SKB_MODE, XDP_FLAGS_DRV_MODE: behind the driver, on any interface; in the driver."""
REDIRECT_MAP = 51
PASS = 2
RX_QUEUE = 16
"""Offset of rx_queue_index in `struct xdp_md`."""
LICENCE = b"BSD-2-Clause\0"
ATTRIBUTES = 144
"""Octets of `union bpf_attr` that are handed over, zeros behind what a command uses."""

R0, R1, R2, R3 = range(4)
LOAD_WORD, MOVE, ADD, EXIT, CALL, JUMP_IF_LESS, LOAD_MAP = (
    0x61, 0xB7, 0x07, 0x95, 0x85, 0xA5, 0x18,
)  # fmt: skip
"""ldxw, mov64 and add64 with a constant, exit, call, jlt with a constant, lddw."""
OF_MAP = 1
"""BPF_PSEUDO_MAP_FD: the constant of LOAD_MAP is a descriptor."""

_library = ctypes.CDLL(None, use_errno=True)


def _instruction(code: int, to: int = 0, source: int = 0, off: int = 0, constant: int = 0) -> bytes:
    return struct.pack("<BBhi", code, to | source << 4, off, constant)


def assembled(sockets: int, first: int, queues: int = 1) -> bytes:
    """The program of a port with `queues` queues; `sockets` is the descriptor of the map."""
    return b"".join(
        (
            _instruction(LOAD_WORD, R2, R1, RX_QUEUE),
            _instruction(JUMP_IF_LESS, R2, off=2, constant=queues),
            _instruction(MOVE, R0, constant=PASS),
            _instruction(EXIT),
            _instruction(ADD, R2, constant=first),
            _instruction(LOAD_MAP, R1, OF_MAP, constant=sockets),
            _instruction(0),  # the upper half of that constant
            _instruction(MOVE, R3, constant=PASS),  # what becomes of a frame without a socket
            _instruction(CALL, constant=REDIRECT_MAP),
            _instruction(EXIT),
        )
    )


def _bpf(command: int, attributes: bytes) -> int:
    """Call bpf; the descriptor or 0. Raises OSError."""
    memory = ctypes.create_string_buffer(attributes, ATTRIBUTES)
    result: int = _library.syscall(
        *(ctypes.c_long(SYS_BPF), ctypes.c_int(command), memory, ctypes.c_uint(ATTRIBUTES))
    )
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def make_map(entries: int) -> int:
    """A map of so many sockets; its descriptor. Raises OSError."""
    return _bpf(MAP_CREATE, struct.pack("<IIII", MAP_OF_SOCKETS, 4, 4, entries))


def load(program: bytes) -> int:
    """Have the kernel verify and load a program; its descriptor. Raises OSError."""
    code, licence = ctypes.create_string_buffer(program), ctypes.create_string_buffer(LICENCE)
    where = (ctypes.addressof(code), ctypes.addressof(licence))
    head = struct.pack("<IIQQ", TYPE_XDP, len(program) // 8, *where)
    rest = struct.pack("<IIQII16sII", 0, 0, 0, 0, 0, b"tailback", 0, ATTACH_XDP)
    return _bpf(PROG_LOAD, head + rest)


def register_socket(sockets: int, entry: int, socket: int) -> None:
    """Put a socket, which is bound to its queue, in an entry of the map. Raises OSError."""
    key, value = ctypes.c_uint32(entry), ctypes.c_uint32(socket)
    where = (ctypes.addressof(key), ctypes.addressof(value))
    _bpf(MAP_UPDATE_ELEM, struct.pack("<IIQQQ", sockets, 0, *where, 0))


def link(program: int, interface: int, mode: int = GENERIC) -> int:
    """Attach a program to an interface of the calling thread's namespace; the link's descriptor.

    Raises OSError: EBUSY where there is another program, EOPNOTSUPP where the driver has no
    native mode.
    """
    return _bpf(LINK_CREATE, struct.pack("<IIII", program, interface, ATTACH_XDP, mode))
