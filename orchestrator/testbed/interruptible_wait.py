"""Interruptible wait for a run across machines, for commands, scripts and notebooks."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from orchestrator.terminal import exit_codes

Awaited = TypeVar("Awaited")


def wait_for_run(waiting: Coroutine[Any, Any, Awaited]) -> Awaited:
    """Wait for a run. A signal cancels it, which tells the controller, and is raised then.

    Signals come to the main thread alone. Where that has a loop already, as in a notebook, the
    wait is in a thread of its own, and Ctrl-C, which is raised here, cancels it there.
    """
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(waiting)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _with_signal_handlers(waiting)
    return _in_own_thread(waiting)


def _with_signal_handlers(waiting: Coroutine[Any, Any, Awaited]) -> Awaited:
    stops: list[int] = []

    async def wait() -> Awaited:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def stop(number: int) -> None:
            stops.append(number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop, number)
        return await waiting

    try:
        return asyncio.run(wait())
    except asyncio.CancelledError:
        if stops[0] == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise exit_codes.Terminated(stops[0]) from None


def _in_own_thread(waiting: Coroutine[Any, Any, Awaited]) -> Awaited:
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def wait() -> Awaited:
        task = asyncio.current_task()
        assert task is not None
        begun.set_result((asyncio.get_running_loop(), task))
        return await waiting

    with ThreadPoolExecutor(1) as hand:
        done = hand.submit(asyncio.run, wait())
        try:
            return done.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            loop.call_soon_threadsafe(task.cancel)
            raise
