"""The relay between a session and a worker: threads take turns at the worker's pipe."""

from __future__ import annotations

import threading
from typing import Any

from orchestrator.live.live_session import Session
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.targets.software.control_thread import WATCH
from orchestrator.targets.software.live_relay import LiveRelay
from orchestrator.targets.software.worker_stages import HALT
from tests.orchestrator.worlds import line_of_three
from tests.patience import PATIENCE_S


class Pipe:
    """A worker whose first order takes until the test lets it end."""

    def __init__(self) -> None:
        self.begun, self.let = threading.Event(), threading.Event()
        self.inside = self.most = 0
        self.orders: list[Any] = []

    def order(self, order: Any) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.begun.set()
        assert self.let.wait(PATIENCE_S)
        self.orders.append(order)
        self.inside -= 1


def test_a_feed_and_a_scrape_do_not_write_into_one_message() -> None:
    session = Session(Plan(**line_of_three()).check(Registry.load()), "software")
    pipe = Pipe()
    relay = LiveRelay(session, pipe, session.resolved)  # type: ignore[arg-type]
    session.watched.set()
    first = threading.Thread(target=relay.woken)
    first.start()
    assert pipe.begun.wait(PATIENCE_S)
    session.stopping = True
    second = threading.Thread(target=relay.woken)
    second.start()
    second.join(0.2)
    assert second.is_alive(), "it waits for the first one's message to be sent"
    pipe.let.set()
    first.join()
    second.join()
    assert pipe.most == 1
    assert sorted(pipe.orders) == sorted([(WATCH,), (HALT,)])
