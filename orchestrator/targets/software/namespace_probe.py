"""Probe for network namespaces: makes two machines and sends a frame from one to the other."""

from __future__ import annotations

import os
import select
import sys
from functools import cache

from orchestrator.errors import Refused, TailbackError
from orchestrator.targets.software.kernel_refusals import SIMULATE, WHO

FRAME = bytes.fromhex("ffffffffffff 025442000001 88b5") + bytes(46)
"""A broadcast of the local experimental EtherType."""
ARRIVAL_S = 2.0


def try_out(control: object) -> None:
    """Job of the worker: join two machines and see a frame from one arrive at the other."""
    from orchestrator.targets.software.network_namespaces import Machines

    machines = Machines()
    for name in ("a", "b"):
        machines.add(name)
    machines.join("a", "b")
    near, far = machines.open("a"), machines.open("b")
    near.sendto(FRAME, ("p0", 0))
    if not select.select([far], [], [], ARRIVAL_S)[0]:
        raise TailbackError(f"{WHO}: a frame that was sent over a veth pair did not arrive")


@cache
def probe() -> Refused | None:
    """Why this machine cannot run the software target, with the remedy; None when it can."""
    if not sys.platform.startswith("linux"):
        return Refused(
            WHO, f"needs Linux, and this is {sys.platform}", f"Remedy: a Linux host, {SIMULATE}"
        )
    if len(os.sched_getaffinity(0)) < 2:
        return Refused(
            WHO, "needs two processor cores", f"Remedy: give this process more, {SIMULATE}"
        )
    from orchestrator.targets.software.worker_process import run_job

    try:
        run_job("orchestrator.targets.software.namespace_probe:try_out")
    except Refused as refused:
        return refused
    except TailbackError as failed:
        return Refused(WHO, str(failed), f"Remedy: see the kernel's log, {SIMULATE}")
    return None


def require() -> None:
    """Raise the refusal, if there is one."""
    refused = probe()
    if refused is not None:
        raise refused
