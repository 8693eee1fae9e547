"""Live relay of a software run, parent's side: between the session and the worker."""

from __future__ import annotations

import threading
from typing import Any

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.assembly.timeline_commands import marks
from orchestrator.live.feed_messages import Machine
from orchestrator.live.live_changes import with_step
from orchestrator.live.live_session import FramesRequest, Order, Session
from orchestrator.live.sample_rows import AccumulatedRows
from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Recording
from orchestrator.targets.software.control_thread import FRAMES, MAKE, ROWS, SEEN, WATCH
from orchestrator.targets.software.worker_process import Worker
from orchestrator.targets.software.worker_stages import HALT


class LiveRelay:
    """Live relay between session and worker. `woken` is called from any thread, all else from the
    main one."""

    def __init__(self, session: Session, worker: Worker, resolved: ResolvedPlan) -> None:
        self.session, self.worker, self.resolved = session, worker, resolved
        self._told: set[str] = set()
        self._orders: dict[str, Order] = {}
        self._frames_asked: dict[str, FramesRequest] = {}
        self._lock = threading.Lock()
        """Held while orders are sent: a pipe takes one message at a time."""
        plan = resolved.plan
        self.columns = [probe.column for probe in probes(resolved, Indices(plan))]
        most = plan.duration // plan.sample_interval + len(marks(plan)) + 2
        self.rows = AccumulatedRows(most, len(self.columns))

    def begin(self) -> None:
        """The data path has started."""
        nodes = list(self.resolved.plan.nodes)
        target = self.session.target
        self.session.machines = [Machine(name="this machine", nodes=nodes, target=target)]
        self.session.woken = self.woken
        self.session.rings = True
        self.session.begin(self.columns, self.rows, ("set", "act", "look", "halt"))
        self.woken()

    def woken(self) -> None:
        """Pass on what is new."""
        with self._lock:
            self._send_orders()

    def _send_orders(self) -> None:
        session = self.session
        for flag, word in ((session.watched.is_set(), WATCH), (session.stopping, HALT)):
            if flag and word not in self._told:
                self._told.add(word)
                self.worker.order((word,))
        for asked in session.frame_requests():
            request = asked.request
            self._frames_asked[request.request] = asked
            self.worker.order((FRAMES, request.request, request.time_ps, request.most))
        for order in session.orders():
            number = order.request.request
            self._orders[number] = order
            self.worker.order((MAKE, number, order.step()))

    def on_report(self, news: tuple[Any, ...]) -> None:
        """Handle a report of the worker."""
        if news[0] == ROWS:
            self.rows.add(news[1], news[2])
            self.session.now_ps = int(news[1][-1])
            self.session.ring()
            return
        if news[0] == SEEN:
            if (asked := self._frames_asked.pop(news[1], None)) is not None:
                asked.reply_with(news[2])
            return
        report = news[1]
        order = self._orders.pop(report["number"])
        if (why := report.get("refused")) is not None:
            order.answer(self.session.answer(order.request, why))
        else:
            self.session.change(
                order, with_step(self.session.resolved, order.step(), report["at_ps"])
            )

    def end(self, recording: Recording) -> None:
        """The run is over: how far it came."""
        self.session.woken = lambda: None
        self.session.now_ps = int(recording.times_ps[-1])
