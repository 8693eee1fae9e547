"""Queueing discipline `etf` of the kernel: the NIC sends each frame at its launch time.

Rtnetlink by hand (linux/rtnetlink.h, linux/pkt_sched.h), for pyroute2 does not know it. It goes to
a NIC's only transmit queue, or to each below `mq`. It takes times of CLOCK_TAI alone.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from contextlib import suppress

from orchestrator.engine.datapath.launch_time import CLOCK_TAI, QUEUE_NS

NEW, DELETE, GET = 36, 37, 38
REQUEST, ACKNOWLEDGE, DUMP, REPLACE, CREATE = 0x1, 0x4, 0x300, 0x100, 0x400
ERROR, DONE, KIND, OPTIONS, PARAMETERS = 2, 3, 1, 2, 1
ROOT = 0xFFFFFFFF
ANSWER_S = 5.0
OFFLOAD = 1 << 1
"""Of struct tc_etf_qopt: the NIC launches (OFFLOAD_ON)."""
HANDLE = 0x7B0000
"""Handle of tailback's queueing disciplines."""


def enable_etf(index: int, queues: int) -> None:
    """Have an interface launch frames. Raises OSError: nothing of it is left then."""
    options = struct.pack("iiI", QUEUE_NS, CLOCK_TAI, OFFLOAD)
    body = _attribute(OPTIONS, _attribute(PARAMETERS, options))
    if queues == 1:
        _ask(NEW, index, ROOT, HANDLE, "etf", body)
        return
    _ask(NEW, index, ROOT, HANDLE, "mq", b"")
    try:
        for queue in range(queues):
            _ask(NEW, index, HANDLE | queue + 1, HANDLE + (queue + 1 << 16), "etf", body)
    except OSError:
        with suppress(OSError):
            disable_etf(index)
        raise


def disable_etf(index: int) -> None:
    """Give an interface its ordinary queues again. Raises OSError: it has no other than those."""
    _ask(DELETE, index, ROOT, 0, "", b"")


def root(index: int) -> tuple[int, str]:
    """The handle and kind of an interface's root queueing discipline; (0, "") for the ordinary,
    which the kernel does not show."""
    for answer in _answers(_message(GET, REQUEST | DUMP, index, ROOT, 0, b"")):
        of, handle, parent = struct.unpack_from("iII", answer, 20)
        length, kind = struct.unpack_from("HH", answer, 36)
        if of == index and parent == ROOT and handle and kind == KIND:
            return handle, answer[40 : 36 + length].rstrip(b"\0").decode("ascii", "replace")
    return 0, ""


def lack(index: int, queues: int = 1) -> str | None:
    """Why an interface launches no frames: it is tried, and put back. None: it does."""
    try:
        handle, kind = root(index)
        if handle:
            return f"it has a queueing discipline of its own ({kind}), which stays"
        enable_etf(index, queues)
        disable_etf(index)
    except OSError as error:
        return why(error)
    return None


def why(error: OSError) -> str:
    """An error of `enable_etf` in words."""
    if error.errno == errno.ENOENT:
        return "this kernel has no queueing discipline etf (module sch_etf)"
    if error.errno == errno.EOPNOTSUPP:
        return "its driver launches no frames (etf offload)"
    if error.errno == errno.EPERM:
        return "setting its queueing discipline needs CAP_NET_ADMIN"
    return f"etf is not taken ({error.strerror})"


def _ask(what: int, index: int, parent: int, handle: int, kind: str, more: bytes) -> None:
    flags = REQUEST | ACKNOWLEDGE | (REPLACE | CREATE if what == NEW else 0)
    name = _attribute(KIND, kind.encode() + b"\0") if kind else b""
    _answers(_message(what, flags, index, parent, handle, name + more))


def _answers(message: bytes) -> list[bytes]:
    """Kernel's answers before the acknowledgement. Raises OSError."""
    found: list[bytes] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.settimeout(ANSWER_S)
        kernel.send(message)
        while True:
            octets = kernel.recv(1 << 16)
            while len(octets) >= 16:
                length, what = struct.unpack_from("IH", octets)
                if what == ERROR:
                    if code := -struct.unpack_from("i", octets, 16)[0]:
                        raise OSError(code, os.strerror(code))
                    return found
                if what == DONE:
                    return found
                found.append(octets[:length])
                octets = octets[(length + 3) & ~3 :]


def _message(what: int, flags: int, index: int, parent: int, handle: int, more: bytes) -> bytes:
    body = struct.pack("B3xiIII", socket.AF_UNSPEC, index, handle, parent, 0) + more
    return struct.pack("IHHII", 16 + len(body), what, flags, 1, 0) + body


def _attribute(kind: int, content: bytes) -> bytes:
    octets = struct.pack("HH", 4 + len(content), kind) + content
    return octets + bytes(-len(octets) % 4)
