"""Session of one run: state shared by its target, its feed and its caller.

The target reports stages and rows and takes orders; the feed reads and asks. Everything here may
be used from any thread.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from orchestrator.errors import BadInput, TailbackError
from orchestrator.live import protocol
from orchestrator.live.changes import Changed, LiveChanges, NotMade, Step, in_one_line
from orchestrator.live.rows import NoRows, Rows
from orchestrator.plan import Action, ResolvedPlan
from orchestrator.progress import Progress
from orchestrator.recording import Column
from orchestrator.terminal import stalls

MOST_LINES = 10_000
MOST_ANSWERS = 1000
"""Answers that are kept for requests that are asked again."""


@dataclass
class Order:
    """A request that the target is to carry out; it says how that went with `answer`."""

    request: protocol.SetValue | protocol.Act
    answer: Callable[[protocol.Answer], None]

    def step(self) -> Step:
        """The same as a step of a plan's timeline, without its time."""
        if isinstance(self.request, protocol.SetValue):
            return {"set": self.request.key, "to": self.request.to}
        return {self.request.verb: self.request.of}


@dataclass
class FramesAsked:
    """A request for captured frames; the target says which with `answer`."""

    request: protocol.FramesNear
    answer: Callable[[protocol.Reply], None]

    def found(self, frames: list[protocol.Captured]) -> None:
        """These are they."""
        told = protocol.Frames(run=self.request.run, request=self.request.request, frames=frames)
        self.answer(told)


class Session:
    """See the module. `resolved` is the plan with everything that was changed live."""

    def __init__(
        self,
        resolved: ResolvedPlan,
        target: str,
        pace: float | None = None,
        cores: int | None = None,
        datapath: str | None = None,
        stamps: str | None = None,
        launch: bool = False,
    ) -> None:
        self.run = secrets.token_hex(8)
        self.resolved = resolved
        self.target = target
        self.pace = pace
        self.cores = cores
        """That a data path in real time spins on at most; None: all that it can use."""
        self.datapath = datapath
        """What is to carry real frames, of `orchestrator.live.datapaths`; None: the ordinary."""
        self.stamps = stamps
        """Who is to take times of frames, of `orchestrator.live.stamps`; None: nobody."""
        self.launch = launch
        """Whether NICs are to launch frames at their times."""
        self.plan_number = 0
        """Grows when the plan changes."""
        self.columns: Sequence[Column] = ()
        self.rows: Rows = NoRows()
        self.stage: protocol.Stage = "preparing"
        self.detail = ""
        self.now_ps = 0
        self.accepts: tuple[str, ...] = ("abort",)
        self.stopping = False
        self.aborted = False
        self.watched = threading.Event()
        """Set when somebody watches: before that a target need not hand anything out."""
        self.woken: Callable[[], None] = lambda: None
        """The target's: an order, a stop or another pace waits for it. Keep it short."""
        self.ring: Callable[[], None] = lambda: None
        """The feed's: there is news, such as rows. Keep it short."""
        self.rings = False
        """Does the target ring for rows? Otherwise the feed looks for them."""
        self.abort: Callable[[], None] = lambda: None
        """Ends the run at once, whatever it does; of whoever started it."""
        self.events: list[protocol.Happened] = []
        self.lines: list[protocol.Said] = []
        self.machines: list[protocol.Machine] = []
        self.verdict: protocol.Judged | None = None
        self.reason: str | None = None
        self.folder: str | None = None
        self.live_actions: list[Action] = []
        self._frames_asked: list[FramesAsked] = []
        self._orders: list[Order] = []
        self._answers: OrderedDict[str, protocol.Answer | None] = OrderedDict()
        self._lock = threading.Lock()

    # --- of the target

    def begin(self, columns: Sequence[Column], rows: Rows, accepts: Sequence[str]) -> None:
        """The run is under way: what is sampled, where to read it, what it can be asked."""
        self.columns, self.rows = columns, rows
        self.accepts = (*accepts, "abort")
        self.plan_number += 1
        self.stage = "running"
        self.ring()

    def report(self, progress: Progress) -> None:
        """How far it is, in the words of `orchestrator.progress`."""
        known = {"compiling": "compiling", "writing": "writing", "drawing": "writing"}
        stage = known.get(progress.stage)
        if stage is not None and progress.done < 1:
            if self.stage != stage:
                self.ring()
            self.stage = cast(protocol.Stage, stage)
            if stage == "writing":
                self.accepts = ("abort",)
        self.detail = progress.detail

    def orders(self) -> list[Order]:
        """What is to be done, in the order in which it was asked."""
        with self._lock:
            found, self._orders = self._orders, []
        return found

    def frames_asked(self) -> list[FramesAsked]:
        """Who wants to see frames."""
        with self._lock:
            found, self._frames_asked = self._frames_asked, []
        return found

    async def carry_out(self, order: Order, changes: LiveChanges) -> None:
        """Have an order carried out, and answer it."""
        try:
            changed = await changes.make(order.step())
        except (BadInput, NotMade) as error:
            order.answer(self.answer(order.request, in_one_line(error)))
        except asyncio.CancelledError:
            order.answer(self.answer(order.request, "the run is over"))
            raise
        else:
            self.change(order, changed)

    def change(self, order: Order, changed: Changed) -> None:
        """A live change is made: it belongs to the plan now, is an event, and is answered."""
        self.resolved, action = changed
        self.live_actions.append(action)
        self.plan_number += 1
        detail: dict[str, Any] = {"to": action.to} if action.to is not None else {}
        self.happened(action.at, action.verb, action.key, detail | {"live": True})
        order.answer(self.answer(order.request, at_ps=action.at))

    def happened(self, time_ps: int, what: str, entity: str, detail: dict[str, Any]) -> None:
        """An event that is not in the plan."""
        with self._lock:
            self.events.append(
                protocol.Happened(
                    run=self.run,
                    number=len(self.events),
                    time_ps=time_ps,
                    what=what,
                    entity=entity,
                    detail=detail,
                )
            )
        self.ring()

    # --- of the feed

    def ask(self, request: Any, answer: Callable[[protocol.Reply], None]) -> None:
        """Take a request; `answer` is called once, maybe from another thread.

        One that changes the run and was asked before is answered as before, or not yet.
        """
        if isinstance(request, protocol.FramesNear):
            if (refusal := self._refusal(request)) is not None:
                answer(self.answer(request, refusal))
                return
            with self._lock:
                self._frames_asked.append(FramesAsked(request, answer))
            self.woken()
            return
        with self._lock:
            if request.request in self._answers:
                known = self._answers[request.request]
                if known is not None:
                    answer(known)
                return
            self._answers[request.request] = None
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)

        def reply(done: protocol.Answer) -> None:
            with self._lock:
                self._answers[request.request] = done
            answer(done)

        if (refusal := self._refusal(request)) is not None:
            reply(self.answer(request, refusal))
        elif isinstance(request, protocol.SetValue | protocol.Act):
            with self._lock:
                self._orders.append(Order(request, reply))
            self.woken()
        else:
            self._at_once(request, reply)

    def _refusal(self, request: Any) -> str | None:
        if request.kind in self.accepts:
            return None
        if self.stage not in protocol.LIVE:
            return f"the run is over ({self.stage})"
        return (
            f"not now, while it is {self.stage}"
            if self.stage != "running"
            else (f"target {self.target} cannot do that")
        )

    def _at_once(self, request: Any, reply: Callable[[protocol.Answer], None]) -> None:
        if isinstance(request, protocol.Pace):
            self.pace = request.factor
        elif isinstance(request, protocol.Stop):
            self.stopping = True
        reply(self.answer(request))
        self.woken()
        if isinstance(request, protocol.Abort):
            self.aborted = True
            self.say("the run is aborted", "warning")
            self.abort()

    def answer(
        self, request: Any, refusal: str | None = None, at_ps: int | None = None
    ) -> protocol.Answer:
        """An answer to a request: done, unless there is a refusal."""
        return protocol.Answer(
            run=self.run,
            request=request.request,
            done=refusal is None,
            at_ps=at_ps,
            text=(refusal or "")[:4000],
        )

    def state(self, watchers: int = 0) -> protocol.RunState:
        """How far it is, as a message."""
        plan = self.resolved.plan
        return protocol.RunState(
            run=self.run,
            plan=plan.name,
            target=self.target,
            seed=plan.seed,
            stage=self.stage,
            detail=self.detail,
            now_ps=self.now_ps,
            duration_ps=plan.duration,
            pace=self.pace,
            accepts=list(self.accepts),
            machines=self.machines,
            watchers=watchers,
            verdict=self.verdict.verdict if self.verdict else None,
            folder=self.folder,
            reason=self.reason,
        )

    def described(self) -> protocol.Described:
        """The plan and the columns, as a message."""
        return protocol.Described(
            run=self.run,
            plan_text=self.resolved.plan.to_toml(),
            columns=[
                protocol.ColumnName(
                    node=c.node,
                    entity=c.entity,
                    quantity=c.quantity,
                    unit=c.unit,
                    kind="gauge" if c.kind == "gauge" else "counter",
                )
                for c in self.columns
            ],
        )

    # --- of whoever started the run

    def say(self, text: str, level: protocol.Level = "info") -> None:
        """A line for people."""
        with self._lock:
            if len(self.lines) < MOST_LINES:
                self.lines.append(
                    protocol.Said(
                        run=self.run, number=len(self.lines), level=level, text=text[:4000]
                    )
                )
        self.ring()

    def judged(self, result: dict[str, Any], folder: str | None) -> None:
        """The run is over and was kept: what it came to."""
        rows = [protocol.Row.model_validate(row) for row in result["expectations"]]
        self.verdict = protocol.Judged(
            run=self.run,
            final=True,
            verdict=result["verdict"],
            rows=rows,
            fidelity={
                "verdict": result["fidelity"]["verdict"],
                "reasons": result["fidelity"].get("reasons", []),
                **stalls.as_entry(result["fidelity"]),
            },
        )
        self.folder = folder
        self.over("done")

    def failed(self, error: BaseException) -> None:
        """The run is over without a result."""
        self.reason = str(error) if isinstance(error, TailbackError) else type(error).__name__
        aborted = isinstance(error, KeyboardInterrupt)
        self.reason = "aborted; nothing was kept" if aborted else self.reason
        self.over("aborted" if aborted else "failed")

    def over(self, stage: str) -> None:
        """Nothing can be asked any more; what still waits is refused."""
        assert stage in get_args(protocol.Stage)
        self.accepts = ()
        self.stage = cast(protocol.Stage, stage)
        for order in self.orders():
            order.answer(self.answer(order.request, f"the run is over ({stage})"))
        for asked in self.frames_asked():
            asked.answer(self.answer(asked.request, f"the run is over ({stage})"))
        self.ring()
