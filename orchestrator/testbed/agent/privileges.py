"""Linux capabilities of an agent: check, and drop of those that it does not need.

It keeps what packet sockets, NIC settings and real-time threads take, and gives up the rest for
itself and for whatever it starts.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from contextlib import suppress
from pathlib import Path

NAMES = {
    12: "net_admin",
    13: "net_raw",
    14: "ipc_lock",
    21: "sys_admin",
    23: "sys_nice",
    31: "setfcap",
}
"""Capability numbers of linux/capability.h that matter here."""
NEEDED = {12, 13, 14, 23, 31}
"""setfcap: without it root may not be root in the user namespace of a worker (Linux 5.12). What
files could be given with it is nothing: no process here can ever gain what was given up."""
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 38, 24
LAST_CAPABILITY = 40
VERSION_3 = 0x20080522
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}

_library = ctypes.CDLL(None, use_errno=True)


def held() -> set[int]:
    """The numbers of the capabilities in effect."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("CapEff:"):
            mask = int(line.split()[1], 16)
            return {number for number in range(64) if mask >> number & 1}
    return set()


def names(numbers: set[int]) -> list[str]:
    """Capabilities in words, sorted."""
    return sorted(NAMES.get(number, f"capability {number}") for number in numbers)


def user_namespaces() -> bool:
    """Return whether unprivileged users may make user namespaces here: otherwise sys_admin has to
    be kept."""
    for name, forbids in (
        ("user/max_user_namespaces", "0"),
        ("kernel/unprivileged_userns_clone", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        with suppress(OSError):
            if Path("/proc/sys", name).read_text(encoding="ascii").strip() == forbids:
                return False
    return True


def drop() -> list[str]:
    """Give up everything but what is needed; the names of what is kept.

    Call it while the process has one thread: later ones inherit from this one.
    """
    with suppress(OSError, ValueError):  # the workers' right to lock memory, while we may give it
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, unlimited)
    keep = held() & (NEEDED | (set() if user_namespaces() else {21}))
    machine = os.uname().machine
    if machine not in SYS_CAPSET:
        return names(held())
    for number in range(LAST_CAPABILITY + 1):
        if number not in keep:
            _library.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0)
    mask = sum(1 << number for number in keep)
    header = struct.pack("Ii", VERSION_3, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    data = struct.pack("IIIIII", low, low, 0, high, high, 0)
    _library.syscall(SYS_CAPSET[machine], header, data)
    _library.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0)
    return names(held())
