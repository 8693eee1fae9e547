"""Worker process, child's side: enters its namespaces, runs one job, reports.

Started as `python -m orchestrator.targets.software.worker_main DESCRIPTOR PARENT`, it enters its
namespaces while it is single-threaded, then imports and runs the job that it is sent. It dies
with its parent, by three ways: the kernel kills it when the thread that started it ends, and a
watcher ends it when the parent's process is gone or the parent's end of the pipe is closed.
"""

from __future__ import annotations

import importlib
import os
import queue
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from orchestrator.engine import cache_paths
from orchestrator.errors import RunFailed, TailbackError
from orchestrator.run import disk_space
from orchestrator.targets.software.isolation import Denied, isolate
from orchestrator.targets.software.linux_syscalls import die_with_parent
from orchestrator.targets.software.realtime_scheduling import elevate, locks_little

HOLDS = "holds"
STAYS = "stays"
"""A word of the command of a worker that stays in the user namespace of its parent, where it has
the capability for that: the kernel makes RDMA devices only then."""
"""A word of the command of a worker that drives nothing, and waits."""
LENDS = "lends"
"""A word of the command of a worker that lends the kernel memory, which counts as locked: where
that is limited it takes no user namespace, in which the privilege to exceed the limit is lost."""
REPORT, RESULT, FAILED, DENIED, BROKEN = "report", "result", "failed", "denied", "broken"
"""What a worker tells: news of the job; its result; a mistake in a sentence; a step that the
kernel did not allow; a traceback."""


class Control:
    """A job's way to its parent."""

    def __init__(self, pipe: Connection, end: Callable[[], Any] = lambda: os._exit(1)) -> None:
        self._pipe, self._end = pipe, end
        self.orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
        """What the parent has sent since the job began."""
        self.answered = False
        """Whether the result is on its way; a parent that has it may close its end at once."""

    def report(self, news: Any) -> None:
        """Tell the parent something while the job goes on."""
        self._pipe.send((REPORT, news))

    def watch(self, parent: int) -> None:
        """Take in orders for ever; end this process when the parent is gone."""
        ends = select.poll()
        ends.register(self._pipe, select.POLLIN | select.POLLHUP)
        ends.register(parent, select.POLLIN)
        while True:
            ready = dict(ends.poll())
            if parent in ready:
                self._end()
            try:
                self.orders.put(self._pipe.recv())
            except (EOFError, OSError):
                if self.answered:
                    os._exit(0)
                self._end()


def run(control: Control, job: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    """Run `job` ("module:function"); what to tell of it."""
    try:
        module, _, name = job.partition(":")
        return RESULT, getattr(importlib.import_module(module), name)(control, *arguments)
    except Denied as denied:
        return DENIED, (denied.step, denied.code)
    except TailbackError as mistake:
        return FAILED, (mistake.exit_code, str(mistake))
    except OSError as error:
        if not disk_space.is_full(error):
            return BROKEN, traceback.format_exc()
        cache = os.environ.get("NUMBA_CACHE_DIR", "the cache")  # all that a worker writes to
        sentence = f"target software: no room left on the disk for compiled code in {cache}"
        return FAILED, (RunFailed.exit_code, f"{sentence}; free some")
    except BaseException:
        return BROKEN, traceback.format_exc()


def main(descriptor: int, parent: int, lends: bool = False, stays: bool = False) -> None:
    """Isolate, take one job, run it, tell the result, end."""
    die_with_parent(signal.SIGKILL)
    parent_handle = os.pidfd_open(parent)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    pipe = Connection(descriptor)
    control = Control(pipe)
    try:
        elevate()
        cache_paths.folder()  # owners of parent folders are visible outside the namespace alone
        isolate(user_namespace=not (stays or (lends and locks_little())))
        die_with_parent(signal.SIGKILL)  # a change of identity has undone it
        job, arguments = pipe.recv()
        threading.Thread(target=control.watch, args=(parent_handle,), daemon=True).start()
        outcome = run(control, job, arguments)
    except Denied as denied:
        outcome = DENIED, (denied.step, denied.code)
    except EOFError:
        os._exit(1)
    control.answered = True
    pipe.send(outcome)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the job's threads may still be in compiled code


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), LENDS in sys.argv[3:], STAYS in sys.argv[3:])
