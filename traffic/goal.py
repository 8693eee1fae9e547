"""Replay of a GOAL file: the messages of an application, in the order that their dependencies give.

A `send` hands a message to the connection from its rank to the other one; a `recv` is over when the
message that matches it has arrived whole: of those from that rank with that tag the first `recv`
takes the first `send`, in the order of the file. A `calc` takes its time. `requires` waits for the
end of an operation, `irequires` for its begin. A `send` is over when it begins: the transport has
it then (an eager send of no overhead). Operations of a rank that do not wait for one another run at
once; `cpu` and `nic` do not order them.

The hosts of `from` and `to` are the ranks, in the order in which they are listed.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from tailback.plugin import (
    Algorithm,
    ApplicationMessages,
    Connections,
    Duration,
    Sender,
    Waiting,
    cached_per_file,
    from_file,
    messages,
)
from traffic.collectives import NEEDS, NO_GATE, Collective
from traffic.goal_file import (
    AMOUNT,
    CALC,
    IREQUIRES,
    KIND,
    LINE,
    PEER,
    RANK,
    RECV,
    SEND,
    TAG,
    line_problem,
    read_goal_file,
)

PS_PER_NS = 1000
OPENS = 4
"""Place of the gate that a message opens, in a row of `schedule`: its recv comes later."""


def load(path: str) -> np.ndarray:
    """int64[rows, 6] of a GOAL file. Raises BadInput."""
    return read_goal_file(path).rows


class Goal(Collective):
    """Parameters of the replay of a GOAL file."""

    file: Annotated[str, *from_file(load)] = Field(
        description="a GOAL file: operations of every rank and their dependencies"
    )
    stragglers: int = Field(
        0, ge=0, le=1_000_000, description="ranks that are late, drawn from the plan's seed"
    )
    straggler_delay: Duration = Field(
        0, le=3600 * 10**12, description="by which each round of such a rank begins later"
    )

    def frames_offered(self, sender: Sender) -> int | None:
        """This sender's share of the frames of all messages."""
        rows = load(self.file)
        sizes = rows[rows[:, KIND] == SEND, AMOUNT]
        segment = max(sender.frame - sender.headers, 1)
        frames = int(-(-np.maximum(sizes, 1) // segment).sum()) * self.count
        return -(-frames * sender.flows // max(sender.all_flows, 1))


class Graph(NamedTuple):
    """Operations of a file in an order in which none comes before one that it waits for."""

    order: list[int]
    ends: dict[int, list[int]]  # operation -> those whose end it waits for
    begins: dict[int, list[int]]  # operation -> those whose begin it waits for
    match: dict[int, int]  # recv -> send
    depth: dict[int, int]  # send -> how many messages at the most came before it, one by one
    last: dict[int, list[int]]  # rank -> its operations whose end no other one waits for


@cached_per_file
def graph(path: str) -> Graph:
    """The dependencies of a file. Raises BadInput where they have a circle or do not match."""
    rows = load(path)
    ends, begins = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    waited: set[int] = set()
    for kind, waiting, awaited in rows[rows[:, KIND] > CALC][:, [KIND, PEER, AMOUNT]].tolist():
        if kind == IREQUIRES:
            begins[waiting].append(awaited)
        else:
            ends[waiting].append(awaited)
            waited.add(awaited)
    match = _matched(path, rows)
    order, depth = _ordered(path, rows, ends, begins, match)
    last = defaultdict[int, list[int]](list)
    for row in order:
        if row not in waited:
            last[int(rows[row, RANK])].append(row)
    return Graph(order, ends, begins, match, depth, last)


def _matched(path: str, rows: np.ndarray) -> dict[int, int]:
    """The send of every recv: in the order of the file by ranks and tag."""
    sent = defaultdict[tuple[int, int, int], deque[int]](deque)
    for row in np.flatnonzero(rows[:, KIND] == SEND).tolist():
        sent[rows[row, RANK], rows[row, PEER], rows[row, TAG]].append(row)
    match = {}
    for row in np.flatnonzero(rows[:, KIND] == RECV).tolist():
        rank, peer, tag = (int(rows[row, column]) for column in (RANK, PEER, TAG))
        line = int(rows[row, LINE])
        if not sent[peer, rank, tag]:
            text = f"recv from {peer} tag {tag}"
            raise line_problem(path, line, text, f"rank {peer} has no send to {rank} left for it")
        send = match[row] = sent[peer, rank, tag].popleft()
        if rows[row, AMOUNT] != rows[send, AMOUNT]:
            accepted = f"the size of its send is expected, {rows[send, AMOUNT]}b (line "
            raise line_problem(
                path, line, f"recv {rows[row, AMOUNT]}b", f"{accepted}{rows[send, LINE]})"
            )
    for (_, peer, tag), left in sent.items():
        if left:
            line = int(rows[left[0], LINE])
            accepted = f"a recv of rank {peer} is expected for it"
            raise line_problem(path, line, f"send to {peer} tag {tag}", accepted)
    return match


def _ordered(
    path: str,
    rows: np.ndarray,
    ends: dict[int, list[int]],
    begins: dict[int, list[int]],
    match: dict[int, int],
) -> tuple[list[int], dict[int, int]]:
    """All operations, sorted by the time at which they begin if messages take none, and the depth
    of each send."""
    after = defaultdict[int, list[tuple[int, bool]]](list)
    missing: dict[int, int] = dict.fromkeys(np.flatnonzero(rows[:, KIND] <= CALC).tolist(), 0)
    for edges, whole in ((ends, True), (begins, False)):
        for waiting, every in edges.items():
            missing[waiting] += len(every)
            for awaited in every:
                after[awaited].append((waiting, whole))
    for recv, send in match.items():
        missing[recv] += 1
        after[send].append((recv, True))
    time, level = dict.fromkeys(missing, 0), dict.fromkeys(missing, 0)
    ready = [(0, row) for row, count in missing.items() if not count]
    order = []
    while ready:
        begin, row = heapq.heappop(ready)
        order.append(row)
        takes = int(rows[row, AMOUNT]) if rows[row, KIND] == CALC else 0
        for following, whole in after[row]:
            time[following] = max(time[following], begin + (takes if whole else 0))
            crossed = match.get(following) == row
            level[following] = max(level[following], level[row] + crossed)
            missing[following] -= 1
            if not missing[following]:
                heapq.heappush(ready, (time[following], following))
    if len(order) < len(missing):
        line = min(int(rows[row, LINE]) for row, count in missing.items() if count)
        accepted = "operations that do not wait for one another in a circle are expected"
        raise line_problem(path, line, "this operation, among others,", accepted)
    return order, {row: level[row] for row in order if rows[row, KIND] == SEND}


class Instant(NamedTuple):
    """When something is over: when a gate opens, or at a time that is known before the run."""

    gate: int
    time: int


class _Gates:
    """Gates that are made so far."""

    def __init__(self) -> None:
        self.pauses: list[int] = []
        self.earliest: list[int] = []
        self.follows: list[tuple[int, int]] = []

    def after(self, every: list[Instant], pause: int = 0) -> Instant:
        """`pause` ps after the last of some instants; at least one is needed."""
        time = max((one.time for one in every if one.gate == NO_GATE), default=0)
        gates = list(dict.fromkeys(one.gate for one in every if one.gate != NO_GATE))
        if not gates:
            return Instant(NO_GATE, time + pause)
        if len(gates) == 1 and not pause and not time:
            return Instant(gates[0], 0)
        return Instant(self.new(pause, time, gates), 0)

    def new(self, pause: int, earliest: int, behind: list[int]) -> int:
        """A gate that waits for a time and for other gates."""
        gate = len(self.pauses)
        self.pauses.append(pause)
        self.earliest.append(earliest)
        self.follows += [(one, gate) for one in behind]
        return gate


def schedule(params: Goal, ends: Connections) -> ApplicationMessages:
    """The schedule of `goal`: the file's messages `count` times.

    Raises BadInput for a file that does not fit, ValueError for hosts that do not.
    """
    rows, every = load(params.file), graph(params.file)
    connections = _connections(params.file, ends)
    ranks = read_goal_file(params.file).ranks
    if params.stragglers > ranks:
        raise ValueError(f"'stragglers' {params.stragglers} is above the {ranks} ranks of the file")
    late = np.zeros(ranks, np.int64)
    late[ends.random().permutation(ranks)[: params.stragglers]] = params.straggler_delay
    gates, turn = _Gates(), defaultdict[tuple[int, int], int](int)
    made: list[list[int]] = []
    begun = {rank: Instant(NO_GATE, ends.start + int(late[rank])) for rank in range(ranks)}
    for round_ in range(params.count):
        begin: dict[int, Instant] = {}
        end: dict[int, Instant] = {}
        sent: dict[int, int] = {}
        for row in every.order:
            rank, kind, peer, amount, _, line = rows[row].tolist()
            waits = [end[one] for one in every.ends.get(row, ())]
            waits += [begin[one] for one in every.begins.get(row, ())]
            begin[row] = end[row] = gates.after(waits or [begun[rank]])
            if kind == CALC:
                end[row] = gates.after([begin[row]], amount * PS_PER_NS)
            elif kind == SEND and peer != rank:
                mine = connections.get((rank, peer))
                if mine is None:
                    pair = f"rank {rank} to rank {peer}"
                    accepted = f"a pair of 'from' and 'to' of traffic.{ends.name} is expected"
                    raise line_problem(params.file, line, pair, accepted)
                chosen = mine[turn[rank, peer] % len(mine)]
                turn[rank, peer] += 1
                sent[row] = len(made)
                gate, start = begin[row]
                made.append([chosen, start, max(amount, 1), gate, 0, round_, every.depth[row]])
            elif kind == RECV:
                send = every.match[row]
                if send in sent:
                    gate, start = begin[row]
                    opened = gates.new(0, start, [] if gate == NO_GATE else [gate])
                    made[sent[send]][OPENS] = opened
                    end[row] = Instant(opened, 0)
                else:  # from its own rank
                    end[row] = gates.after([begin[row], begin[send]])
        for rank, last in every.last.items():
            pause = params.compute_time + int(late[rank])
            begun[rank] = gates.after([end[row] for row in last], pause)
    return _messages(made, gates)


def _connections(path: str, ends: Connections) -> dict[tuple[int, int], list[int]]:
    """(rank, rank) -> connections. Raises ValueError where the hosts are not the file's ranks."""
    hosts = dict.fromkeys(source for source, _ in ends.pairs)
    hosts |= dict.fromkeys(target for _, target in ends.pairs)
    number = {host: rank for rank, host in enumerate(hosts)}
    ranks = read_goal_file(path).ranks
    if len(number) != ranks:
        raise ValueError(f"{ranks} hosts, the ranks of the file, are expected, not {len(number)}")
    found = defaultdict[tuple[int, int], list[int]](list)
    for connection, (source, target) in enumerate(ends.pairs):
        found[number[source], number[target]].append(connection)
    return found


def _messages(made: list[list[int]], gates: _Gates) -> ApplicationMessages:
    connection, start, size, behind, opens, round_, step = np.array(made, np.int64).reshape(-1, 7).T
    waiting = Waiting(
        behind,
        opens,
        np.array(gates.pauses, np.int64),
        round_,
        step,
        np.array(gates.earliest, np.int64),
        np.array(gates.follows, np.int64).reshape(-1, 2),
    )
    return ApplicationMessages(connection, start, size, waiting)


GOAL: Algorithm = messages(
    "goal", "replays a GOAL file: messages that depend on others", Goal, schedule, needs=NEEDS
)
