"""Worker process that runs kernels as plain Python and reports results and branch coverage.

Started as `python -m orchestrator.fuzz.python_kernel_worker DESCRIPTOR [FILE.py]` with
NUMBA_DISABLE_JIT=1, its
conditions marked (`orchestrator.fuzz.condition_coverage`). It is sent plans' tables, each with a
target and a
pace, and answers each with what became of it (RAN, REFUSED, FAILED) and a digest of its samples, or
why not; sent None, it ends.
"""

from __future__ import annotations

import contextlib
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.recording import Recording

WorkRequest = tuple[dict[str, Any], str, float | None]
"""A plan's table, the target, and the pace, where it has one."""
RAN, REFUSED, FAILED = "ran", "refused", "failed"


def digest(recording: Recording) -> str:
    """Of all samples of a run, and their times."""
    import hashlib

    found = hashlib.sha256(np.ascontiguousarray(recording.times_ps).tobytes())
    found.update(np.ascontiguousarray(recording.values).tobytes())
    return found.hexdigest()


def run(asked: WorkRequest) -> tuple[str, str]:
    """Digest of a plan's samples, or the reason why it cannot run here."""
    from orchestrator.errors import BadInput, Refused
    from orchestrator.fuzz.invariant_check import InvalidPlan, check_plan
    from orchestrator.live.live_session import Session
    from orchestrator.progress import silent
    from orchestrator.registry import Registry

    table, target, pace = asked
    try:
        resolved = check_plan(table, target)
        session = None if pace is None else Session(resolved, target, pace=pace, cores=1)
        recording = Registry.load().target(target).run(resolved, silent, session)
    except (InvalidPlan, BadInput, Refused) as error:
        return REFUSED, " ".join(str(error).split())
    return RAN, digest(recording)


def main(descriptor: int, against: str | None) -> None:
    """Answer until there are no more plans."""
    from orchestrator.fuzz.algorithm_file import load_algorithms

    pipe = Connection(descriptor)
    if against is not None:
        load_algorithms(Path(against))
    with contextlib.suppress(EOFError, ConnectionError):  # the parent ended meanwhile
        while (asked := pipe.recv()) is not None:
            try:
                pipe.send(run(asked))
            except Exception as error:
                pipe.send((FAILED, f"{type(error).__name__}: {error}"))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
