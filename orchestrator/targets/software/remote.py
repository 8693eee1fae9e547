"""The live side of a software run in the parent: between session and the worker's attendant."""

from __future__ import annotations

from typing import Any

from orchestrator.assembly.columns import probes
from orchestrator.assembly.names import Indices
from orchestrator.assembly.timeline import marks
from orchestrator.live.protocol import Act, Machine
from orchestrator.live.rows import KeptRows
from orchestrator.live.session import Looked, Order, Session
from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Recording
from orchestrator.targets.software.attendant import CHANGE, LOOK, MADE, ROWS, SEEN, STOP, WATCH
from orchestrator.targets.software.launch import Worker


class Remote:
    """See the module. `woken` is called from the feed's thread, all else from the main one."""

    def __init__(self, session: Session, worker: Worker, resolved: ResolvedPlan) -> None:
        self.session, self.worker, self.resolved = session, worker, resolved
        self._told: set[str] = set()
        self._orders: dict[str, Order] = {}
        self._looks: dict[str, Looked] = {}
        plan = resolved.plan
        self.columns = [probe.column for probe in probes(resolved, Indices(plan))]
        most = plan.duration // plan.sample_interval + len(marks(plan)) + 2
        self.rows = KeptRows(most, len(self.columns))

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
        session = self.session
        for flag, word in ((session.watched.is_set(), WATCH), (session.stopping, STOP)):
            if flag and word not in self._told:
                self._told.add(word)
                self.worker.order((word,))
        for look in session.looks():
            self._looks[look.request.request] = look
            self.worker.order((LOOK, look.request.request, look.request.time_ps, look.request.most))
        for order in session.orders():
            request = order.request
            if isinstance(request, Act) and request.verb in ("start", "stop"):
                lack = "target software cannot start or stop traffic that the plan does not"
                order.answer(session.answer(request, lack))
                continue
            self._orders[request.request] = order
            self.worker.order((CHANGE, request.request, order.step()))

    def hear(self, news: tuple[Any, ...]) -> None:
        """What the attendant reports."""
        if news[0] == ROWS:
            self.rows.add(news[1], news[2])
            self.session.now_ps = int(news[1][-1])
            self.session.ring()
            return
        if news[0] == SEEN:
            if (look := self._looks.pop(news[1], None)) is not None:
                look.found(news[2])
            return
        order = self._orders.pop(news[1])
        if news[0] == MADE:
            self.session.change(order, news[2])
        else:
            order.answer(self.session.answer(order.request, news[2]))

    def end(self, recording: Recording) -> None:
        """The run is over: how far it came."""
        self.session.woken = lambda: None
        self.session.now_ps = int(recording.times_ps[-1])
