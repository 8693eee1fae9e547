"""Signals that interrupt the start, the use and the end of a thread: the thread has ended after."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from firmware.proof import z3_solver
from orchestrator.deferred_signals import deferred_signals
from orchestrator.live.feed_client import FeedClient
from orchestrator.metrics_export.http_endpoint import served
from orchestrator.otg.rest_server import RestServer
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.parallel.parallel_run import ParallelRun
from orchestrator.targets.parallel.partitioning import split
from traces.capture.read_ahead import read_ahead

USED_S = 1.0
"""How long a place is in use, unless it is interrupted."""
READING_S = 0.1
"""How long a slow file takes for a batch."""


def reading_ahead() -> None:
    def batches() -> Iterator[int]:
        while True:
            time.sleep(READING_S)
            yield 1

    stream: Any = SimpleNamespace(path="slow", batches=batches)
    with contextlib.closing(read_ahead(stream)) as feed:
        for _ in feed:
            time.sleep(USED_S)


def feed() -> None:
    client = FeedClient("tcp://127.0.0.1:9")
    try:
        client.start()
        time.sleep(USED_S)
    finally:
        client.close()


def metrics() -> None:
    with served("127.0.0.1:0", list, lambda text: None):
        time.sleep(USED_S)


def rest() -> None:
    server = RestServer(MagicMock(), ("127.0.0.1", 0), None, None, print)
    try:
        time.sleep(USED_S)
    finally:
        server.close()


def proof() -> None:
    solver = SimpleNamespace(ctx=SimpleNamespace(interrupt=lambda: None))
    with z3_solver._interrupted(solver, time.process_time() + 100):
        time.sleep(USED_S)


def parallel() -> None:
    table = Plan.load(Registry.load().plans()["netfpga-fig11"]).to_table()
    shorter: dict[str, Any] = {"duration": "1ms", "expect": [], "phases": {}, "timeline": []}
    shorter |= {"figure": [], "mutant": []}
    resolved = Plan(**(table | shorter)).check(Registry.load())
    ParallelRun(resolved, split(resolved, 2)).run(lambda now: time.sleep(USED_S))


PLACES = [reading_ahead, feed, metrics, rest, proof, parallel]


def left_by(place: Callable[[], None]) -> set[threading.Thread]:
    """Threads that still run when a place was left by KeyboardInterrupt."""
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        place()
    return set(threading.enumerate()) - before


@pytest.fixture
def interrupts() -> Iterator[Callable[[list[float]], None]]:
    """Sends SIGINT at these moments (s from now); it is ignored outside of PLACES."""
    codes = {place.__code__ for place in PLACES}
    over = threading.Event()
    senders: list[threading.Thread] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        within = frame is None
        while frame is not None and not within:
            within, frame = frame.f_code in codes, frame.f_back
        if within:
            raise KeyboardInterrupt

    def send(moments: list[float]) -> None:
        main, begun = threading.get_ident(), time.monotonic()

        def run() -> None:
            for moment in moments:
                if over.wait(max(begun + moment - time.monotonic(), 0)):
                    return
                signal.pthread_kill(main, signal.SIGINT)

        senders.append(threading.Thread(target=run))
        senders[0].start()

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield send
    finally:
        over.set()
        for sender in senders:
            sender.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", [reading_ahead, feed, metrics, rest, proof])
def test_no_thread_outlives_a_place_that_is_interrupted_twice(
    interrupts: Callable[[list[float]], None], place: Callable[[], None], seed: int
) -> None:
    """The second time while the thread ends, at a drawn moment."""
    drawn = random.Random(seed)
    first = drawn.uniform(0.02, 0.05)
    interrupts([first, first + drawn.uniform(0.002, 0.04)])
    assert left_by(place) == set()


@pytest.mark.parametrize("place", PLACES)
def test_no_thread_outlives_an_interrupt_of_its_start(
    monkeypatch: pytest.MonkeyPatch,
    interrupts: Callable[[list[float]], None],
    place: Callable[[], None],
) -> None:
    start = threading.Thread.start

    def start_interrupted(thread: threading.Thread) -> None:
        start(thread)
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(threading.Thread, "start", start_interrupted)
    assert left_by(place) == set()


def test_handlers_are_called_after_the_block_each_once() -> None:
    called: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {n: signal.signal(n, lambda number, frame: called.append(number)) for n in numbers}
    try:
        with deferred_signals():
            for number in (*numbers, *numbers):
                signal.raise_signal(number)
            assert called == []
        assert called == [*numbers]
        signal.raise_signal(signal.SIGTERM)
        assert called == [*numbers, signal.SIGTERM]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_block_that_does_not_end_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.deferred_signals.PATIENCE_S", 0.05)
    with pytest.raises(KeyboardInterrupt), deferred_signals():
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.1)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("the second signal was deferred")
