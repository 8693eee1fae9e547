"""Helper process of a run folder: removes what a killed run would leave behind.

A process that is killed (SIGKILL, out of memory) cannot tidy up after itself, so a run folder
starts this one beside it first. It holds the reading end of a pipe whose writing end only the
run has, and a process handle of the run where the system has such (Linux). When either says that
the run is gone, it removes the partial folder, and the folders above it that were made for this
run, if they are empty (one that a neighbour still used then stays, empty). A folder that was
committed has been renamed by then: nothing is removed.

Run as a script (`python -I -S reaper.py PID PARTIAL MADE...`): it starts in some 15 ms and
imports nothing of tailback.
"""

import os
import select
import shutil
import signal
import sys
import time

TRIES, PAUSE_S = 50, 0.1
"""Retries of the removal, for 5 s: children of the run may still be writing."""


def wait_for_end(owner: int) -> None:
    """Return when the run closed its end of the pipe or its process is gone."""
    if not hasattr(os, "pidfd_open"):
        sys.stdin.buffer.read()
        return
    ends = select.poll()
    ends.register(0, select.POLLIN | select.POLLHUP)
    try:
        ends.register(os.pidfd_open(owner), select.POLLIN)
    except ProcessLookupError:
        return
    except OSError:
        pass  # an old kernel or a sandbox: only the pipe reports the end
    ends.poll()


def remove(partial: str, made: list[str]) -> None:
    """Remove the partial folder, then those of `made` (innermost first) that are empty."""
    for _ in range(TRIES):
        shutil.rmtree(partial, ignore_errors=True)
        if not os.path.lexists(partial):
            break
        time.sleep(PAUSE_S)
    for folder in made:
        try:
            os.rmdir(folder)
        except OSError:
            return  # in use by another run, or never made


if __name__ == "__main__":
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    wait_for_end(int(sys.argv[1]))
    remove(sys.argv[2], sys.argv[3:])
