"""Read-ahead of batches in a thread while the last one is processed: one file on two cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from queue import SimpleQueue

from orchestrator.deferred_signals import deferred_signals
from traces.capture.capture_stream import CaptureStream
from traces.capture.frame_batch import Batch

BUFFERS = 4
"""Batches of a stream that have to stay valid: the one looked at, and those that are made before it
is done with. With one of these alone, either thread would wait for the other at each batch."""


def available() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def uses_single_core(stream: CaptureStream, cores: int | None = None) -> bool:
    """True if a stream is read on the core that processes it: there is no other core, or no more to
    read than the first octets, which opening it took. `cores`: None for those there are."""
    return stream.is_at_end or (available() if cores is None else cores) < 2


def batches_of(stream: CaptureStream, cores: int | None = None) -> Generator[Batch, None, None]:
    """The batches of a stream with ROOMS, read ahead where another core is of use."""
    return stream.batches() if uses_single_core(stream, cores) else read_ahead(stream)


def read_ahead(stream: CaptureStream) -> Generator[Batch, None, None]:
    """The batches of a stream with ROOMS; each is valid until the next one is requested.

    The stream's `interfaces` and `frames` may be those of the next batch already. What reading
    raises is raised here, and the thread ends with this iteration, however that ends.
    """
    wanted = threading.Semaphore(BUFFERS - 1)
    made: SimpleQueue[Batch | BaseException | None] = SimpleQueue()
    over = threading.Event()

    def read() -> None:
        last: BaseException | None = None
        try:
            batches = stream.batches()
            while True:
                wanted.acquire()  # also: the consumer is done with the batch before
                if over.is_set():
                    return
                batch = next(batches, None)
                if batch is None:
                    return
                made.put(batch)
        except BaseException as error:
            last = error
        finally:
            made.put(last)

    thread = threading.Thread(target=read, name=f"reads {stream.path}", daemon=True)
    try:
        with deferred_signals():
            thread.start()
        while (one := made.get()) is not None:
            if isinstance(one, BaseException):
                raise one
            wanted.release()
            yield one
    finally:
        with deferred_signals():
            over.set()
            wanted.release()
            if thread.ident is not None:
                thread.join()
