"""Runner of a storm: rehearsal, send thread, observers, outcome."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from orchestrator.deferred_signals import deferred_signals
from orchestrator.engine.histogram import percentile_ps
from orchestrator.errors import BadInput, Problem
from orchestrator.pause_storm import pause_quanta, send_loop
from orchestrator.pause_storm.far_end import FarEnd
from orchestrator.pause_storm.pause_frames import frames_of
from orchestrator.pause_storm.storm_interfaces import Port
from orchestrator.pause_storm.storm_request import WHO, StormRequest, hold_of
from orchestrator.pause_storm.storm_state import Planned, StormState, new_state, start
from orchestrator.progress import Progress, Report, moment
from orchestrator.targets.software import realtime_scheduling
from orchestrator.targets.software.linux_syscalls import set_timer_slack

# Send thread of a storm, and its scheduling class.
#
# A thread that sleeps between its frames may have the scheduler's real-time class: it is put on a
# core at once, whoever spins there. One that spins may not, for the kernel takes a real-time
# spinner
# off its core for 50 ms of every second. So a storm sleeps as long as its frames leave a quarter of
# a core, and spins with a high ordinary priority where they do not.

NAP_NS = 5_000
"""Nothing is slept for that is due sooner. To wake up takes longer, which the margin bears."""


def naps(desk: StormState) -> bool:
    """Return whether the frames of a storm leave a quarter of a core."""
    each = desk.holds["hold_ns"] - desk.holds["margin_ns"]
    return bool(
        (pause_quanta.FRAME_NS / each).sum() <= pause_quanta.BUSY[0] / pause_quanta.BUSY[1] + 0.01
    )


class StormThread(threading.Thread):
    """Keeps the holds of a desk to the end of the storm."""

    def __init__(self, desk: StormState) -> None:
        super().__init__(name="storm", daemon=True)
        self.desk = desk
        self.scheduled = "ordinary"
        """How: "real time", "nice -10" or "ordinary"."""
        self.cpu_s = 0.0
        self.taken: dict[str, float] = {}
        """What others had of the core meanwhile (see `realtime.taken`), s."""
        self.ended = threading.Event()
        """Set when all ports are let go. After a `join` that a signal interrupted, another one may
        return while the thread still runs (Python 3.11); to wait for this does not."""

    def run(self) -> None:
        """Take what the scheduler gives, and go."""
        try:
            self._run()
        finally:
            self.ended.set()

    def _run(self) -> None:
        with suppress(OSError):
            set_timer_slack(1)
        self.scheduled = _elevated(sleeps=bool(self.desk.control[send_loop.NAP_NS]))
        before, cpu = realtime_scheduling.taken(), time.thread_time()
        send_loop.run_holds(self.desk)
        self.cpu_s, after = time.thread_time() - cpu, realtime_scheduling.taken()
        self.taken = {key: after[key] - before[key] for key in before if key in after}

    def stop(self) -> None:
        """Let all ports go; it ends soon."""
        self.desk.control[send_loop.STOP] = 1


def _elevated(*, sleeps: bool) -> str:
    """Raise this thread's scheduling class as far as permitted; describe the result."""
    steps: list[tuple[str, Callable[[], None]]] = [
        ("nice -10", lambda: os.setpriority(os.PRIO_PROCESS, 0, realtime_scheduling.NICE))
    ]
    if sleeps:
        least = os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO))
        fifo = os.SCHED_FIFO
        steps.insert(0, ("real time", lambda: os.sched_setscheduler(0, fifo, least)))
    for name, step in steps:
        with suppress(OSError):
            step()
            return name
    return "ordinary"


REHEARSAL_S = 0.5
LOOK_S = 0.05
"""Between two looks at the far ends."""
PROGRESS_S = 1.0
SETTLE_S = 0.02
"""After the end, until what is under way has come."""


@dataclass
class Outcome:
    """Result of a storm."""

    request: StormRequest
    ports: list[Port]
    desk: StormState
    far_ends: list[FarEnd]
    rehearsed_ns: int
    """How late the loop was before, at the 99.9th percentile, without sending anything."""
    scheduled: str
    cpu_s: float
    taken: dict[str, float]
    start_ns: int
    """By CLOCK_MONOTONIC, and what CLOCK_REALTIME was then."""
    epoch_ns: int
    ran_s: float
    interrupted: BaseException | None


def planned_of(
    asked: StormRequest, ports: Sequence[Port], lateness_ns: int, *, sends: bool = True
) -> list[Planned]:
    """The hold of each port. Raises BadInput where quanta and rate do not fit."""
    found = []
    on, off = (asked.pattern.on_ns, asked.pattern.off_ns) if asked.pattern else (0, 0)
    for port in ports:
        hold = hold_of(asked, port.name, port.rate_bps)
        margin = asked.margin_ns
        if margin is None:
            margin = pause_quanta.margin_ns(hold, lateness_ns, len(ports))
        octets = frames_of(port.mac, asked.priorities, asked.quanta)
        found.append(Planned(port.raw.fileno() if sends else -1, octets, hold, margin, on, off))
    return found


def state_of(planned: Sequence[Planned], *, stamps: bool = True) -> StormState:
    """State whose loop sleeps where its frames leave it the time."""
    desk = new_state(planned, stamps=stamps)
    desk.control[send_loop.NAP_NS] = NAP_NS if naps(desk) else 0
    return desk


def rehearse(asked: StormRequest, ports: Sequence[Port], seconds: float = REHEARSAL_S) -> int:
    """Measure the loop's lateness without sending (ns, 99.9th percentile), and compile it."""
    planned = planned_of(asked, ports, 0, sends=False)
    for each in (0.0, seconds):  # the first one compiles
        desk = state_of(planned, stamps=False)
        now = time.monotonic_ns()
        start(desk, now, now + int(each * 1e9))
        thread = StormThread(desk)
        thread.start()
        thread.join()
        send_loop.drain_stamps(desk)
    return percentile_ps(desk.lateness, 0.999) // pause_quanta.PS_PER_NS


def run_storm(
    asked: StormRequest,
    ports: list[Port],
    progress: Report,
    observe: Callable[[StormState, Sequence[FarEnd]], None] | None = None,
) -> Outcome:
    """Run a storm on open ports until it ends or is interrupted; release all ports then.

    `observe` is called once with the state and the far ends, which the storm goes on to change.
    """
    planned_of(asked, ports, 0)  # impossible options are refused before anything is compiled
    progress(Progress("rehearsing", 0.0, "how late this machine is"))
    late = rehearse(asked, ports)
    desk = state_of(planned_of(asked, ports, late))
    with _far_ends(asked, ports, desk) as ends:
        if observe is not None:
            observe(desk, ends)
        thread = StormThread(desk)
        begun, epoch = time.monotonic_ns(), time.time_ns()
        start(desk, begun, begun + int(asked.seconds * 1e9))
        interrupted = None
        try:
            with deferred_signals():
                thread.start()
            _watch(asked, desk, thread, ends, begun, progress)
        except BaseException as stopped:  # the ports are let go first; then it goes on its way
            interrupted = stopped
        finally:
            with deferred_signals():
                thread.stop()
                if thread.ident is not None:  # it runs: nothing was sent before
                    thread.ended.wait()
        ran = (time.monotonic_ns() - begun) / 1e9
        time.sleep(SETTLE_S)
        send_loop.drain_stamps(desk)
        for end in ends:
            end.end()
    if interrupted is not None and not isinstance(interrupted, KeyboardInterrupt):
        raise interrupted
    return Outcome(
        *(asked, ports, desk, ends, late, thread.scheduled, thread.cpu_s, thread.taken),
        *(begun, epoch, ran, interrupted),
    )


def _watch(
    asked: StormRequest,
    desk: StormState,
    thread: StormThread,
    ends: Sequence[FarEnd],
    begun: int,
    progress: Report,
) -> None:
    reported_s, ended = 0.0, False
    while not ended:
        ended = thread.ended.wait(LOOK_S if ends else PROGRESS_S)
        for end in ends:
            end.take()
        now = (time.monotonic_ns() - begun) / 1e9
        if now - reported_s >= PROGRESS_S:
            reported_s = now
            lapses = int(desk.own["lapses"].sum())
            detail = f"{moment(now, asked.seconds)}, {int(desk.control[send_loop.SENT])} frames"
            progress(
                Progress("storming", min(now / asked.seconds, 1.0), f"{detail}, {lapses} lapses")
            )


@contextlib.contextmanager
def _far_ends(
    asked: StormRequest, ports: Sequence[Port], desk: StormState
) -> Iterator[list[FarEnd]]:
    """Ears at the far ends. Raises BadInput for interfaces that are not there."""
    indices = []
    for name in asked.far_ends:
        try:
            indices.append(socket.if_nametoindex(name))
        except OSError:
            said = "there is no interface of this name here"
            raise BadInput(WHO, [Problem("--far-end", name, said)]) from None
    ends: list[FarEnd] = []
    try:
        for row, (index, port) in enumerate(zip(indices, ports, strict=False)):
            hold = int(desk.holds[row]["hold_ns"])
            ends.append(FarEnd(index, port.mac, row, hold, desk.notes))
        yield ends
    except BaseException:
        for end in ends:
            end.let_go()
        raise


def lapse_times(outcome: Outcome) -> np.ndarray:
    """int64[n, 4] of the lapses that were noted: row, observer, ns since the start, length (ns)."""
    notes = outcome.desk.notes
    found = notes[: int(notes[-1, 0])].copy()
    found[:, 2] -= np.where(found[:, 1] == 0, outcome.start_ns, outcome.epoch_ns)
    return found[np.lexsort((found[:, 1], found[:, 2]))]
