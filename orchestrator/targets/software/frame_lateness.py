"""Lateness of received and sent frames over a run, as quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orchestrator.engine.datapath import arrival_times, departure_times, launch_time
from orchestrator.engine.histogram import percentile_ps
from orchestrator.targets.software.datapath_thread import Thread

SHARES = {"p50": 0.5, "p99": 0.99, "max": 1.0}


def lateness_table(threads: Sequence[Thread]) -> dict[str, Any]:
    """Lateness table for manifest and fidelity, seconds of the run as p50, p99, max; only what was
    requested.

    Of times of arrival: `waited_s` and how many frames came `without_time`; of departure: `left`;
    of launches: `launched`.
    """
    said: dict[str, Any] = {}
    if any(thread.rig.arrivals[arrival_times.REQUESTED] for thread in threads):
        said["waited_s"] = _shares([thread.rig.waits for thread in threads])
        said["without_time"] = sum(
            int(thread.rig.arrivals[arrival_times.WITHOUT]) for thread in threads
        )
    words = np.sum([thread.rig.departures for thread in threads], axis=0)
    if words[departure_times.REQUESTED]:
        said["left"] = {
            "late_s": _shares([thread.rig.late for thread in threads]),
            "timed": int(words[departure_times.TIMED]),
            "without_time": int(words[departure_times.RECORDED] - words[departure_times.TIMED]),
            "of_no_frame": int(words[departure_times.UNMATCHED]),
            "echoes_moved": int(words[departure_times.MOVED]),
        }
    if leads := [
        int(lead) for thread in threads if (lead := thread.rig.launches[launch_time.LEAD])
    ]:
        said["launched"] = {
            "lead_s": leads[0] / 1e12,
            "behind": sum(int(thread.rig.launches[launch_time.BEHIND]) for thread in threads),
            "missed": int(words[departure_times.MISSED_LAUNCHES]),
            "invalid": int(words[departure_times.BAD_LAUNCHES]),
        }
    return said


def _shares(histograms: Sequence[np.ndarray]) -> dict[str, float]:
    whole = np.sum(histograms, axis=0)
    whole[-1] = max(int(one[-1]) for one in histograms)
    return {name: percentile_ps(whole, share) / 1e12 for name, share in SHARES.items()}
