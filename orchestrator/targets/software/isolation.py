"""Isolation of a worker: user and network namespaces in which it may make interfaces."""

from __future__ import annotations

import os
from contextlib import suppress

from orchestrator.targets.software.linux_syscalls import CLONE_NEWNET, CLONE_NEWUSER, unshare


class Denied(Exception):
    """A step towards an emulated machine that the kernel did not allow."""

    def __init__(self, step: str, error: OSError) -> None:
        self.step, self.code = step, error.errno or 0
        super().__init__(f"{step}: {error.strerror}")


def isolate(user_namespace: bool = True) -> bool:
    """Put this process into a user and a network namespace of its own.

    It is root there alone. A process that may not make user namespaces but has the
    capability makes the network namespace alone, as does one that has it and wants no other.
    Returns whether there is a user namespace.
    """
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"a process with {threads} threads cannot enter a user namespace")
    user, group = os.geteuid(), os.getegid()
    if not user_namespace:
        with suppress(OSError):  # without the capability there is the other way
            unshare(CLONE_NEWNET)
            return False
    try:
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
    except OSError as refused:
        try:
            unshare(CLONE_NEWNET)
        except OSError:
            raise Denied("user namespace", refused) from refused
        return False
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {user} 1")
        _write("/proc/self/gid_map", f"0 {group} 1")
    except OSError as refused:
        raise Denied("identity in the user namespace", refused) from refused
    return True


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
