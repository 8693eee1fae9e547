"""Gates of messages that depend on others, numbered over all traffic, and a check that all open."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orchestrator.engine.records import GATE, NONE
from orchestrator.engine.workload import ENDLESS, ApplicationMessages, Connections


def dependency_problem(made: ApplicationMessages, ends: Connections) -> str | None:
    """Reason why messages of a schedule could wait for ever or miss a gate; None: they cannot."""
    waiting = made.waiting
    if waiting is None or not len(made.size):
        return None
    gates = len(waiting.pauses)
    lengths = {len(part) for part in (waiting.behind, waiting.opens, waiting.round, waiting.step)}
    if lengths != {len(made.size)} or max(waiting.behind.max(), waiting.opens.max()) >= gates:
        return "its messages and their gates do not belong together"
    if (made.size[waiting.opens >= 0] >= ENDLESS).any():
        return "a message without end opens no gate"
    if not np.isin(waiting.behind[waiting.behind >= 0], waiting.opens).all():
        return "messages wait for a gate that nothing opens"
    nodes: dict[int, str] = {}
    for message in range(len(made.size)):
        source, target = ends.pairs[made.connection[message]]
        for gate, node in ((waiting.behind[message], source), (waiting.opens[message], target)):
            if gate >= 0 and nodes.setdefault(int(gate), node) != node:
                return f"what {node} waits for has to arrive there, not at {nodes[int(gate)]}"
    return (
        None
        if _all_begin(made, waiting.behind, waiting.opens, gates)
        else ("messages wait for one another in a circle")
    )


def _all_begin(
    made: ApplicationMessages, behind: np.ndarray, opens: np.ndarray, gates: int
) -> bool:
    """True if every message begins when each takes no time: one by one, gate by gate."""
    order = np.argsort(made.connection, kind="stable").tolist()
    following = dict(pairwise(order))
    connection, gate_of, counts = made.connection.tolist(), behind.tolist(), opens.tolist()
    missing = np.bincount(opens[opens >= 0], minlength=gates).tolist()
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
        gate = counts[message]
        if gate >= 0:
            missing[gate] -= 1
            if not missing[gate]:
                ready += held.pop(gate, [])
    return begun == len(order)


@dataclass(frozen=True)
class Gates:
    """The gates of a traffic entry: `pauses` ps each; none opens from `until` on."""

    pauses: np.ndarray
    until: int


def concatenated_gates(messages: np.ndarray, every: list[Gates]) -> tuple[np.ndarray, np.ndarray]:
    """GATE[n] and the messages behind each, of all MESSAGE[n] of a world; a row to spare each."""
    count = sum(len(gates.pauses) for gates in every)
    table = np.zeros(count + 1, GATE)
    behind, opens = messages["behind"], messages["opens"]
    waiting = np.flatnonzero(behind != NONE)
    gated = waiting[np.argsort(behind[waiting], kind="stable")]
    edges = np.searchsorted(behind[gated], np.arange(count + 1))
    table["first"][:count], table["last"][:count] = edges[:-1], edges[1:]
    table["missing"][:count] = np.bincount(opens[opens != NONE], minlength=count)
    at = 0
    for gates in every:
        mine = slice(at, at + len(gates.pauses))
        table["pause"][mine], table["until"][mine] = gates.pauses, gates.until
        at = mine.stop
    spare = np.zeros(1, np.int64)
    return table[:-1].view(np.recarray), np.concatenate([gated, spare])[:-1]
