"""Collectives (all-reduce, all-to-all): messages that start when their predecessors have arrived.

`all-reduce` adds up a vector that every host has a summand of, and gives all of them the sum. The
pairs of the traffic say how. `pairing = "ring"`: the vector is cut into as many pieces as there are
hosts; in 2 (N - 1) steps each host sends one piece on, first with its own summand added, then as it
is (Patarasuk and Yuan, J. Parallel Distrib. Comput. 2009). `pairing = "tree"`, both ways: sums go
up, once all children's are there, and the result down.

`all-to-all` has every host send every other one a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from tailback.plugin import (
    Algorithm,
    ApplicationMessages,
    Capability,
    Connections,
    Duration,
    Params,
    Sender,
    Size,
    Waiting,
    messages,
)

EXPECTED = (
    'pairing = "ring", or "tree" with bidirectional = true, of at least two hosts is expected'
)


@dataclass(frozen=True)
class Tree:
    """Parents, children and depths by host; connections to the parent (`up`) and from it."""

    root: str
    parent: dict[str, str]
    children: dict[str, list[str]]
    depth: dict[str, int]
    up: dict[str, int]
    down: dict[str, int]

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> Tree:
        """The tree of pairs (child, parent), followed by all of them turned round.

        Raises ValueError where they are none.
        """
        half = len(pairs) // 2
        upward, number = pairs[:half], {pair: place for place, pair in enumerate(pairs)}
        parent = dict(upward)
        roots = {above for above in parent.values() if above not in parent}
        turned = all((above, below) in number for below, above in upward)
        if len(pairs) != 2 * half or len(parent) != half or not turned or len(roots) != 1:
            raise ValueError(EXPECTED)
        (root,) = roots
        children: dict[str, list[str]] = {name: [] for name in (root, *parent)}
        for below, above in upward:
            children[above].append(below)
        depth, row = {root: 0}, [root]
        for node in row:
            for below in children[node]:
                depth[below] = depth[node] + 1
                row.append(below)
        if len(depth) <= half:  # a circle beside the tree
            raise ValueError(EXPECTED)
        up = {below: number[below, above] for below, above in upward}
        down = {below: number[above, below] for below, above in upward}
        return cls(root, parent, children, depth, up, down)

    @property
    def height(self) -> int:
        """Steps from the root to the farthest host."""
        return max(self.depth.values())

    @property
    def upwards(self) -> list[str]:
        """All but the root, the farthest first."""
        return sorted(self.parent, key=lambda node: -self.depth[node])


NO_GATE = -1
NEEDS = frozenset({Capability.DEPENDENCIES})


class Collective(Params):
    """Parameters of every collective."""

    former: ClassVar[dict[str, str]] = {"compute": "compute_time"}

    count: int = Field(1, ge=1, le=100_000, description="rounds, one behind another at every host")
    compute_time: Duration = Field(
        0, le=3600 * 10**12, description="time at a host from the end of a round to the next"
    )


class AllReduce(Collective):
    """Parameters of all-reduce."""

    former: ClassVar[dict[str, str]] = {"pieces": "chunks", "reduce": "reduce_time"}

    size: Size = Field(10_000_000, ge=1, le=10**12, description="of the vector, no headers")
    reduce_time: Duration = Field(
        0, le=10**12, description="time to add up a piece at a host, before its sum is sent"
    )
    chunks: int = Field(1, ge=1, le=10_000, description="of the vector, in a tree")

    def frames_offered(self, sender: Sender) -> int | None:
        """The vector to each neighbour, and the sum; each in pieces whose last frame is short."""
        pieces = max(self.chunks, sender.all_flows)
        return sender.flows * self.count * 2 * (sender.frames_of(self.size) + pieces)


class AllToAll(Collective):
    """Parameters of all-to-all."""

    size: Size = Field(1_000_000, ge=1, le=10**12, description="of every message, no headers")

    def frames_offered(self, sender: Sender) -> int | None:
        """A message to every other host in every round."""
        return sender.flows * self.count * sender.frames_of(self.size)


def split_sizes(size: int, pieces: int) -> np.ndarray:
    """Sizes of a vector's pieces, which differ by an octet at most. Raises ValueError."""
    if size < pieces:
        raise ValueError(f"'size' {size} is less than an octet for each of {pieces} pieces")
    return np.diff(np.arange(pieces + 1) * size // pieces)


def all_reduce(params: AllReduce, ends: Connections) -> ApplicationMessages:
    """The schedule of `all-reduce`."""
    if len(set(ends.pairs)) < len(ends.pairs):
        raise ValueError("'flows' 1 is expected: a connection for each pair")
    ring = _in_ring(ends.pairs)
    if ring is not None:
        return _ring(params, ends, ring)
    return _tree(params, ends, Tree.of(ends.pairs))


def _in_ring(pairs: Sequence[tuple[str, str]]) -> list[int] | None:
    """The connections in the order of the ring that they are; None where they are none."""
    from_node = {source: number for number, (source, _) in enumerate(pairs)}
    order, node = [0], pairs[0][1]
    while node != pairs[0][0] and node in from_node and len(order) <= len(pairs):
        order.append(from_node[node])
        node = pairs[order[-1]][1]
    return order if node == pairs[0][0] and len(order) == len(pairs) else None


def _ring(params: AllReduce, ends: Connections, order: list[int]) -> ApplicationMessages:
    """Host i's message of a step goes behind what host i - 1 sent in the step before."""
    hosts = len(order)
    sizes = split_sizes(params.size, hosts)
    steps = 2 * hosts - 2
    total = np.repeat(np.arange(params.count * steps), hosts)
    host = np.tile(np.arange(hosts), params.count * steps)
    step = total % steps
    piece = (host - step) % hosts  # what came in the step before
    gates = (params.count * steps - 1) * hosts
    opens = total * hosts + (host + 1) % hosts
    carries_sum = (step >= 1) & (step <= hosts - 1)
    pause = np.where(carries_sum, params.reduce_time, np.where(step == 0, params.compute_time, 0))
    waiting = Waiting(
        behind=np.where(total == 0, NO_GATE, (total - 1) * hosts + host),
        opens=np.where(opens < gates, opens, NO_GATE),
        pauses=pause[hosts:],
        round=total // steps,
        step=step,
    )
    begin = np.full(len(total), ends.start)
    return ApplicationMessages(np.array(order)[host], begin, sizes[piece], waiting)


def _tree(params: AllReduce, ends: Connections, tree: Tree) -> ApplicationMessages:
    """Sums up to the root, the result down: of every round, piece by piece."""
    sizes = split_sizes(params.size, params.chunks)
    rows: list[tuple[int, int, int, int, int, int]] = []
    gates: dict[tuple[str, int, int, str], int] = {}
    pauses: list[int] = []

    def gate(kind: str, round_: int, piece: int, node: str, pause: int) -> int:
        key = (kind, round_, piece, node)
        if key not in gates:
            gates[key] = len(pauses)
            pauses.append(pause)
        return gates[key]

    last, upwards = params.chunks - 1, tree.upwards
    for round_ in range(params.count):
        for piece in range(params.chunks):
            for node in upwards:
                parent = tree.parent[node]
                behind = NO_GATE
                if tree.children[node]:
                    behind = gate("sum", round_, piece, node, params.reduce_time)
                elif round_:
                    behind = gate("round", round_, 0, node, params.compute_time)
                opens = gate("sum", round_, piece, parent, params.reduce_time)
                step = tree.height - tree.depth[node]
                rows.append((tree.up[node], int(sizes[piece]), behind, opens, round_, step))
            for node in reversed(upwards):
                parent = tree.parent[node]
                top = parent == tree.root
                behind = gate("sum" if top else "down", round_, piece, parent, 0)
                opens = NO_GATE
                if tree.children[node]:
                    opens = gate("down", round_, piece, node, 0)
                elif piece == last and round_ + 1 < params.count:
                    opens = gate("round", round_ + 1, 0, node, params.compute_time)
                step = tree.height + tree.depth[node] - 1
                rows.append((tree.down[node], int(sizes[piece]), behind, opens, round_, step))
    connection, size, behinds, opened, rounds, step_of = np.array(rows, np.int64).T
    waiting = Waiting(behinds, opened, np.array(pauses, np.int64), rounds, step_of)
    return ApplicationMessages(connection, np.full(len(rows), ends.start), size, waiting)


def all_to_all(params: AllToAll, ends: Connections) -> ApplicationMessages:
    """The schedule of `all-to-all`: a host's next round begins when all of this one is there."""
    sources = dict.fromkeys(source for source, _ in ends.pairs)
    if set(sources) != {target for _, target in ends.pairs}:
        raise ValueError("the same hosts in 'from' and 'to' are expected, with pairing = \"all\"")
    number = {host: place for place, host in enumerate(sources)}
    here = np.array([number[source] for source, _ in ends.pairs])
    there = np.array([number[target] for _, target in ends.pairs])
    rounds = np.repeat(np.arange(params.count), len(ends.pairs))
    last = (params.count - 1) * len(number)
    opens = rounds * len(number) + np.tile(there, params.count)
    waiting = Waiting(
        behind=np.where(
            rounds == 0, NO_GATE, (rounds - 1) * len(number) + np.tile(here, params.count)
        ),
        opens=np.where(opens < last, opens, NO_GATE),
        pauses=np.full(last, params.compute_time),
        round=rounds,
        step=np.zeros(len(rounds), np.int64),
    )
    connection = np.tile(np.arange(len(ends.pairs)), params.count)
    begin = np.full(len(rounds), ends.start)
    return ApplicationMessages(connection, begin, np.full(len(rounds), params.size), waiting)


ALL_REDUCE: Algorithm = messages(
    "all-reduce", "the sum of all vectors, to all hosts", AllReduce, all_reduce, needs=NEEDS
)
ALL_TO_ALL: Algorithm = messages(
    "all-to-all", "every host sends every other one a message", AllToAll, all_to_all, needs=NEEDS
)
