"""Probe for AF_XDP: can this user run the data path on it, and the remedy if not."""

from __future__ import annotations

import errno
import platform
import resource
import select
import socket
from functools import cache
from pathlib import Path

from orchestrator.errors import Refused, TailbackError
from orchestrator.targets.software.kernel_refusals import WHO
from orchestrator.targets.software.linux_syscalls import capabilities
from orchestrator.targets.software.namespace_probe import FRAME, probe
from orchestrator.targets.software.realtime_scheduling import locks_little
from orchestrator.targets.software.xdp import privileged_setup
from orchestrator.targets.software.xdp.xdp_socket import AF_XDP

CAP_IPC_LOCK, CAP_SYS_ADMIN, CAP_SYS_RESOURCE = 14, 21, 24


def memlock_refusal(programs: bool) -> str | None:
    """Why not; None when it may. `programs`: whether the plan starts any, whose worker is never
    without a user namespace, in which the capability to exceed the limit does not count."""
    held = capabilities()
    if not locks_little() or CAP_SYS_RESOURCE in held:  # who has the second raises the limit
        return None
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] // 1024
    limit_text = (
        f"AF_XDP: memory that is lent to the kernel counts as locked, of which {limit} KiB are"
    )
    if programs:
        return f"{limit_text} allowed, and a plan with programs has no way around that"
    if not {CAP_IPC_LOCK, CAP_SYS_ADMIN} <= held:
        return f"{limit_text} allowed without CAP_IPC_LOCK and CAP_SYS_ADMIN"
    return None


PROCESSORS = ("x86_64",)
"""Where the system call's number and the order of loads and stores were tried."""
PLAIN = "or use --datapath packet, which needs none of this."
ARRIVAL_S = 2.0
SETTING = "kernel/unprivileged_bpf_disabled"
COMPLETE = "0 0 4294967295"
"""The identities of the first user namespace, as /proc/self/uid_map has them."""


def refused(error: OSError, root: Path = Path("/proc")) -> Refused:
    """From what the kernel said to loading a program: the lack and the remedy."""
    name = errno.errorcode.get(error.errno or 0, str(error.errno))
    cause = f"({name}: {error.strerror})"
    if error.errno == errno.EPERM:
        return Refused(WHO, f"AF_XDP: {_unprivileged(cause, root)}", f"{_allowed(root)} {PLAIN}")
    if error.errno in (errno.ENOSYS, errno.EINVAL):
        lack = f"AF_XDP: the kernel has no XDP programs that redirect to sockets {cause}"
        remedy = "Remedy: a kernel from 5.11 on with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS,"
        return Refused(WHO, lack, f"{remedy} {PLAIN}")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        lack = f"AF_XDP: every port takes a descriptor, and there are no more {cause}"
        return Refused(WHO, lack, f"Remedy: raise `ulimit -n`, {PLAIN}")
    return Refused(
        WHO, f"AF_XDP: the kernel does not load its program {cause}", f"Remedy: see dmesg, {PLAIN}"
    )


def _unprivileged(cause: str, root: Path) -> str:
    lack = (
        "loading an XDP program takes CAP_BPF and CAP_NET_ADMIN (or "
        f"CAP_SYS_ADMIN) in the first user namespace {cause}"
    )
    value = _read(root / "sys" / SETTING)
    if value is not None:
        key = SETTING.replace("/", ".")
        lack += f"; {key} is {value}, and no value of it allows XDP programs without them"
    return lack


def _allowed(root: Path) -> str:
    identities = " ".join((_read(root / "self/uid_map") or COMPLETE).split())
    if identities != COMPLETE:
        return (
            "Remedy: start it as root outside of this user namespace (of a container without "
            "one: with `--cap-add BPF --cap-add NET_ADMIN`),"
        )
    return "Remedy: run as root, or give both capabilities to the interpreter (setcap),"


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return None


def try_out(control: object, handed: privileged_setup.Grant) -> bool:
    """Job of the worker: a frame that a raw socket sends arrives in AF_XDP sockets of two ports.

    Returns whether the driver would do without copying.
    """
    from orchestrator.engine.datapath.mmsg_batch import receiver
    from orchestrator.engine.datapath.xdp_socket_io import has_waiting_frame, refill
    from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, Machines
    from orchestrator.targets.software.xdp.xdp_backend import STRIDES, Xdp
    from orchestrator.targets.software.xdp.xdp_socket import memory

    machines = Machines()
    for name in ("a", "b"):
        machines.add(name)
    machines.join("a", "b")
    backend = Xdp(handed, STRIDES[0])
    rows = receiver(memory(64, STRIDES[0]), 1)
    opened = backend.open(machines, ["b"], [FIRST_INTERFACE], [(0, FIRST_INTERFACE)], rows)
    for slot in range(8):
        refill(opened.rings, 0, slot, STRIDES[0])
    machines.open("a").sendto(FRAME, ("p0", 0))
    select.select([int(opened.rings.sockets[0, 0])], [], [], ARRIVAL_S)
    if not has_waiting_frame(opened.rings, 0):
        raise TailbackError(f"{WHO}: a frame did not arrive in an AF_XDP socket over a veth pair")
    return bool(backend.describe()["zero_copy"])


@cache
def xdp_refusal() -> Refused | None:
    """Refusal, with its remedy, where AF_XDP is unavailable; None where it is available.

    Found out by loading its program and having a frame arrive through it.
    """
    if (none := probe()) is not None:
        return none
    processor = platform.machine()
    if processor not in PROCESSORS:
        able = " and ".join(PROCESSORS)
        return Refused(
            WHO,
            f"AF_XDP: it was tried on {able}, and this is {processor}",
            f"Remedy: there, {PLAIN}",
        )
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
    except OSError as error:
        if error.errno != errno.EPERM:  # an ordinary user opens them in the worker's namespaces
            cause = f"the kernel has no AF_XDP sockets ({error.strerror})"
            remedy = f"Remedy: a kernel with CONFIG_XDP_SOCKETS, {PLAIN}"
            return Refused(WHO, f"AF_XDP: {cause}", remedy)
    try:
        made = privileged_setup.make(1)
    except OSError as error:
        return refused(error)
    from orchestrator.targets.software.worker_process import Worker

    try:
        job = "orchestrator.targets.software.xdp.xdp_probe:try_out"
        with Worker(job, made, handed=made.descriptors, lends=True) as worker:
            for _ in worker.reports():
                pass
    except Refused as denied:
        return denied
    except TailbackError as failed:
        return Refused(WHO, str(failed), f"Remedy: see the kernel's log, {PLAIN}")
    finally:
        made.close()
    return None
