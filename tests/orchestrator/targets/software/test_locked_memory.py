"""Whether a run may lend the kernel its memory, by limit and capabilities."""

from __future__ import annotations

import resource

import pytest

from orchestrator.targets.software import linux_syscalls
from orchestrator.targets.software.xdp import xdp_probe

IPC_LOCK, SYS_ADMIN, SYS_RESOURCE = 14, 21, 24
LITTLE = (8 * 1024 * 1024, 8 * 1024 * 1024)
ALL = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.mark.parametrize(
    ("limit", "held", "programs", "text"),
    [
        (ALL, set(), False, None),
        (ALL, set(), True, None),
        (LITTLE, {SYS_RESOURCE}, True, None),
        (LITTLE, {IPC_LOCK, SYS_ADMIN}, False, None),
        (LITTLE, {IPC_LOCK, SYS_ADMIN}, True, "8192 KiB are allowed, and a plan with programs"),
        (LITTLE, {SYS_ADMIN}, False, "8192 KiB are allowed without CAP_IPC_LOCK"),
        (LITTLE, {IPC_LOCK}, False, "8192 KiB are allowed without CAP_IPC_LOCK"),
    ],
)
def test_memory_that_is_lent_counts_as_locked(monkeypatch, limit, held, programs, text):
    monkeypatch.setattr(resource, "getrlimit", lambda which: limit)
    monkeypatch.setattr(xdp_probe, "capabilities", lambda: held)
    told = xdp_probe.memlock_refusal(programs)
    assert (told is None) == (text is None)
    assert text is None or text in told


def test_capabilities_are_those_that_the_kernel_tells():
    held = linux_syscalls.capabilities()
    with open("/proc/self/status", encoding="ascii") as file:
        told = {line.partition(":")[0]: line.partition(":")[2].strip() for line in file}
    assert sum(1 << number for number in held) == int(told["CapEff"], 16)
