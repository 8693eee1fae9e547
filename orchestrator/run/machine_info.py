"""Description of this machine: processor, cores, memory, system. Unreadable values are None.

Linux reports most values; elsewhere the standard library has the portable ones.
"""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path
from typing import Any

VIRTUAL_MAKERS = ("qemu", "kvm", "vmware", "virtualbox", "xen", "amazon ec2", "google", "microsoft")
"""Maker or product names in the firmware of common hypervisors."""


def read_text(path: str) -> str | None:
    """The stripped text of a small system file, None when it is absent, empty or unreadable."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _field(path: str, name: str) -> str | None:
    """The value of the first `name : value` line of a file."""
    for line in (read_text(path) or "").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip()
    return None


def processor() -> str | None:
    """The processor's model name."""
    return _field("/proc/cpuinfo", "model name") or platform.processor() or None


def cores() -> int | None:
    """Cores this process may use (less than the machine has, in a container)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def memory_bytes() -> int | None:
    """Installed memory."""
    total = _field("/proc/meminfo", "MemTotal")
    return int(total.split()[0]) * 1024 if total else None


def free_bytes() -> int | None:
    """Memory that is available without swapping, and within the limit of this process's control
    group (cgroup v2, as in containers); None where the kernel does not report it."""
    free = _field("/proc/meminfo", "MemAvailable")
    if not free:
        return None
    available = int(free.split()[0]) * 1024
    most, used = (read_text(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    if most and used and most.isdecimal() and used.isdecimal():
        return min(available, max(int(most) - int(used), 0))
    return available


def load() -> float | None:
    """Runnable processes, averaged over the last minute."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None


def governor() -> str | None:
    """The frequency governor of the first core; None where the system controls none."""
    return read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def hypervisor() -> str | None:
    """The name of the hypervisor, "unnamed" when only its flag shows; None when there is none."""
    flags = (_field("/proc/cpuinfo", "flags") or "").split()
    maker = read_text("/sys/class/dmi/id/sys_vendor") or ""
    product = read_text("/sys/class/dmi/id/product_name") or ""
    named = f"{maker} {product}".strip()
    if any(word in named.lower() for word in VIRTUAL_MAKERS):
        return named
    return "unnamed" if "hypervisor" in flags else None


def clock_source() -> str | None:
    """The clock source of the kernel (tsc, kvm-clock, hpet)."""
    return read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def describe() -> dict[str, Any]:
    """Entries of the manifest about the machine and its system."""
    return {
        "processor": processor(),
        "architecture": platform.machine() or None,
        "cores": cores(),
        "memory_bytes": memory_bytes(),
        "hypervisor": hypervisor(),
        "governor": governor(),
        "load_1min": load(),
        "system": platform.system() or None,
        "kernel": platform.release() or None,
        "kernel_clock_source": clock_source(),
    }


def device() -> dict[str, Any]:
    """This machine as a device profile names it (`orchestrator.profile.profile_model.Device`)."""
    facts = describe()
    return {
        "name": socket.gethostname(),
        "processor": facts["processor"],
        "cores": facts["cores"] or 1,
        "memory_octets": facts["memory_bytes"],
        "kernel": facts["kernel"] or "unknown",
        "hypervisor": facts["hypervisor"],
        "clock_source": facts["kernel_clock_source"],
    }
