"""How much is remembered of what was answered, exactly, and what goes first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import Field

from orchestrator.testbed.wire import envelope, rpc_server
from orchestrator.testbed.wire.envelope import Request, Unacceptable, WireMessage
from orchestrator.testbed.wire.rpc_server import (
    ANSWERS,
    AnswerCache,
    Handler,
    Reply,
    RequestDispatcher,
)


class Asked:
    """A memory, and how often something was really done."""

    def __init__(self) -> None:
        self.memory, self.done = AnswerCache(), 0

    def ask(self, session: str, number: int = 1, peer: str = "peer") -> list[bytes]:
        def make() -> list[bytes]:
            self.done += 1
            return [f"{self.done}".encode()]

        return self.memory.answer(peer, session, number, make)

    def is_done_again(self, session: str, number: int = 1, peer: str = "peer") -> bool:
        before = self.done
        self.ask(session, number, peer)
        return self.done > before


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.setattr(rpc_server, "SESSIONS", 3)
    monkeypatch.setattr(rpc_server, "ANSWERS", 2)
    return Asked()


def test_so_many_answers_are_kept_and_older_requests_are_not_done_again(asked: Asked):
    answers = [asked.ask("s", number) for number in (1, 2)]
    assert [asked.ask("s", number) for number in (1, 2)] == answers
    asked.ask("s", 3)
    assert asked.ask("s", 2) == answers[1]
    with pytest.raises(Unacceptable, match="request 1 was answered long ago"):
        asked.ask("s", 1)
    assert asked.done == 3


def test_a_request_that_was_overtaken_is_done_all_the_same(asked: Asked):
    """Numbers are not answered in their order where messages are swapped."""
    for number in (4, 5, 2):
        assert asked.is_done_again("s", number)
    with pytest.raises(Unacceptable):  # 4 went first, and so did all before it
        asked.ask("s", 3)


def test_so_many_sessions_are_kept_and_the_longest_silent_goes_first(asked: Asked):
    for session in ("a", "b", "c"):
        asked.ask(session)
    assert not any(asked.is_done_again(session) for session in ("b", "c", "a"))
    asked.ask("d")  # b was silent for longest
    assert not any(asked.is_done_again(session) for session in ("c", "a", "d"))
    assert asked.is_done_again("b")


def test_no_key_can_have_anothers_forgotten(asked: Asked):
    asked.ask("s", peer="alice")
    for session in range(9):
        asked.ask(f"{session}", peer="mallory")
    assert asked.is_done_again("s", peer="mallory"), "in nobody else's name"
    assert not asked.is_done_again("s", peer="alice")


def test_what_is_kept_bounds_the_memory_of_a_key():
    """64 sessions of 256 answers: what a lost connection may ask again, and no flood beyond."""
    assert (rpc_server.SESSIONS, rpc_server.ANSWERS) == (64, 256)


# What is done with messages before a handler sees them: versions, schemas, retries, rubbish.


class Add(WireMessage):
    """Ask for a sum."""

    amount: int = Field(ge=0, le=100)


class Till:
    """Something that must not happen twice."""

    def __init__(self) -> None:
        self.sum = 0
        self.desk = RequestDispatcher(
            {"add": Handler(Add, self._add), "no": Handler(Add, self._no)}
        )

    def _add(self, peer: str, request: Request, body: Add) -> Reply:
        self.sum += body.amount
        return {"sum": self.sum}, None

    def _no(self, peer: str, request: Request, body: Add) -> Reply:
        raise Unacceptable("no", "never")

    def ask(self, peer: str = "me", **fields: Any) -> dict[str, Any]:
        """The answer to a request with these fields."""
        data = {"v": 1, "session": "a" * 16, "id": 1, "kind": "add", "body": {"amount": 5}}
        answer = self.desk.respond(peer, [json.dumps(data | fields).encode()])
        assert answer is not None
        told: dict[str, Any] = json.loads(answer[0])
        return told


def test_a_retry_gets_the_same_answer_and_is_not_done_again():
    till = Till()
    assert till.ask() == till.ask()
    assert till.sum == 5
    assert till.ask(id=2)["body"] == {"sum": 10}


def test_one_who_recorded_a_request_cannot_have_it_done_again():
    till = Till()
    for number in range(1, ANSWERS + 10):
        till.ask(id=number, body={"amount": 1})
    total = till.sum
    assert till.ask(id=1)["code"] == "replayed"
    assert till.sum == total


def test_a_session_is_its_keys_own():
    till = Till()
    till.ask(peer="me")
    till.ask(peer="somebody else")
    assert till.sum == 10, "the same session and id with another key is another request"


def test_a_refusal_is_remembered_like_an_answer():
    till = Till()
    assert till.ask(kind="no")["refused"] == "never"


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"v": 0}, "version", "version 0 is not spoken here, 1 is"),
        ({"v": 2}, "version", "version 2"),
        ({"v": "1"}, "version", "unknown"),
        ({"v": True}, "version", "unknown"),
        ({"kind": "drop"}, "kind", "no request drop"),
        ({"kind": "../x"}, "schema", "kind"),
        ({"id": 0}, "schema", "id"),
        ({"id": 1.5}, "schema", "id"),
        ({"session": "../../etc"}, "schema", "session"),
        ({"extra": 1}, "schema", "extra"),
        ({"body": {"amount": -1}}, "schema", "amount"),
        ({"body": {"amount": "5"}}, "schema", "amount"),
        ({"body": {}}, "schema", "amount"),
        ({"body": {"amount": 5, "more": 1}}, "schema", "more"),
    ],
)
def test_a_message_that_is_not_right_is_refused_and_nothing_happens(fields, code, words):
    till = Till()
    told = till.ask(**fields)
    assert told["code"] == code
    assert words in told["refused"]
    assert till.sum == 0


@pytest.mark.parametrize(
    "octets",
    [b"", b"\xff\xfe", b"[]", b"1", b"{" * 100_000, b'{"v": 1}', b"null", b'{"v": NaN}'],
)
def test_rubbish_is_refused(octets):
    till = Till()
    answer = till.desk.respond("me", [octets])
    assert answer is not None
    assert json.loads(answer[0])["refused"]
    assert till.sum == 0


def test_the_frames_of_a_message_are_counted_and_weighed():
    till = Till()
    for frames in ([], [b"{}", b"{}"], [b" " * (envelope.LONGEST + 1)]):
        answer = till.desk.respond("me", frames)
        assert answer is not None
        assert json.loads(answer[0])["refused"]
