"""Runner of a storm: rehearsal, send thread, observers, outcome."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.engine.histogram import percentile_ps
from orchestrator.errors import BadInput, Problem
from orchestrator.progress import Progress, Report, moment
from orchestrator.storm import loop, times
from orchestrator.storm.asked import WHO, Asked, hold_of
from orchestrator.storm.desk import Desk, Planned, lay_out, start
from orchestrator.storm.far_end import FarEnd
from orchestrator.storm.octets import frames_of
from orchestrator.storm.ports import Port
from orchestrator.storm.thread import NAP_NS, StormThread, naps

REHEARSAL_S = 0.5
LOOK_S = 0.05
"""Between two looks at the far ends."""
TELL_S = 1.0
SETTLE_S = 0.02
"""After the end, until what is under way has come."""


@dataclass
class Outcome:
    """Result of a storm."""

    asked: Asked
    ports: list[Port]
    desk: Desk
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
    asked: Asked, ports: Sequence[Port], lateness_ns: int, *, sends: bool = True
) -> list[Planned]:
    """The hold of each port. Raises BadInput where quanta and rate do not fit."""
    found = []
    on, off = (asked.pattern.on_ns, asked.pattern.off_ns) if asked.pattern else (0, 0)
    for port in ports:
        hold = hold_of(asked, port.name, port.rate_bps)
        margin = asked.margin_ns
        if margin is None:
            margin = times.margin_ns(hold, lateness_ns, len(ports))
        octets = frames_of(port.mac, asked.priorities, asked.quanta)
        found.append(Planned(port.raw.fileno() if sends else -1, octets, hold, margin, on, off))
    return found


def desk_of(planned: Sequence[Planned], *, stamps: bool = True) -> Desk:
    """State whose loop sleeps where its frames leave it the time."""
    desk = lay_out(planned, stamps=stamps)
    desk.control[loop.NAP_NS] = NAP_NS if naps(desk) else 0
    return desk


def rehearse(asked: Asked, ports: Sequence[Port], seconds: float = REHEARSAL_S) -> int:
    """Measure the loop's lateness without sending (ns, 99.9th percentile), and compile it."""
    planned = planned_of(asked, ports, 0, sends=False)
    for each in (0.0, seconds):  # the first one compiles
        desk = desk_of(planned, stamps=False)
        now = time.monotonic_ns()
        start(desk, now, now + int(each * 1e9))
        thread = StormThread(desk)
        thread.start()
        thread.join()
        loop.settle(desk)
    return percentile_ps(desk.lateness, 0.999) // times.PS_PER_NS


def storm(asked: Asked, ports: list[Port], progress: Report) -> Outcome:
    """Run a storm on open ports until it ends or is interrupted; release all ports then."""
    planned_of(asked, ports, 0)  # impossible options are refused before anything is compiled
    progress(Progress("rehearsing", 0.0, "how late this machine is"))
    late = rehearse(asked, ports)
    desk = desk_of(planned_of(asked, ports, late))
    with _far_ends(asked, ports, desk) as ends:
        thread = StormThread(desk)
        begun, epoch = time.monotonic_ns(), time.time_ns()
        start(desk, begun, begun + int(asked.seconds * 1e9))
        thread.start()
        interrupted = None
        try:
            _watch(asked, desk, thread, ends, begun, progress)
        except BaseException as stopped:  # the ports are let go first; then it goes on its way
            interrupted = stopped
        finally:
            thread.stop()
            thread.join()
        ran = (time.monotonic_ns() - begun) / 1e9
        time.sleep(SETTLE_S)
        loop.settle(desk)
        for end in ends:
            end.end()
    if interrupted is not None and not isinstance(interrupted, KeyboardInterrupt):
        raise interrupted
    return Outcome(
        *(asked, ports, desk, ends, late, thread.scheduled, thread.cpu_s, thread.taken),
        *(begun, epoch, ran, interrupted),
    )


def _watch(
    asked: Asked,
    desk: Desk,
    thread: StormThread,
    ends: Sequence[FarEnd],
    begun: int,
    progress: Report,
) -> None:
    told = 0.0
    while thread.is_alive():
        thread.join(LOOK_S if ends else TELL_S)
        for end in ends:
            end.take()
        now = (time.monotonic_ns() - begun) / 1e9
        if now - told >= TELL_S:
            told = now
            lapses = int(desk.own["lapses"].sum())
            detail = f"{moment(now, asked.seconds)}, {int(desk.control[loop.SENT])} frames"
            progress(
                Progress("storming", min(now / asked.seconds, 1.0), f"{detail}, {lapses} lapses")
            )


@contextlib.contextmanager
def _far_ends(asked: Asked, ports: Sequence[Port], desk: Desk) -> Iterator[list[FarEnd]]:
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
