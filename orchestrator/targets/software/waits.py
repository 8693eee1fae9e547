"""What frames waited for this machine between their arrival and the data path, over a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orchestrator.engine.datapath.arrivals import ASKED, WITHOUT
from orchestrator.engine.histogram import percentile_ps
from orchestrator.targets.software.thread import Thread


def told(threads: Sequence[Thread]) -> dict[str, Any]:
    """For manifest and fidelity: `waited_s` (seconds of the run; p50, p99, max) and how many frames
    came `without_time`. Nothing where no times of arrival were asked for."""
    if not any(thread.rig.arrivals[ASKED] for thread in threads):
        return {}
    waits = np.sum([thread.rig.waits for thread in threads], axis=0)
    waits[-1] = max(int(thread.rig.waits[-1]) for thread in threads)
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        "waited_s": {name: percentile_ps(waits, share) / 1e12 for name, share in shares.items()},
        "without_time": sum(int(thread.rig.arrivals[WITHOUT]) for thread in threads),
    }
