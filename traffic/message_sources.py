"""Message sources of one size: single, periodic, endless (bulk), and incast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

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
from traffic.poisson_flows import poisson_times


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
    arrivals: Literal["periodic", "poisson"] = Field(
        "periodic", description="rounds at equal distances, or as a Poisson process of that mean"
    )
    receiver: Literal["any", "one"] = Field(
        "any", description="one: the connections of a round go to one node of `to`, drawn"
    )
    request: Size = Field(
        0, le=10**12, description="size of the request that triggers each answer; 0: no requests"
    )

    def frames_offered(self, sender: Sender) -> int | None:
        """Every connection answers in every round, and asks; half as many rounds again by chance,
        and some."""
        rounds = -(-sender.span // self.interval)
        if self.arrivals == "poisson":
            rounds += rounds // 2 + 100
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
    begins = _rounds(params, ends, random)
    rounds = len(begins)
    if params.receiver == "one":
        connections, number = _rounds_by_receiver(params, ends.pairs[:count], rounds, random)
    else:
        fan_in = params.fan_in or count
        order = np.argsort(random.random((rounds, count)), axis=1)[:, :fan_in]
        connections = np.sort(order, axis=1).reshape(-1)
        number = np.repeat(np.arange(rounds), fan_in)
    start = begins[number]
    late = (random.random(len(connections)) * params.jitter).astype(np.int64)
    if asked:
        return _on_request(params, connections, start, late, count, number)
    start += late
    kept = start < ends.stop
    return ApplicationMessages(
        connections[kept], start[kept], np.full(int(kept.sum()), params.size)
    )


def _rounds(params: Incast, ends: Connections, random: np.random.Generator) -> np.ndarray:
    """Times at which rounds begin, int64[rounds], ps."""
    if params.arrivals == "poisson":
        begins = poisson_times(random, params.interval, ends.start, ends.stop)
        return begins[: params.rounds] if params.rounds else begins
    rounds = -(-max(ends.stop - ends.start, 0) // params.interval)
    rounds = min(rounds, params.rounds) if params.rounds else rounds
    return ends.start + np.arange(rounds) * params.interval


def _rounds_by_receiver(
    params: Incast, pairs: Sequence[tuple[str, str]], rounds: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Connections of all rounds, each round towards one destination, and their rounds, int64[n].

    Raises ValueError where a destination has fewer connections than `fan_in`.
    """
    towards: dict[str, list[int]] = {}
    for connection, (_, target) in enumerate(pairs):
        towards.setdefault(target, []).append(connection)
    for target, mine in towards.items():
        if len(mine) < params.fan_in:
            raise ValueError(
                f"'fan_in' {params.fan_in} is more than the {len(mine)} connections to {target}"
            )
    groups = [np.array(mine) for mine in towards.values()]
    chosen: list[np.ndarray] = []
    for group in (random.random(rounds) * len(groups)).astype(np.int64).tolist():
        mine = groups[group]
        drawn = random.permutation(len(mine))[: params.fan_in or len(mine)]
        chosen.append(mine[np.sort(drawn)])
    number = np.repeat(np.arange(rounds), [len(one) for one in chosen])
    return np.concatenate([np.zeros(0, np.int64), *chosen]), number


def _on_request(
    params: Incast,
    connections: np.ndarray,
    start: np.ndarray,
    late: np.ndarray,
    count: int,
    number: np.ndarray,
) -> ApplicationMessages:
    """Requests at the times of the rounds; each answer a gate that opens when its own is there."""
    answers = len(connections)
    gates, none = np.arange(answers), np.full(answers, -1)
    waiting = Waiting(
        behind=np.append(none, gates),
        opens=np.append(gates, none),
        pauses=late,
        round=np.tile(number, 2),
        step=np.repeat([0, 1], answers),
    )
    return ApplicationMessages(
        np.append(connections + count, connections),
        np.tile(start, 2),
        np.repeat([params.request, params.size], answers),
        waiting,
    )


INCAST: Algorithm = messages("incast", "many answer one at the same time", Incast, incast)
