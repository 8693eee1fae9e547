"""Session of one run: state shared by its target, its feed and its caller.

The target reports stages and rows and executes orders; the feed reads and passes requests.
Everything here may be used from any thread.
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
from orchestrator.live import feed_messages
from orchestrator.live.live_changes import (
    ChangedPlan,
    ChangeRefused,
    LiveChanges,
    Step,
    refusal_text,
)
from orchestrator.live.sample_rows import NoRows, Rows
from orchestrator.plan import Action, ResolvedPlan
from orchestrator.progress import Progress
from orchestrator.recording import Column
from orchestrator.terminal import stall_sentences

MOST_LINES = 10_000
MOST_ANSWERS = 1000
"""Answers that are kept for retried requests."""


@dataclass
class Order:
    """A request that the target executes; it reports the outcome with `answer`."""

    request: feed_messages.SetValue | feed_messages.Act
    answer: Callable[[feed_messages.Answer], None]

    def step(self) -> Step:
        """The same as a step of a plan's timeline, without its time."""
        if isinstance(self.request, feed_messages.SetValue):
            return {"set": self.request.key, "to": self.request.to}
        return {self.request.verb: self.request.of}


@dataclass
class FramesRequest:
    """A request for captured frames, which the target answers."""

    request: feed_messages.FramesNear
    answer: Callable[[feed_messages.Reply], None]

    def reply_with(self, frames: list[feed_messages.CapturedFrame]) -> None:
        """Answer with these frames."""
        reply = feed_messages.CapturedFrames(
            run=self.request.run, request=self.request.request, frames=frames
        )
        self.answer(reply)


class Session:
    """Session of one run. `resolved` is the plan with all live changes."""

    def __init__(
        self,
        resolved: ResolvedPlan,
        target: str,
        pace: float | None = None,
        cores: int | None = None,
        datapath: str | None = None,
        stamps: str | None = None,
        launch: bool | None = False,
    ) -> None:
        self.run = secrets.token_hex(8)
        self.resolved = resolved
        self.target = target
        self.pace = pace
        self.cores = cores
        """Most cores that a real-time data path busy-polls on; None: all available."""
        self.datapath = datapath
        """Data path for real frames, of `orchestrator.live.datapath_options`; None: the default."""
        self.stamps = stamps
        """Source of timestamps, of `orchestrator.live.datapath_options`; None: the user-space
        clock."""
        self.launch = bool(launch)
        """NICs launch frames at their departure times (launch-time offload)."""
        self.plan_number = 0
        """Grows when the plan changes."""
        self.columns: Sequence[Column] = ()
        self.rows: Rows = NoRows()
        self.stage: feed_messages.Stage = "preparing"
        self.detail = ""
        self.now_ps = 0
        self.accepts: tuple[str, ...] = ("abort",)
        self.stopping = False
        self.aborted = False
        self.watched = threading.Event()
        """Set by the first watcher; until then a target need not export samples."""
        self.woken: Callable[[], None] = lambda: None
        """Callback of the target: an order, a stop or another pace is pending. Must be short."""
        self.ring: Callable[[], None] = lambda: None
        """Callback of the feed: there is news, such as rows. Must be short."""
        self.rings = False
        """The target wakes the feed for rows; if false, the feed polls."""
        self.abort: Callable[[], None] = lambda: None
        """Callback of the caller: ends the run at once."""
        self.events: list[feed_messages.RunEvent] = []
        self.lines: list[feed_messages.LogLine] = []
        self.machines: list[feed_messages.Machine] = []
        self.verdict: feed_messages.Judgement | None = None
        self.reason: str | None = None
        self.folder: str | None = None
        self.live_actions: list[Action] = []
        self._frames_asked: list[FramesRequest] = []
        self._orders: list[Order] = []
        self._answers: OrderedDict[str, feed_messages.Answer | None] = OrderedDict()
        self._lock = threading.Lock()

    # --- called by the target

    def begin(self, columns: Sequence[Column], rows: Rows, accepts: Sequence[str]) -> None:
        """Begin the run: its columns, the source of its rows, and the requests that it accepts."""
        self.columns, self.rows = columns, rows
        self.accepts = (*accepts, "abort")
        self.plan_number += 1
        self.stage = "running"
        self.ring()

    def report(self, progress: Progress) -> None:
        """Report progress, in the stages of `orchestrator.progress`."""
        known = {"compiling": "compiling", "writing": "writing", "drawing": "writing"}
        stage = known.get(progress.stage)
        if stage is not None and progress.done < 1:
            if self.stage != stage:
                self.ring()
            self.stage = cast(feed_messages.Stage, stage)
            if stage == "writing":
                self.accepts = ("abort",)
        self.detail = progress.detail

    def orders(self) -> list[Order]:
        """Take the pending orders, in the order of their requests."""
        with self._lock:
            found, self._orders = self._orders, []
        return found

    def frame_requests(self) -> list[FramesRequest]:
        """Take the pending requests for captured frames."""
        with self._lock:
            found, self._frames_asked = self._frames_asked, []
        return found

    async def carry_out(self, order: Order, changes: LiveChanges) -> None:
        """Execute an order, and answer it."""
        try:
            changed = await changes.make(order.step())
        except (BadInput, ChangeRefused) as error:
            order.answer(self.answer(order.request, refusal_text(error)))
        except asyncio.CancelledError:
            order.answer(self.answer(order.request, "the run is over"))
            raise
        else:
            self.change(order, changed)

    def change(self, order: Order, changed: ChangedPlan) -> None:
        """Add a live change to the plan and to the events, and answer its order."""
        self.resolved, action = changed
        self.live_actions.append(action)
        self.plan_number += 1
        detail: dict[str, Any] = {"to": action.to} if action.to is not None else {}
        self.happened(action.at, action.verb, action.key, detail | {"live": True})
        order.answer(self.answer(order.request, at_ps=action.at))

    def happened(self, time_ps: int, what: str, entity: str, detail: dict[str, Any]) -> None:
        """Add an event that is not in the plan."""
        with self._lock:
            self.events.append(
                feed_messages.RunEvent(
                    run=self.run,
                    number=len(self.events),
                    time_ps=time_ps,
                    what=what,
                    entity=entity,
                    detail=detail,
                )
            )
        self.ring()

    # --- called by the feed

    def ask(self, request: Any, answer: Callable[[feed_messages.Reply], None]) -> None:
        """Take a request; `answer` is called once, possibly from another thread.

        A retry of a request that changes the run gets the first answer, or none yet.
        """
        if isinstance(request, feed_messages.FramesNear):
            if (refusal := self._refusal(request)) is not None:
                answer(self.answer(request, refusal))
                return
            with self._lock:
                self._frames_asked.append(FramesRequest(request, answer))
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

        def reply(done: feed_messages.Answer) -> None:
            with self._lock:
                self._answers[request.request] = done
            answer(done)

        if (refusal := self._refusal(request)) is not None:
            reply(self.answer(request, refusal))
        elif isinstance(request, feed_messages.SetValue | feed_messages.Act):
            with self._lock:
                self._orders.append(Order(request, reply))
            self.woken()
        else:
            self._at_once(request, reply)

    def _refusal(self, request: Any) -> str | None:
        if request.kind in self.accepts:
            return None
        if self.stage not in feed_messages.LIVE:
            return f"the run is over ({self.stage})"
        return (
            f"not now, while it is {self.stage}"
            if self.stage != "running"
            else (f"target {self.target} cannot do that")
        )

    def _at_once(self, request: Any, reply: Callable[[feed_messages.Answer], None]) -> None:
        if isinstance(request, feed_messages.Pace):
            self.pace = request.factor
        elif isinstance(request, feed_messages.Stop):
            self.stopping = True
        reply(self.answer(request))
        self.woken()
        if isinstance(request, feed_messages.Abort):
            self.aborted = True
            self.say("the run is aborted", "warning")
            self.abort()

    def answer(
        self, request: Any, refusal: str | None = None, at_ps: int | None = None
    ) -> feed_messages.Answer:
        """An answer to a request: done, unless there is a refusal."""
        return feed_messages.Answer(
            run=self.run,
            request=request.request,
            done=refusal is None,
            at_ps=at_ps,
            text=(refusal or "")[:4000],
        )

    def state(self, watchers: int = 0) -> feed_messages.RunState:
        """Progress as a message."""
        plan = self.resolved.plan
        return feed_messages.RunState(
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

    def described(self) -> feed_messages.RunDescription:
        """The plan and the columns, as a message."""
        return feed_messages.RunDescription(
            run=self.run,
            plan_text=self.resolved.plan.to_toml(),
            columns=[
                feed_messages.ColumnName(
                    node=c.node,
                    entity=c.entity,
                    quantity=c.quantity,
                    unit=c.unit,
                    kind="gauge" if c.kind == "gauge" else "counter",
                )
                for c in self.columns
            ],
        )

    # --- called by the owner of the run

    def say(self, text: str, level: feed_messages.Level = "info") -> None:
        """Add a line to the log."""
        with self._lock:
            if len(self.lines) < MOST_LINES:
                self.lines.append(
                    feed_messages.LogLine(
                        run=self.run, number=len(self.lines), level=level, text=text[:4000]
                    )
                )
        self.ring()

    def judged(self, result: dict[str, Any], folder: str | None) -> None:
        """End the session of a run that was kept, with its result."""
        rows = [feed_messages.Row.model_validate(row) for row in result["expectations"]]
        self.verdict = feed_messages.Judgement(
            run=self.run,
            final=True,
            verdict=result["verdict"],
            rows=rows,
            fidelity={
                "verdict": result["fidelity"]["verdict"],
                "reasons": result["fidelity"].get("reasons", []),
                **stall_sentences.as_entry(result["fidelity"]),
            },
        )
        self.folder = folder
        self.over("done")

    def failed(self, error: BaseException) -> None:
        """End the session of a run without a result."""
        self.reason = str(error) if isinstance(error, TailbackError) else type(error).__name__
        aborted = isinstance(error, KeyboardInterrupt)
        self.reason = "aborted; nothing was kept" if aborted else self.reason
        self.over("aborted" if aborted else "failed")

    def over(self, stage: str) -> None:
        """End the session: refuse the pending and all further requests."""
        assert stage in get_args(feed_messages.Stage)
        self.accepts = ()
        self.stage = cast(feed_messages.Stage, stage)
        for order in self.orders():
            order.answer(self.answer(order.request, f"the run is over ({stage})"))
        for asked in self.frame_requests():
            asked.answer(self.answer(asked.request, f"the run is over ({stage})"))
        self.ring()
