"""A graph of messages and computations takes as long as SimGrid's replay of it takes."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.orchestrator.worlds import ALIGNED, US, recorded
from tests.traffic.test_collectives import messages
from tests.traffic.test_goal import Drawn, draw, goal

pytestmark = pytest.mark.slow

PYTHON = "/usr/bin/python3"
REPLAY = Path(__file__).parent / "simgrid_replay.py"
RATE, FAST = 10**9, 4 * 10**11
FULL, HEADERS = 1500, 70
"""Octets of a full frame, and of its headers."""

Operation = dict[str, Any]


@pytest.fixture(scope="module")
def simgrid() -> None:
    """Skips where the system's Python has no SimGrid."""
    found = subprocess.run([PYTHON, "-c", "import simgrid"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip("SimGrid is missing (Debian: python3-simgrid)")


def replayed(operations: list[Operation], ranks: int, rate: int = RATE) -> float:
    """s that SimGrid takes for them. A way has the delay of two links and of a switch that stores
    the last frame before it forwards it."""
    graph = {
        "ranks": ranks,
        "bandwidth": rate / 8 * (FULL - HEADERS) / FULL,
        "latency": 2 * 5e-6 + FULL * 8 / rate,
        "in_order": rate == RATE,  # else the latency of each would hold up the next one
        "operations": operations,
    }
    done = subprocess.run(
        [PYTHON, str(REPLAY)],
        input=json.dumps(graph),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return float(done.stdout)


class Graph:
    """Operations that are put one behind another, and their file."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def add(self, rank: int, *requires: int, **more: int) -> int:
        """One more operation; its number."""
        waits = [one for one in requires if one >= 0]
        self.operations.append({"rank": rank, "requires": waits, "irequires": [], **more})
        return len(self.operations) - 1

    def message(self, source: int, target: int, size: int, *requires: int) -> int:
        """A message; the number of its recv."""
        send = self.add(source, *requires, send=size, peer=target)
        return self.add(target, recv=send)

    def text(self, ranks: int) -> str:
        """The file."""
        lines = defaultdict[int, list[str]](list)
        for number, one in enumerate(self.operations):
            if "calc" in one:
                text = f"calc {one['calc'] // 1000}"
            elif "send" in one:
                text = f"send {one['send']}b to {one['peer']} tag {number}"
            else:
                send = self.operations[one["recv"]]
                text = f"recv {send['send']}b from {send['rank']} tag {one['recv']}"
            mine = lines[one["rank"]]
            mine.append(f"o{number}: {text}")
            mine += [f"o{number} requires o{before}" for before in one["requires"]]
        blocks = ["\n".join([f"rank {rank} {{", *lines[rank], "}"]) for rank in range(ranks)]
        return "\n".join([f"num_ranks {ranks}", *blocks, ""])


def ring(graph: Graph, hosts: list[int], size: int, steps: int, last: dict[int, int]) -> None:
    """Steps of a ring, in each of which a host adds up what came before it passes it on."""
    for _ in range(steps):
        came = {}
        for place, host in enumerate(hosts):
            after = hosts[(place + 1) % len(hosts)]
            came[after] = graph.message(host, after, size, last.get(host, -1))
        for host, recv in came.items():
            last[host] = graph.add(host, recv, calc=10 * US)


def hierarchical() -> Graph:
    """All-reduce of two groups of four: within each, between the two, and within each again."""
    graph, last = Graph(), dict[int, int]()
    for group in (range(4), range(4, 8)):
        ring(graph, list(group), 500_000, 3, last)
    for host in range(4):
        ring(graph, [host, host + 4], 250_000, 2, last)
    for group in (range(4), range(4, 8)):
        ring(graph, list(group), 500_000, 3, last)
    return graph


def experts() -> Graph:
    """Mixture of experts: all-to-all of unequal sizes, computation, and all-to-all back."""
    graph = Graph()
    there = defaultdict[int, list[int]](list)
    for shift in range(1, 8):
        for host in range(8):
            expert = (host + shift) % 8
            size = 40_000 * (1 + expert % 3)
            there[expert].append(graph.message(host, expert, size))
    done = {host: graph.add(host, *there[host], calc=300 * US) for host in range(8)}
    for shift in range(1, 8):
        for host in range(8):
            graph.message(host, (host + shift) % 8, 40_000 * (1 + host % 3), done[host])
    return graph


def stragglers() -> Graph:
    """A ring in which one host computes 3 ms more before each step."""
    graph, last = Graph(), dict[int, int]()
    for _ in range(6):
        last[2] = graph.add(2, last.get(2, -1), calc=3000 * US)
        ring(graph, list(range(4)), 300_000, 1, last)
    return graph


ALONE, SHARED = 0.01, 0.05
"""Tolerances: of messages that have their links for themselves, and of those that share them.
SimGrid shares a link at every instant as a fluid (max-min), a NIC and a queue frame by frame."""


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [(hierarchical, ALONE), (stragglers, ALONE), (experts, SHARED)],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_a_job_takes_as_long(
    make: Callable[[], Graph], tolerance: float, tmp_path: Path, simgrid: None
) -> None:
    graph = make()
    ranks = 1 + max(one["rank"] for one in graph.operations)
    ours = taken(graph.text(ranks), ranks, tmp_path)
    assert ours == pytest.approx(replayed(graph.operations, ranks), rel=tolerance)


@pytest.mark.parametrize("seed", range(20, 26))
def test_a_drawn_graph_takes_as_long(seed: int, tmp_path: Path, simgrid: None) -> None:
    """Over links so fast that messages do not wait for one another: what counts is which operation
    waits for which. (Where they do wait, their order alone moves the whole by up to a quarter.)"""
    drawn: Drawn = draw(seed, 6, 150)
    ours = taken(drawn.text, 6, tmp_path, FAST)
    assert ours == pytest.approx(replayed(drawn.operations, 6, FAST), rel=ALONE)


def taken(text: str, ranks: int, tmp_path: Path, rate: int = RATE) -> float:
    """s from the begin of the run to the last arrival."""
    plan = goal(tmp_path, text, ranks) | ALIGNED
    for link in plan["links"].values():
        link["rate"] = rate
    table = messages(recorded(plan))
    assert (table.done_ps > 0).all()
    return int(table.done_ps.max()) / 1e12
