"""Sends frames for `bench_datapath`: a process of its own, in a session of its own.

Where the kernel shares cores out by session, two busy threads of one session have half of what one
has that is alone: whoever forwards is to have a session to itself, as Open vSwitch has.

    python -m tests.benchmarks.datapath_sender CORE

takes a line of JSON for each order and answers it by the number of frames that it sent.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np

from orchestrator.engine.datapath.mmsg_batch import sender
from orchestrator.targets.software.realtime_scheduling import elevate, prepare
from tests.benchmarks import datapath_loops as loops

BURST = 32


def main(core: int) -> None:
    """Carry out orders until there are no more."""
    elevate()
    os.sched_setaffinity(0, {core})
    out = sender(np.zeros((1, 2048), np.uint8), BURST, [2])
    stamp = np.zeros(2, np.int64)
    prepare()
    for line in sys.stdin:
        order = json.loads(line)
        octets = bytes.fromhex(order["octets"])
        out.octets[0, : len(octets)] = list(octets)
        where = (out, order["socket"], len(octets))
        if order["interval_ns"] == 0:
            sent = loops.flood(*where, BURST, order["until_ns"], stamp)
        else:
            sent = loops.pace(*where, order["interval_ns"], order["until_ns"], stamp)
        print(int(sent), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
