"""Message sources of one size: single, periodic, endless (bulk), and incast."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from tailback.plugin import (
    ENDLESS,
    Algorithm,
    ApplicationMessages,
    Connections,
    Duration,
    Params,
    Sender,
    Size,
    Waiting,
    messages,
)


class Repeated(Params):
    """Parameters of messages at equal distances."""

    former: ClassVar[dict[str, str]] = {"every": "interval"}

    size: Size = Field(1_000_000, ge=1, le=10**12, description="of every message, no headers")
    count: int = Field(1, ge=0, le=10**6, description="messages of a connection; 0: until it stops")
    interval: Duration = Field(
        10**9, ge=10**3, le=3600 * 10**12, description="from one message to the next"
    )
    stagger: Duration = Field(
        0, le=3600 * 10**12, description="offset between the starts of connections"
    )

    def frames_offered(self, sender: Sender) -> int | None:
        """All messages that fit the time, whole."""
        rounds = -(-sender.span // self.interval)
        rounds = min(rounds, self.count) if self.count else rounds
        return sender.flows * rounds * sender.frames_of(self.size)


def repeated(params: Repeated, ends: Connections) -> ApplicationMessages:
    """The schedule of `messages`."""
    rounds = -(-max(ends.stop - ends.start, 0) // params.interval)
    if params.count:
        rounds = min(rounds, params.count)
    return _grid(ends, rounds, params.interval, params.stagger, params.size)


def _grid(
    ends: Connections, rounds: int, every: int, stagger: int, size: int
) -> ApplicationMessages:
    """`rounds` messages of every connection; those that would begin too late are left out."""
    connections = np.repeat(np.arange(len(ends.pairs)), rounds)
    number = np.tile(np.arange(rounds), len(ends.pairs))
    start = ends.start + number * every + connections * stagger
    kept = start < ends.stop
    return ApplicationMessages(connections[kept], start[kept], np.full(int(kept.sum()), size))


MESSAGES: Algorithm = messages("messages", "messages of one size", Repeated, repeated)


class Bulk(Params):
    """A bulk transfer has no parameters."""


def bulk(params: Bulk, ends: Connections) -> ApplicationMessages:
    """The schedule of `bulk`: one message without end per connection."""
    return _grid(ends, 1, 1, 0, ENDLESS)


BULK: Algorithm = messages("bulk", "one transfer without end", Bulk, bulk)


class Incast(Params):
    """Parameters of incast: many answer at the same time."""

    former: ClassVar[dict[str, str]] = {"every": "interval"}

    size: Size = Field(64_000, ge=1, le=10**12, description="of every answer, no headers")
    interval: Duration = Field(
        10 * 10**9, ge=10**3, le=3600 * 10**12, description="from one round to the next"
    )
    rounds: int = Field(0, ge=0, le=10**6, description="rounds; 0: until the traffic stops")
    fan_in: int = Field(0, ge=0, le=100_000, description="connections that answer; 0: all")
    jitter: Duration = Field(
        0, le=10**12, description="largest random delay of an answer, from its round on"
    )
    request: Size = Field(
        0, le=10**12, description="size of the request that triggers each answer; 0: no requests"
    )

    def frames_offered(self, sender: Sender) -> int | None:
        """Every connection answers in every round, and asks."""
        rounds = -(-sender.span // self.interval)
        rounds = min(rounds, self.rounds) if self.rounds else rounds
        return sender.flows * rounds * sender.frames_of(max(self.size, self.request))


def incast(params: Incast, ends: Connections) -> ApplicationMessages:
    """The schedule of `incast`: per round all connections, or as many of them drawn."""
    asked = params.request > 0
    count = len(ends.pairs) // 2 if asked else len(ends.pairs)
    turned = [(target, source) for source, target in ends.pairs[:count]]
    if asked and list(ends.pairs[count:]) != turned:
        raise ValueError("requests go the other way: 'bidirectional = true' is expected")
    if params.fan_in > count:
        raise ValueError(f"'fan_in' {params.fan_in} is more than the {count} connections there are")
    random = ends.random()
    rounds = -(-max(ends.stop - ends.start, 0) // params.interval)
    rounds = min(rounds, params.rounds) if params.rounds else rounds
    fan_in = params.fan_in or count
    order = np.argsort(random.random((rounds, count)), axis=1)[:, :fan_in]
    connections = np.sort(order, axis=1).reshape(-1)
    start = ends.start + np.repeat(np.arange(rounds), fan_in) * params.interval
    late = (random.random(rounds * fan_in) * params.jitter).astype(np.int64)
    if asked:
        return _on_request(params, connections, start, late, count)
    start += late
    kept = start < ends.stop
    return ApplicationMessages(
        connections[kept], start[kept], np.full(int(kept.sum()), params.size)
    )


def _on_request(
    params: Incast, connections: np.ndarray, start: np.ndarray, late: np.ndarray, count: int
) -> ApplicationMessages:
    """Requests at the times of the rounds; each answer a gate that opens when its own is there."""
    answers = len(connections)
    gates, none = np.arange(answers), np.full(answers, -1)
    rounds = np.tile((start - start[:1]) // params.interval, 2)
    waiting = Waiting(
        behind=np.append(none, gates),
        opens=np.append(gates, none),
        pauses=late,
        round=rounds,
        step=np.repeat([0, 1], answers),
    )
    return ApplicationMessages(
        np.append(connections + count, connections),
        np.tile(start, 2),
        np.repeat([params.request, params.size], answers),
        waiting,
    )


INCAST: Algorithm = messages("incast", "many answer one at the same time", Incast, incast)
