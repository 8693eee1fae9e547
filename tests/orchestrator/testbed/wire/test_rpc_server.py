"""How much is remembered of what was answered, exactly, and what goes first."""

from __future__ import annotations

import pytest

from orchestrator.testbed.wire import rpc_server
from orchestrator.testbed.wire.envelope import Unacceptable
from orchestrator.testbed.wire.rpc_server import AnswerCache


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
