"""Idempotency cache: a retried request gets the same answer, and nothing is done twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from orchestrator.testbed.wire.envelope import Unacceptable

SESSIONS = 64
"""Sessions of a key that are remembered; the one that was silent for longest goes first. No key can
have another's forgotten."""
ANSWERS = 256
"""Answers per session."""

Frames = list[bytes]


class Session:
    """Session of one calling process."""

    def __init__(self) -> None:
        self.answers: OrderedDict[int, Frames] = OrderedDict()
        self.forgotten = 0
        """The highest id whose answer is no longer kept."""


class Memory:
    """Answers by key of the peer, session and id.

    A session belongs to the key that it was first seen with: no other key can use it.
    """

    def __init__(self) -> None:
        self._peers: dict[str, OrderedDict[str, Session]] = {}

    def answer(self, peer: str, session: str, number: int, make: Callable[[], Frames]) -> Frames:
        """The answer to a request, made once. Raises Unacceptable for one from long ago."""
        sessions = self._peers.setdefault(peer, OrderedDict())
        known = sessions.setdefault(session, Session())
        sessions.move_to_end(session)
        if number in known.answers:
            return known.answers[number]
        if number <= known.forgotten:
            raise Unacceptable("replayed", f"request {number} was answered long ago")
        made = known.answers[number] = make()
        while len(known.answers) > ANSWERS:
            oldest, _ = known.answers.popitem(last=False)
            known.forgotten = max(known.forgotten, oldest)
        while len(sessions) > SESSIONS:
            sessions.popitem(last=False)
        return made
