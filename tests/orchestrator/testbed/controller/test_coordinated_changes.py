"""Orders to a run across machines: agents made up, which answer as they are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.live import feed_messages
from orchestrator.live.command_slots import EVERY_PS
from orchestrator.live.live_session import Session
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.testbed.agent.agent_messages import Change, Changed
from orchestrator.testbed.controller.coordinated_changes import (
    ACCEPTS,
    ALLOWANCES_PS,
    ChangeCoordinator,
)
from orchestrator.testbed.wire.rpc_client import Refusal, Unanswered
from tests.orchestrator.worlds import MS, line_of_three
from tests.patience import PATIENCE_S

LASTS = 20_000 * MS
NOW = 1_000 * MS
Answering = Callable[[Change], dict[str, Any] | Exception]


class Agent:
    """One machine: `answers` says what becomes of a change; `asked` keeps what was wanted."""

    def __init__(self) -> None:
        self.asked: list[Change] = []
        self.halted = 0
        self.answers: Answering = lambda wanted: {"at_ps": wanted.at_ps or NOW}
        self.pulse = SimpleNamespace(changes=[])
        self.asker = self

    async def ask(self, kind: str, body: Any, within_s: float) -> None:
        if kind == "halt":
            self.halted += 1
            return
        self.asked.append(body)
        answer = self.answers(body)
        if isinstance(answer, Exception):
            raise answer
        self.pulse.changes.append(Changed(number=body.number, **answer))

    async def beat(self, within_s: float) -> None:
        """Nothing is new."""


class Bed:
    """Two machines and a session that is asked."""

    def __init__(self, pace: float = 1.0) -> None:
        table = line_of_three(duration=LASTS, sample_interval=MS)
        resolved = Plan.load(Plan(**table).check(Registry.load()).plan.to_toml()).check(
            Registry.load()
        )
        self.agents = {"left": Agent(), "right": Agent()}
        leases = {"left": "11111111", "right": "22222222"}
        self.run: Any = SimpleNamespace(
            shares=[],
            timing={},
            resolved=resolved,
            peers=self.agents,
            leases=leases,
            pace=pace,
            cancel=lambda: None,
        )
        self.session = Session(resolved, "software")
        self.session.accepts, self.session.stage = ACCEPTS, "running"
        self.answers: list[feed_messages.Answer] = []

    def ask(self, *requests: Any, within_s: float = PATIENCE_S) -> list[feed_messages.Answer]:
        """Have requests carried out."""

        async def asking() -> None:
            orders = ChangeCoordinator(self.run, self.session)
            serving = asyncio.create_task(orders.serve())
            for request in requests:
                self.session.ask(request, self.answers.append)  # type: ignore[arg-type]
            end = asyncio.get_running_loop().time() + within_s
            while len(self.answers) < len(requests) and asyncio.get_running_loop().time() < end:
                await asyncio.sleep(0.005)
            if self.session.stopping:
                await asyncio.sleep(0.05)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

        asyncio.run(asking())
        return self.answers

    def done(self) -> list[tuple[int, str]]:
        """What the plan has of changes."""
        return [(a.at, a.verb) for a in self.session.resolved.actions]


CUT = feed_messages.Act(request="1", verb="cut", of="up")
MEND = feed_messages.Act(request="2", verb="mend", of="up")


def late(times: int) -> Answering:
    """Too late for the first so many instants."""
    left = [times]

    def answers(wanted: Change) -> dict[str, Any] | Exception:
        if wanted.at_ps is None:
            return {"at_ps": NOW}
        left[0] -= 1
        return {"late": True} if left[0] >= 0 else {"at_ps": wanted.at_ps}

    return answers


def slot(after: int) -> int:
    """The first slot from a time on."""
    return -(-after // EVERY_PS) * EVERY_PS


@pytest.mark.parametrize("pace", [1.0, 0.1])
def test_all_machines_make_a_change_at_one_time_that_suits_the_slowest(pace: float) -> None:
    bed = Bed(pace)
    bed.agents["right"].answers = lambda wanted: {"at_ps": wanted.at_ps or NOW + 500 * MS}
    answers = bed.ask(CUT, MEND)
    at = slot(NOW + 500 * MS + int(ALLOWANCES_PS[0] * pace))
    assert [(answer.done, answer.at_ps) for answer in answers] == [(True, at), (True, at)]
    for agent in bed.agents.values():
        assert [wanted.at_ps for wanted in agent.asked] == [None, at] * 2
        assert agent.asked[1].change != agent.asked[3].change
    assert bed.done() == [(at, "cut"), (at, "mend")]
    assert [(e.time_ps, e.what) for e in bed.session.events] == bed.done()


def test_who_is_too_late_gets_all_of_them_a_later_time() -> None:
    bed = Bed()
    bed.agents["right"].answers = late(1)
    (answer,) = bed.ask(CUT)
    first, second = (slot(NOW + allowance) for allowance in ALLOWANCES_PS[:2])
    assert answer.at_ps == second
    assert bed.done() == [(second, "cut")]
    for agent in bed.agents.values():
        assert [wanted.at_ps for wanted in agent.asked] == [None, first, None, second]
        assert agent.asked[1].change == agent.asked[3].change, "it takes the place of itself"


def test_who_is_always_too_late_is_named_and_nothing_is_changed() -> None:
    bed = Bed()
    bed.agents["right"].answers = late(99)
    (answer,) = bed.ask(CUT)
    assert (answer.done, answer.text) == (False, "agent right: the order came too late 3 times")
    assert not bed.done()


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"refused": "no room"}, "agent right: no room"),
        (Refusal("agent right", "lease", "it has no lease"), "may have been made on other"),
        (Unanswered("agent right", "no answer"), "may have been made on other machines"),
    ],
)
def test_what_one_machine_refuses_is_refused(said: Any, text: str) -> None:
    bed = Bed()
    bed.agents["right"].answers = lambda wanted: said
    (answer,) = bed.ask(CUT)
    assert not answer.done
    assert text in answer.text
    assert not bed.done()
    assert not bed.session.events


def test_near_the_end_there_is_no_time_for_it() -> None:
    bed = Bed()
    for agent in bed.agents.values():
        agent.answers = lambda wanted: {"at_ps": LASTS - MS}
    (answer,) = bed.ask(CUT)
    assert (answer.done, answer.text) == (False, "the run is at its end")


def test_a_mistake_in_the_change_is_found_without_asking_anybody() -> None:
    bed = Bed()
    asked = [
        (feed_messages.Act(request="1", verb="cut", of="upp"), "did you mean up"),
        (
            feed_messages.Act(request="2", verb="stop", of="gen"),
            "target software cannot start or stop traffic that the plan does not",
        ),
    ]
    answers = bed.ask(*(request for request, _ in asked))
    for answer, (_, text) in zip(answers, asked, strict=True):
        assert not answer.done
        assert text in answer.text
    assert not any(agent.asked for agent in bed.agents.values())


def test_what_waits_when_the_run_ends_is_answered() -> None:
    bed = Bed()

    async def never(kind: str, body: Any, within_s: float) -> None:
        await asyncio.sleep(60)

    for agent in bed.agents.values():
        agent.ask = never  # type: ignore[method-assign]
    (answer,) = bed.ask(CUT, within_s=0.5)
    assert (answer.done, answer.text) == (False, "the run is over")


def test_the_end_reaches_every_machine_once() -> None:
    bed = Bed()
    bed.ask(feed_messages.Stop(request="1"), feed_messages.Stop(request="2"))
    assert [agent.halted for agent in bed.agents.values()] == [1, 1]
