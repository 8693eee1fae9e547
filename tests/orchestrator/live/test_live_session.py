"""The session of a run: stages, requests and their answers, its log, and its end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.live import feed_messages
from orchestrator.live.live_changes import ChangeRefused
from orchestrator.live.live_session import MOST_ANSWERS, MOST_LINES, Session
from orchestrator.live.sample_rows import NoRows
from orchestrator.progress import Progress
from orchestrator.recording import Column

ACCEPTS = ("set", "act", "look", "pace", "halt")


class Asked:
    """A session with a made-up plan; counts what wakes its target and its feed."""

    def __init__(self, begun: bool = True) -> None:
        plan = SimpleNamespace(name="mine", seed=7, duration=99, to_toml=lambda: "text")
        resolved: Any = SimpleNamespace(plan=plan)
        self.session = Session(resolved, "simulated", pace=2.0)
        self.woken = self.rung = self.aborted = 0
        self.answers: list[Any] = []
        self.session.woken = self._woke
        self.session.ring = self._ring
        self.session.abort = self._abort
        if begun:
            columns = [Column("n", "e", "q", "B", "gauge"), Column("n", "e", "c", "1", "counter")]
            self.session.begin(columns, NoRows(), ACCEPTS)

    def _woke(self) -> None:
        self.woken += 1

    def _ring(self) -> None:
        self.rung += 1

    def _abort(self) -> None:
        self.aborted += 1

    def ask(self, request: Any) -> None:
        self.session.ask(request, self.answers.append)


@pytest.fixture
def asked() -> Asked:
    return Asked()


def set_value(number: str = "r1") -> feed_messages.SetValue:
    return feed_messages.SetValue(request=number, key="nodes.s.buffer", to="20KB")


def test_a_run_that_begins_is_described(asked: Asked) -> None:
    session = asked.session
    assert (session.stage, session.accepts) == ("running", (*ACCEPTS, "abort"))
    assert (session.plan_number, asked.rung) == (1, 1)
    state = session.state(watchers=3)
    assert (state.plan, state.seed, state.duration_ps) == ("mine", 7, 99)
    assert (state.target, state.pace, state.watchers) == ("simulated", 2.0, 3)
    assert (state.verdict, state.folder, state.reason) == (None, None, None)
    assert state.accepts == [*ACCEPTS, "abort"]
    described = session.described()
    assert described.plan_text == "text"
    assert [(c.quantity, c.kind, c.unit) for c in described.columns] == [
        ("q", "gauge", "B"),
        ("c", "counter", "1"),
    ]
    assert len({Asked().session.run for _ in range(3)}) == 3


def test_stages_follow_the_progress_and_writing_takes_no_more_changes(asked: Asked) -> None:
    session = asked.session
    asked.rung = 0
    session.report(Progress("running", 0.5, "half"))
    assert (session.stage, session.detail, asked.rung) == ("running", "half", 0)
    session.report(Progress("compiling", 0.5, "x"))
    assert (session.stage, asked.rung) == ("compiling", 1)
    session.report(Progress("compiling", 0.6, "y"))
    assert (session.detail, asked.rung) == ("y", 1)
    session.report(Progress("writing", 1.0, "done"))
    assert (session.stage, session.accepts) == ("compiling", (*ACCEPTS, "abort"))
    session.report(Progress("drawing", 0.1, "z"))
    assert (session.stage, session.accepts) == ("writing", ("abort",))


def test_a_change_is_an_order_for_the_target(asked: Asked) -> None:
    asked.ask(set_value())
    act = feed_messages.Act(request="r2", verb="cut", of="up")
    asked.ask(act)
    assert (asked.woken, asked.answers) == (2, [])
    first, second = asked.session.orders()
    assert first.step() == {"set": "nodes.s.buffer", "to": "20KB"}
    assert second.step() == {"cut": "up"}
    assert asked.session.orders() == []
    first.answer(asked.session.answer(first.request, at_ps=5))
    assert [(one.request, one.done, one.at_ps) for one in asked.answers] == [("r1", True, 5)]


def test_a_request_that_is_repeated_gets_the_first_answer(asked: Asked) -> None:
    asked.ask(set_value())
    asked.ask(set_value())
    (only,) = asked.session.orders()
    assert asked.answers == [], "it is not known yet"
    only.answer(asked.session.answer(only.request, at_ps=5))
    asked.ask(set_value())
    assert [one.at_ps for one in asked.answers] == [5, 5]
    assert asked.session.orders() == []


def test_answers_of_the_last_requests_are_kept(asked: Asked) -> None:
    for number in range(MOST_ANSWERS + 1):
        asked.ask(feed_messages.Pace(request=f"p{number}", factor=3.0))
    assert len(asked.answers) == asked.woken == MOST_ANSWERS + 1
    asked.ask(feed_messages.Pace(request="p1", factor=4.0))
    assert (asked.session.pace, asked.woken) == (3.0, MOST_ANSWERS + 1), "a repetition"
    asked.ask(feed_messages.Pace(request="p0", factor=4.0))
    assert (asked.session.pace, asked.woken) == (4.0, MOST_ANSWERS + 2), "no longer known"


def test_pace_stop_and_abort_act_at_once(asked: Asked) -> None:
    asked.ask(feed_messages.Pace(request="a", factor=None))
    assert asked.session.pace is None
    assert not asked.session.stopping
    asked.ask(feed_messages.Stop(request="b"))
    assert (asked.session.stopping, asked.session.aborted, asked.aborted) == (True, False, 0)
    asked.ask(feed_messages.Abort(request="c"))
    assert (asked.session.aborted, asked.aborted, asked.woken) == (True, 1, 3)
    assert all(one.done and one.text == "" for one in asked.answers)
    assert [(line.text, line.level) for line in asked.session.lines] == [
        ("the run is aborted", "warning")
    ]


def test_captured_frames_are_asked_of_the_target(asked: Asked) -> None:
    for _ in range(2):
        asked.ask(feed_messages.FramesNear(request="f", time_ps=5, most=3))
    assert asked.woken == 2
    first, second = asked.session.frame_requests()
    assert asked.session.frame_requests() == []
    frame = feed_messages.CapturedFrame(port="p", time_ps=5, outgoing=True, length=2, octets="00")
    first.reply_with([frame])
    second.reply_with([])
    assert [(one.request, len(one.frames)) for one in asked.answers] == [("f", 1), ("f", 0)]


@pytest.mark.parametrize(
    ("accepts", "stage", "text"),
    [
        ((), "running", "target simulated cannot do that"),
        ((), "preparing", "not now, while it is preparing"),
        ((), "writing", "not now, while it is writing"),
        ((), "done", "the run is over (done)"),
    ],
)
@pytest.mark.parametrize("request_", [set_value(), feed_messages.FramesNear(time_ps=1, most=1)])
def test_what_is_not_accepted_is_refused(
    asked: Asked, accepts: tuple[str, ...], stage: Any, text: str, request_: Any
) -> None:
    asked.session.accepts, asked.session.stage = accepts, stage
    asked.ask(request_)
    ((only),) = asked.answers
    assert (only.done, only.text, asked.woken) == (False, text, 0)
    assert asked.session.orders() == asked.session.frame_requests() == []


class Changes:
    """Changes that end as they are made to."""

    def __init__(self, outcome: Any) -> None:
        self.outcome, self.steps = outcome, list[Any]()

    async def make(self, step: Any) -> Any:
        self.steps.append(step)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


def carried_out(asked: Asked, outcome: Any) -> Changes:
    asked.ask(set_value())
    (order,) = asked.session.orders()
    changes: Any = Changes(outcome)
    asyncio.run(asked.session.carry_out(order, changes))
    return changes


def test_an_order_that_is_carried_out_is_a_change_of_the_plan_and_an_event(asked: Asked) -> None:
    action = SimpleNamespace(at=50, verb="set", key="nodes.s.buffer", to=20_000)
    other = SimpleNamespace(plan=None)
    asked.rung = 0
    changes = carried_out(asked, (other, action))
    session = asked.session
    assert changes.steps == [{"set": "nodes.s.buffer", "to": "20KB"}]
    assert session.resolved is other
    assert (session.live_actions, session.plan_number, asked.rung) == ([action], 2, 1)
    (event,) = session.events
    assert (event.number, event.time_ps, event.what) == (0, 50, "set")
    assert (event.entity, event.detail) == ("nodes.s.buffer", {"to": 20_000, "live": True})
    assert [(one.done, one.at_ps) for one in asked.answers] == [(True, 50)]
    carried_out_again = SimpleNamespace(at=60, verb="cut", key="up", to=None)
    asked.ask(feed_messages.Act(request="r9", verb="cut", of="up"))
    (order,) = session.orders()
    session.change(order, (other, carried_out_again))  # type: ignore[arg-type]
    assert (session.events[1].number, session.events[1].detail) == (1, {"live": True})


@pytest.mark.parametrize(
    "error", [ChangeRefused("no room"), BadInput("nodes.s.buffer", "is too small")]
)
def test_an_order_that_is_refused_is_answered_with_the_reason(
    asked: Asked, error: Exception
) -> None:
    carried_out(asked, error)
    ((only),) = asked.answers
    assert not only.done
    assert only.text
    assert "no room" in only.text or "too small" in only.text
    assert (asked.session.events, asked.session.live_actions) == ([], [])


def test_an_order_that_the_end_cuts_short_is_answered(asked: Asked) -> None:
    with pytest.raises(asyncio.CancelledError):
        carried_out(asked, asyncio.CancelledError())
    assert [(one.done, one.text) for one in asked.answers] == [(False, "the run is over")]


def test_the_log_has_its_lines_in_order_up_to_the_most(asked: Asked) -> None:
    asked.rung = 0
    asked.session.say("x" * 5000)
    asked.session.say("y", "error")
    (one, other) = asked.session.lines
    assert (one.number, one.level, len(one.text)) == (0, "info", 4000)
    assert (other.number, other.level, asked.rung) == (1, "error", 2)
    for _ in range(MOST_LINES):
        asked.session.say("z")
    assert len(asked.session.lines) == MOST_LINES
    assert asked.rung == MOST_LINES + 2


def test_the_end_refuses_what_is_pending(asked: Asked) -> None:
    asked.ask(set_value())
    asked.ask(feed_messages.FramesNear(request="f", time_ps=1, most=1))
    result = {
        "expectations": [{"metric": "m", "of": "o", "phase": "run", "met": True, "more": 1}],
        "verdict": "met",
        "fidelity": {"verdict": "valid"},
    }
    asked.session.judged(result, "folder")
    texts = [(one.done, one.text) for one in asked.answers]
    assert texts == [(False, "the run is over (done)")] * 2
    state = asked.session.state()
    assert (state.stage, state.verdict, state.folder) == ("done", "met", "folder")
    verdict = asked.session.verdict
    assert verdict is not None
    assert (verdict.final, verdict.rows[0].met) == (True, True)
    assert verdict.fidelity["verdict"] == "valid"
    assert verdict.fidelity["reasons"] == []
    assert asked.session.accepts == ()


@pytest.mark.parametrize(
    ("error", "stage", "reason"),
    [
        (KeyboardInterrupt(), "aborted", "aborted; nothing was kept"),
        (BadInput("plan", "is none"), "failed", "plan: is none"),
        (ZeroDivisionError("secret"), "failed", "ZeroDivisionError"),
    ],
)
def test_a_run_without_a_result_has_a_reason(
    asked: Asked, error: BaseException, stage: str, reason: str
) -> None:
    asked.session.failed(error)
    assert (asked.session.stage, asked.session.reason) == (stage, reason)
    assert asked.session.verdict is None
