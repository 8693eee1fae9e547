"""Run a command in the network namespace behind a descriptor: `inside.py FD SHIFT COMMAND...`.

SHIFT: by how many seconds its CLOCK_MONOTONIC is ahead (a time namespace); 0: it is everybody's.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from orchestrator.targets.software.kernelcalls import die_with_parent, enter_network, unshare

CLONE_NEWTIME = 0x80
NICE = 10

if __name__ == "__main__":
    enter_network(int(sys.argv[1]))
    if int(sys.argv[2]):
        unshare(CLONE_NEWTIME)  # entered by exec
        Path("/proc/self/timens_offsets").write_text(f"monotonic {int(sys.argv[2])} 0")
    # A session of its own, as on a machine of its own, and one that leaves most of the cores to
    # data paths: the worker that makes the lab has raised its session's priority, and nothing in
    # the lab may raise that of another one.
    os.setsid()
    with suppress(OSError):  # a kernel that does not group by session
        Path("/proc/self/autogroup").write_text(str(NICE))
    die_with_parent(signal.SIGKILL)
    os.execvp(sys.argv[3], sys.argv[3:])
