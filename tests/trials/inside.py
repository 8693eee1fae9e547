"""Run a command in the network namespace behind a descriptor: `inside.py FD SHIFT NICE COMMAND...`.

SHIFT: by how many seconds its CLOCK_MONOTONIC is ahead (a time namespace); 0: it is everybody's.
NICE: of a session of its own, to which the kernel gives its share of the cores; 0: none.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from orchestrator.targets.software.linux_syscalls import die_with_parent, enter_network, unshare

CLONE_NEWTIME = 0x80

if __name__ == "__main__":
    enter_network(int(sys.argv[1]))
    nice = int(sys.argv[3])
    if int(sys.argv[2]):
        unshare(CLONE_NEWTIME)  # entered by exec
        Path("/proc/self/timens_offsets").write_text(f"monotonic {int(sys.argv[2])} 0")
    if nice:  # else it has the priority of the lab, whose worker has raised that of its session
        os.setsid()
        with suppress(OSError):  # a kernel that does not group by session
            Path("/proc/self/autogroup").write_text(str(nice))
    die_with_parent(signal.SIGKILL)
    os.execvp(sys.argv[4], sys.argv[4:])
