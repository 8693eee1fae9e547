"""RDMA for programs: soft-RoCE (`rdma_rxe`) on the interface of a host's namespace.

A device is made by `rdma link add NAME type rxe netdev INTERFACE` (iproute2) in the namespace that
has the interface. It goes with `rdma link delete`, and with its interface: when a run is killed the
kernel takes the namespace away, the interface with it, and the device with that.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

from orchestrator.errors import Refused
from orchestrator.targets.software.kernel_refusals import WHO

TOOL, MODULE, PROTOCOL = "rdma", "rdma_rxe", 20
"""NETLINK_RDMA (linux/netlink.h)."""
LONGEST_S = 20.0
PLAIN = "or leave rdma out of the traffic, whose programs have TCP and UDP without it."


def answers() -> OSError | None:
    """Open an RDMA netlink socket: the kernel's error, or None."""
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, PROTOCOL).close()
    except OSError as error:
        return error
    return None


def lack(root: Path = Path("/"), ask: Callable[[], OSError | None] = answers) -> Refused | None:
    """Refusal, with its remedy, where soft-RoCE is unavailable; None where nothing is known to be
    missing.

    Whether this user may make one the kernel says when it is asked to: `add`.
    """
    if shutil.which(TOOL) is None:
        remedy = f"Remedy: install it (on Debian `apt-get install iproute2`), {PLAIN}"
        return Refused(WHO, f"soft-RoCE: the program {TOOL!r} of iproute2 is not here", remedy)
    release = platform.release()
    remedy = (
        f"Remedy: a kernel with CONFIG_INFINIBAND and CONFIG_RDMA_RXE (on Ubuntu "
        f"`apt-get install linux-modules-extra-$(uname -r)`), {PLAIN}"
    )
    if (error := ask()) is not None:
        why = f"the kernel has no RDMA (NETLINK_RDMA: {error.strerror})"
        return Refused(WHO, f"soft-RoCE: {why}", remedy)
    if not has_module(root, release):
        return Refused(WHO, f"soft-RoCE: the kernel {release} has no module {MODULE}", remedy)
    return None


def has_module(root: Path, release: str) -> bool:
    """Return whether the module is loaded, built in, or in the folder from which the kernel loads
    it on demand."""
    if (root / "sys/module" / MODULE).exists():
        return True
    modules = root / "lib/modules" / release
    for name in ("modules.dep", "modules.builtin"):
        try:
            lines = (modules / name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        files = (line.partition(":")[0].rpartition("/")[2] for line in lines)
        if any(file.partition(".ko")[0] == MODULE for file in files):
            return True
    return False


def name_of(number: int) -> str:
    """Name of the device of this process's host number `number`: RDMA devices may be visible in all
    namespaces, and other runs have some, too."""
    return f"tb{os.getpid()}n{number}"


def add(name: str, interface: str) -> None:
    """Make a device; call it in the namespace of the interface. Raises Refused, with the words of
    the tool."""
    _do("make", name, "link", "add", name, "type", "rxe", "netdev", interface)


def remove(name: str) -> None:
    """Take it away; call it in the same namespace. Raises Refused, likewise."""
    _do("remove", name, "link", "delete", name)


def _do(what: str, name: str, *words: str) -> None:
    try:
        done = subprocess.run(
            [TOOL, *words], capture_output=True, text=True, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        cause = f"no answer within {LONGEST_S:g} s"
    except OSError as error:
        cause = f"{TOOL}: {error.strerror}"
    else:
        if done.returncode == 0:
            return
        cause = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}")[:300]
    raise Refused(
        WHO,
        f"soft-RoCE: `{TOOL} {' '.join(words)}` did not {what} the device {name}: {cause}",
        f"Remedy: root outside of any user namespace, and a kernel whose {MODULE} takes interfaces "
        f"of network namespaces, {PLAIN}",
    )
