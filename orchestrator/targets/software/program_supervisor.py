"""Supervisor process of a run's programs: starts them, and its end ends them.

Run as `python -m orchestrator.targets.software.program_supervisor` in a pipe. It reads one JSON
list of
programs, then has a process of its own be the first of a new process namespace: when that one
ends, however it ends, the kernel ends every program below it, also what they have started. It
writes a JSON line when a program starts and when it ends. When its input is closed it tells the
programs to end, waits a moment and ends them.

Imports nothing heavy: it must have one thread.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

from orchestrator.targets.software.linux_syscalls import (
    CLONE_NEWPID,
    die_with_parent,
    enter_network,
    unshare,
)

GRACE_S = 0.5
"""From SIGTERM to SIGKILL."""
LOOK_S = 0.2
"""Between two looks at the threads of programs: what they waited is gone when they end."""
LONGEST_OUTPUT = 64_000_000
"""Octets that a program may write to one file."""
FAILED = 127
DENIED = "denied"


def start(program: dict[str, Any]) -> int:
    """Start a program in its network namespace, its output going to files; its process id."""
    hears, says = os.pipe()
    child = os.fork()
    if child:
        os.close(says)
        with os.fdopen(hears, "rb") as pid_pipe:  # it has another number outside of our namespace
            program["outside"] = pid_pipe.read().decode()
        return child
    try:
        os.write(says, os.readlink("/proc/self").encode())
        os.close(says)
        os.setsid()
        enter_network(program["network"])
        resource.setrlimit(resource.RLIMIT_FSIZE, (LONGEST_OUTPUT, LONGEST_OUTPUT))
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (program["out"], 1), (program["err"], 2)):
            os.dup2(source, target)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        os.closerange(3, 4096)
        os.execvp(program["command"][0], program["command"])
    except OSError as error:
        os.write(2, f"{program['command'][0]}: {error.strerror}\n".encode())
    finally:
        os._exit(FAILED)


def sample_waits(program: dict[str, Any]) -> None:
    """Note for how long each thread of a program has waited for a core so far (ns).

    Not of what it starts itself. A kernel that does not say leaves it empty.
    """
    waited = program.setdefault("waited", {})
    try:
        for thread in os.listdir(f"/proc/{program['outside']}/task"):
            with open(f"/proc/{program['outside']}/task/{thread}/schedstat", "rb") as file:
                waited[thread] = int(file.read().split()[1])
    except (OSError, IndexError):
        return


def report_event(name: str, event: str, code: int | None = None, waited: Any = None) -> None:
    """Report that a program started or ended: its exit code, or None when it was stopped on
    order."""
    line = {"name": name, "event": event, "at_ns": time.monotonic_ns(), "code": code}
    if waited:
        line["waited_ns"] = max(waited.values())
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def reap(running: dict[int, dict[str, Any]]) -> None:
    """Report programs that have ended; take in orphans of theirs."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            if ended.si_pid in running:
                sample_waits(running[ended.si_pid])
            child, status = os.waitpid(ended.si_pid, os.WNOHANG)
        except ChildProcessError:
            return
        if (program := running.pop(child, None)) is not None:
            code = None if program.get("stopped") else os.waitstatus_to_exitcode(status)
            report_event(program["name"], "ended", code, program.get("waited"))


def order_end(running: dict[int, dict[str, Any]]) -> None:
    """Terminate every program, and its children in its session."""
    for child, program in running.items():
        program["stopped"] = True
        try:
            os.killpg(child, signal.SIGTERM)
        except ProcessLookupError:
            continue


def supervise(programs: list[dict[str, Any]]) -> None:
    """Start and stop programs at their times until the input is closed."""
    waiting = sorted(programs, key=lambda program: program["start_ns"])
    running: dict[int, dict[str, Any]] = {}
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        now = time.monotonic_ns()
        while waiting and waiting[0]["start_ns"] <= now:
            program = waiting.pop(0)
            running[start(program)] = program
            report_event(program["name"], "started")
        stops = {child: p for child, p in running.items() if p["stop_ns"] is not None}
        late = {child: p for child, p in stops.items() if p["stop_ns"] <= now}
        order_end(late)
        for program in late.values():
            program["stop_ns"] = None
        times = [p["start_ns"] for p in waiting] + [
            p["stop_ns"] for p in running.values() if p["stop_ns"] is not None
        ]
        rest = max(0.0, (min(times) - now) / 1e9) if times else None
        if running:
            rest = LOOK_S if rest is None else min(rest, LOOK_S)
        ready, _, _ = select.select([0, wake], [], [], rest)
        if wake in ready:
            os.read(wake, 4096)
        for program in running.values():
            sample_waits(program)
        reap(running)
        if 0 in ready and not os.read(0, 4096):
            break
    for program in running.values():
        report_event(program["name"], "waited", waited=program.get("waited"))
    order_end(running)
    end = time.monotonic() + GRACE_S
    while running and time.monotonic() < end:
        time.sleep(0.005)
        reap(running)


def main() -> None:
    """Read the programs, make the process namespace, supervise in it."""
    die_with_parent(signal.SIGKILL)
    programs = json.loads(sys.stdin.readline())
    try:
        unshare(CLONE_NEWPID)
    except OSError as error:
        report_event(DENIED, DENIED, error.errno)
        os._exit(0)
    first = os.fork()
    if first == 0:
        die_with_parent(signal.SIGKILL)
        supervise(programs)
        os._exit(0)  # what is still running ends with this process
    os.waitpid(first, 0)
    os._exit(0)


if __name__ == "__main__":
    main()
