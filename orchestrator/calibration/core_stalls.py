"""Stalls of a spinning thread: their duration, and the cause of each.

A control thread on each core, all at once, doing nothing but reading the clock: what keeps such a
thread keeps a data path as well, and is none of the data path's doing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import numpy as np

from orchestrator.calibration.profile_statistics import overlapping
from orchestrator.engine.datapath.stall_detection import watch_clock
from orchestrator.profile.profile_model import Stalls
from orchestrator.profile.quantiles import quantiles
from orchestrator.targets.software import realtime_scheduling

FLOOR_NS = 50_000
"""Interrupts and short turns of the kernel's own threads are shorter; stalls that a run's clock
notices are longer."""
MOST_GAPS = 200_000
NO_STEP_NS = 1 << 40
"""The least step of a clock that was not read twice."""
STARTING_POLL_S = 0.001


class Control(threading.Thread):
    """A control thread on one core."""

    def __init__(self, core: int) -> None:
        super().__init__(daemon=True)
        self.core = core
        self.gaps = np.zeros((MOST_GAPS, 2), np.int64)
        self.least = np.full(1, NO_STEP_NS, np.int64)
        self.found = 0
        self.taken: dict[str, float] = {}
        self.until_ns = 0

    def run(self) -> None:
        """Spin until the time."""
        realtime_scheduling.pin(self.core)
        stamp = np.zeros(2, np.int64)
        before = realtime_scheduling.taken()
        self.found = watch_clock(self.until_ns, FLOOR_NS, self.gaps, self.least, stamp)
        after = realtime_scheduling.taken()
        self.taken = {key: after[key] - before[key] for key in before if key in after}


def control_threads(
    seconds: float, started: Callable[[], None] = lambda: None
) -> tuple[list[Control], float]:
    """Control threads that have spun so long on every core, and how long that was (seconds).

    `started` is called once all of them have read the clock.
    """
    threads = [Control(core) for core in range(len(os.sched_getaffinity(0)))]
    realtime_scheduling.prefault(*(thread.gaps for thread in threads))
    watch_clock(
        0, FLOOR_NS, threads[0].gaps, np.zeros(1, np.int64), np.zeros(2, np.int64)
    )  # compiles
    begun = time.monotonic_ns()
    for thread in threads:
        thread.until_ns = begun + int(seconds * 1e9)
        thread.start()
    while any(thread.least[0] == NO_STEP_NS and thread.is_alive() for thread in threads):
        time.sleep(STARTING_POLL_S)
    started()
    for thread in threads:
        thread.join()
    return threads, (time.monotonic_ns() - begun) / 1e9


def measure_stalls(
    seconds: float, started: Callable[[], None] = lambda: None
) -> tuple[Stalls, int]:
    """The stalls of this machine, and the least step of its clock (ns); `started`: see
    `control_threads`."""
    threads, watched_s = control_threads(seconds, started)
    gaps = [thread.gaps[: min(thread.found, MOST_GAPS)] for thread in threads]
    stolen = [thread.taken["stolen"] for thread in threads if "stolen" in thread.taken]
    waited = sum(thread.taken.get("waited", 0.0) for thread in threads)
    found = stalls_of(gaps, watched_s, waited, max(stolen, default=None))
    return found, int(min(thread.least[0] for thread in threads))


def stalls_of(
    gaps: list[np.ndarray], watched_s: float, waited_s: float, stolen_s: float | None
) -> Stalls:
    """Statistics of the gaps of several control threads, int64[n, 2] each.

    `waited_s` was waited for a core by all of them, `stolen_s` from all cores of the machine.
    """
    every = np.concatenate([each[:, 1] for each in gaps]) if gaps else np.zeros(0, np.int64)
    common = overlapping(gaps)
    common = common[common[:, 1] > FLOOR_NS]
    core_s = watched_s * len(gaps)
    share = float(every.sum()) / 1e9 / core_s
    waited = min(waited_s / core_s, 1.0)
    stolen = None if stolen_s is None else min(stolen_s / core_s, 1.0)
    return Stalls(
        watched_s=watched_s,
        floor_ns=FLOOR_NS,
        count=len(every),
        per_core_per_s=len(every) / core_s,
        share=min(share, 1.0),
        longest_ns=int(every.max()) if len(every) else 0,
        length_quantiles_ns=quantiles(every),
        at_once_count=len(common),
        at_once_length_quantiles_ns=quantiles(common[:, 1]),
        waited_share=waited,
        stolen_share=stolen,
        unexplained_share=min(max(share - waited - (stolen or 0.0), 0.0), 1.0),
    )
