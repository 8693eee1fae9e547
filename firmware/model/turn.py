"""Build lock: a process that wants what another process is building waits and takes the result.

Parallel tests or points of a sweep would otherwise each spend half a minute of a core on the same
model.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from orchestrator.run import folderlock

AGAIN_S = 0.1


@contextlib.contextmanager
def turn(place: Path, goes_on: Callable[[], None]) -> Iterator[None]:
    """Hold a lock around a build. `place` is a folder that exists while the lock is held.

    The lock of a dead process is free. `goes_on` is called while another process holds it, and may
    raise. Without support for such locks it does not wait.
    """
    while True:
        place.mkdir(exist_ok=True)
        try:
            handle = folderlock.acquire(place)
            break
        except (BlockingIOError, FileNotFoundError):  # held, or removed by its holder
            goes_on()
            time.sleep(AGAIN_S)
        except OSError as error:
            if error.errno not in folderlock.UNKNOWN_HERE:
                raise
            handle = None
            break
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.rmdir()
        folderlock.release(handle)
