"""Gates of messages that depend on others, numbered over all traffic, and a check that all open."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orchestrator.engine.records import GATE, NONE
from orchestrator.engine.workload import ENDLESS, ApplicationMessages, Connections, Waiting


def dependency_problem(made: ApplicationMessages, ends: Connections) -> str | None:
    """Reason why messages of a schedule could wait for ever or miss a gate; None: they cannot."""
    waiting = made.waiting
    if waiting is None or not len(made.size):
        return None
    gates, follows = len(waiting.pauses), _edges(waiting)
    lengths = {len(part) for part in (waiting.behind, waiting.opens, waiting.round, waiting.step)}
    numbers = np.concatenate([waiting.behind, waiting.opens, follows.ravel()])
    if lengths != {len(made.size)} or numbers.max() >= gates or (follows < 0).any():
        return "its messages and their gates do not belong together"
    if waiting.earliest is not None and len(waiting.earliest) != gates:
        return "its gates and their earliest times do not belong together"
    if (made.size[waiting.opens >= 0] >= ENDLESS).any():
        return "a message without end opens no gate"
    opened = np.concatenate([waiting.opens, follows[:, 1]])
    needed = np.concatenate([waiting.behind[waiting.behind >= 0], follows[:, 0]])
    if not np.isin(needed, opened).all():
        return "messages wait for a gate that nothing opens"
    return _node_problem(made, ends, follows) or (
        None if _all_begin(made, waiting, follows) else "messages wait for one another in a circle"
    )


def _edges(waiting: Waiting) -> np.ndarray:
    """int64[n, 2]: a gate, and one that waits for it."""
    return np.empty((0, 2), np.int64) if waiting.follows is None else waiting.follows


def _node_problem(made: ApplicationMessages, ends: Connections, follows: np.ndarray) -> str | None:
    """Reason why a node would have to know what arrives at another one; None: none has to."""
    waiting = made.waiting
    assert waiting is not None
    beside: dict[int, list[int]] = {}
    for first, second in follows.tolist():
        beside.setdefault(first, []).append(second)
        beside.setdefault(second, []).append(first)
    nodes: dict[int, str] = {}
    for message in range(len(made.size)):
        source, target = ends.pairs[made.connection[message]]
        for gate, node in ((waiting.behind[message], source), (waiting.opens[message], target)):
            joined = [int(gate)] if gate >= 0 else []
            while joined:
                one = joined.pop()
                if one not in nodes:
                    joined += beside.get(one, [])
                if nodes.setdefault(one, node) != node:
                    return f"what {node} waits for has to arrive there, not at {nodes[one]}"
    return None


def _all_begin(made: ApplicationMessages, waiting: Waiting, follows: np.ndarray) -> bool:
    """True if every message begins when each takes no time: one by one, gate by gate."""
    order = np.argsort(made.connection, kind="stable").tolist()
    following = dict(pairwise(order))
    connection, gate_of = made.connection.tolist(), waiting.behind.tolist()
    counts, gates = waiting.opens.tolist(), len(waiting.pauses)
    missing = (
        np.bincount(waiting.opens[waiting.opens >= 0], minlength=gates)
        + np.bincount(follows[:, 1], minlength=gates)
    ).tolist()
    after_gate: dict[int, list[int]] = {}
    for first, second in follows.tolist():
        after_gate.setdefault(first, []).append(second)
    held: dict[int, list[int]] = {}
    ready = [
        m for at, m in enumerate(order) if not at or connection[order[at - 1]] != connection[m]
    ]
    begun = 0
    while ready:
        message = ready.pop()
        if gate_of[message] >= 0 and missing[gate_of[message]]:
            held.setdefault(gate_of[message], []).append(message)
            continue
        begun += 1
        after = following.get(message)
        if after is not None and connection[after] == connection[message]:
            ready.append(after)
        counted = [counts[message]] if counts[message] >= 0 else []
        while counted:
            gate = counted.pop()
            missing[gate] -= 1
            if not missing[gate]:
                ready += held.pop(gate, [])
                counted += after_gate.get(gate, [])
    return begun == len(order)


@dataclass(frozen=True)
class Gates:
    """The gates of a traffic entry: int64[gates] of ps each, `follows` as in `Waiting`; none opens
    from `until` on."""

    pauses: np.ndarray
    earliest: np.ndarray
    follows: np.ndarray
    until: int

    @classmethod
    def of(cls, waiting: Waiting, until: int) -> Gates:
        """Those of a schedule."""
        earliest = waiting.earliest
        none = np.zeros(len(waiting.pauses), np.int64)
        return cls(waiting.pauses, none if earliest is None else earliest, _edges(waiting), until)


def concatenated_gates(messages: np.ndarray, every: list[Gates]) -> tuple[np.ndarray, np.ndarray]:
    """GATE[n], and the messages and gates behind each, of all MESSAGE[n] of a world; a row to spare
    each."""
    count = sum(len(gates.pauses) for gates in every)
    table = np.zeros(count + 1, GATE)
    behind, opens = messages["behind"], messages["opens"]
    waiting = np.flatnonzero(behind != NONE)
    at, edges = 0, [np.empty((0, 2), np.int64)]
    for gates in every:
        mine = slice(at, at + len(gates.pauses))
        table["pause"][mine], table["until"][mine] = gates.pauses, gates.until
        table["latest"][mine] = gates.earliest
        edges.append(gates.follows + at)
        at = mine.stop
    follows = np.concatenate(edges)
    table["missing"][:count] = np.bincount(opens[opens != NONE], minlength=count)
    table["missing"][:count] += np.bincount(follows[:, 1], minlength=count)
    # by gate, its messages first, each in its order
    gate = np.concatenate([behind[waiting], follows[:, 0]])
    is_gate = np.repeat([0, 1], [len(waiting), len(follows)])
    order = np.lexsort((is_gate, gate))
    first = np.searchsorted(gate[order], np.arange(count + 1))
    table["first"][:count], table["last_gate"][:count] = first[:-1], first[1:]
    held = np.bincount(behind[waiting], minlength=count)
    table["last"][:count] = table["first"][:count] + held
    gated = np.concatenate([waiting, follows[:, 1]])[order]
    spare = np.zeros(1, np.int64)
    return table[:-1].view(np.recarray), np.concatenate([gated, spare])[:-1]
