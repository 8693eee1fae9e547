"""Check of RLIMIT_MEMLOCK: memory that AF_XDP lends to the kernel counts as locked."""

from __future__ import annotations

import resource

from orchestrator.targets.software.kernelcalls import capabilities
from orchestrator.targets.software.realtime import locks_little

CAP_IPC_LOCK, CAP_SYS_ADMIN, CAP_SYS_RESOURCE = 14, 21, 24


def lack(programs: bool) -> str | None:
    """Why not; None when it may. `programs`: whether the plan starts any, whose worker is never
    without a user namespace, in which the capability to exceed the limit does not count."""
    held = capabilities()
    if not locks_little() or CAP_SYS_RESOURCE in held:  # who has the second raises the limit
        return None
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] // 1024
    told = f"AF_XDP: memory that is lent to the kernel counts as locked, of which {limit} KiB are"
    if programs:
        return f"{told} allowed, and a plan with programs has no way around that"
    if not {CAP_IPC_LOCK, CAP_SYS_ADMIN} <= held:
        return f"{told} allowed without CAP_IPC_LOCK and CAP_SYS_ADMIN"
    return None
