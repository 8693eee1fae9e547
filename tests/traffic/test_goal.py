"""Replay of GOAL files: begins of messages against their dependencies, read by other means."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from orchestrator.errors import BadInput
from orchestrator.recording import MessageTable
from tests.orchestrator.worlds import ALIGNED, MS, US, Table, recorded
from tests.traffic.test_collectives import WHOLE, messages, star
from traces.metrics.completion_times import completions


class Drawn(NamedTuple):
    """A drawn file, and its operations in an order in which each one's predecessors stand first."""

    text: str
    operations: list[dict[str, Any]]


def draw(seed: int, ranks: int, operations: int, sizes_of: range = range(1, 60_000)) -> Drawn:
    """A graph whose messages have sizes of their own, so that each is found again by its size."""
    source = random.Random(seed)
    lines = defaultdict[int, list[str]](list)
    made: list[dict[str, Any]] = []
    mine = defaultdict[int, list[int]](list)
    sizes = source.sample(sizes_of, operations)

    def add(rank: int, line: str, **more: Any) -> int:
        number = len(made)
        lines[rank].append(f"o{number}: {line}")
        waits: dict[str, list[int]] = {"requires": [], "irequires": []}
        for one in source.sample(mine[rank], min(len(mine[rank]), source.randrange(4))):
            word = source.choice(["requires", "irequires"])
            waits[word].append(one)
            lines[rank].insert(source.randrange(len(lines[rank]) + 1), f"o{number} {word} o{one}")
        made.append({"rank": rank, **waits, **more})
        mine[rank].append(number)
        return number

    for size in sizes:
        rank, peer = source.choices(range(ranks), k=2)
        if source.random() < 0.3:
            time = source.randrange(200_000)
            add(rank, f"calc {time} cpu {source.randrange(2)}", calc=time * 1000)
            continue
        tag = source.choice(["", " tag 0", " tag 7 cpu 0 nic 1"])
        send = add(rank, f"send {size}b to {peer}{tag}", send=size, peer=peer)
        add(peer, f"recv {size}b from {rank}{tag}", recv=send)
    blocks = [f"rank {rank} {{\n" + "\n".join(lines[rank]) + "\n}\n" for rank in range(ranks)]
    source.shuffle(blocks)
    return Drawn(f"// drawn\nnum_ranks {ranks}\n/* of\nseed {seed} */\n" + "".join(blocks), made)


def goal(tmp_path: Path, text: str, hosts: int, **more: Any) -> Table:
    """The plan that replays a file between so many hosts."""
    file = tmp_path / "drawn.goal"
    file.write_text(text)
    return star(hosts, plugin="goal", pairing="all", file=str(file), **more)


def begins(
    drawn: Drawn, table: MessageTable, ranks: int, late: dict[int, int], pause: int, rounds: int
) -> dict[tuple[int, int], int]:
    """(size, round) -> when a message has to begin, given when those before it arrived."""
    assert table.round is not None
    arrived = {
        (int(size), int(round_)): int(done)
        for size, round_, done in zip(table.size, table.round, table.done_ps, strict=True)
    }
    found: dict[tuple[int, int], int] = {}
    ready = {rank: late.get(rank, 0) for rank in range(ranks)}
    for round_ in range(rounds):
        begin: list[int] = []
        end: list[int] = []
        for one in drawn.operations:
            waits = [end[o] for o in one["requires"]] + [begin[o] for o in one["irequires"]]
            begin.append(max([ready[one["rank"]], *waits]))
            end.append(begin[-1] + one.get("calc", 0))
            if "send" in one and one["peer"] != one["rank"]:
                found[one["send"], round_] = begin[-1]
            if "recv" in one:
                send = drawn.operations[one["recv"]]
                local = send["rank"] == one["rank"]
                came = begin[one["recv"]] if local else arrived[send["send"], round_]
                end[-1] = max(begin[-1], came)
        for rank in range(ranks):
            over = [e for e, o in zip(end, drawn.operations, strict=True) if o["rank"] == rank]
            ready[rank] = max([ready[rank], *over]) + pause + late.get(rank, 0)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_each_message_begins_when_what_it_waits_for_is_over(seed: int, tmp_path: Path) -> None:
    ranks, rounds = 2 + seed % 5, 1 + seed % 3
    drawn = draw(seed, ranks, 60)
    more: Table = {"count": rounds, "compute_time": seed * 11 * US}
    more |= {"transport": {"plugin": "go-back-n"}} if seed % 2 else {}
    plan = goal(tmp_path, drawn.text, ranks, flows=1 + seed % 2, **more) | ALIGNED
    table = messages(recorded(plan))
    assert (table.done_ps >= 0).all()
    assert table.round is not None
    expected = begins(drawn, table, ranks, {}, seed * 11 * US, rounds)
    found = {
        (int(size), int(round_)): int(start)
        for size, round_, start in zip(table.size, table.round, table.start_ps, strict=True)
    }
    assert found == expected
    assert len(found) > 12 * rounds


@pytest.mark.parametrize("seed", [3, 5, 7])
def test_jobs_side_by_side_keep_their_gates_and_take_connections_in_turn(
    seed: int, tmp_path: Path
) -> None:
    """Each of two jobs, over three connections a pair, as if it were alone."""
    drawn = draw(seed, 4, 60)
    plan = goal(tmp_path, drawn.text, 4, flows=3) | ALIGNED
    plan["traffic"]["u"] = plan["traffic"]["t"]
    table = messages(recorded(plan))
    assert (table.done_ps >= 0).all()
    assert table.round is not None
    entries = np.array([table.flows[flow][1] for flow in table.flow])
    for entry in ("t", "u"):
        mine = np.flatnonzero(entries == entry)
        parts = {name: getattr(table, name)[mine] for name in ("size", "start_ps", "done_ps")}
        found = dict(zip(parts["size"].tolist(), parts["start_ps"].tolist(), strict=True))
        alone = MessageTable(
            table.flows,
            table.flow[mine],
            parts["start_ps"],
            parts["size"],
            parts["done_ps"],
            table.ideal_ps[mine],
            table.round[mine],
        )
        expected = begins(drawn, alone, 4, {}, 0, 1)
        assert found == {size: start for (size, _), start in expected.items()}
        first = [name for _, name in table.flows].index(entry)
        counts = np.bincount(table.flow[mine] - first, minlength=36).reshape(12, 3)
        assert (np.ptp(counts, axis=1) <= 1).all()
        assert counts.max() > 1


def test_a_job_of_rounds_has_percentiles_and_stragglers_make_it_longer(tmp_path: Path) -> None:
    text = ring(4, 100_000, 20_000)
    alone = completions(messages(recorded(goal(tmp_path, text, 4, count=5))), WHOLE)["t"]
    late = {"stragglers": 1, "straggler_delay": 3 * MS}
    slow = completions(messages(recorded(goal(tmp_path, text, 4, count=5, **late))), WHOLE)["t"]
    assert alone["collectives.completed"] == slow["collectives.completed"] == 5
    step = 100_000 * 8e-9  # of the line
    assert 6 * (step + 20e-6) < alone["collective_s.p50"] < 6.6 * (step + 20e-6)
    # each round waits for the late rank, whose successor has nothing to add before
    assert alone["collective_s.p99"] + 2.9e-3 < slow["collective_s.p99"]
    assert slow["collective_s.p99"] < alone["collective_s.p99"] + 3.1e-3


def ring(ranks: int, size: int, calc: int) -> str:
    """An all-reduce of a ring: 2 (N - 1) steps, in each of which what came is added up."""
    blocks = []
    for rank in range(ranks):
        lines = []
        for step in range(2 * ranks - 2):
            lines.append(f"s{step}: send {size}b to {(rank + 1) % ranks} tag {step}")
            lines.append(f"r{step}: recv {size}b from {(rank - 1) % ranks} tag {step}")
            lines.append(f"c{step}: calc {calc}")
            lines.append(f"c{step} requires r{step}")
            if step:
                lines.append(f"s{step} requires c{step - 1}")
        blocks.append(f"rank {rank} {{\n" + "\n".join(lines) + "\n}")
    return f"num_ranks {ranks}\n" + "\n".join(blocks)


def test_a_ring_as_a_file_is_the_collective(tmp_path: Path) -> None:
    """The messages of `all-reduce`, at the same times."""
    size = 4 * 71_500
    plan = star(4, plugin="all-reduce", pairing="ring", size=size, reduce_time=20 * US)
    one = messages(recorded(plan | ALIGNED))
    text = ring(4, 71_500, 20_000)
    # `all-reduce` adds up in the first N - 1 steps alone
    text = re.sub(r"c([345]): calc 20000", r"c\1: calc 0", text)
    other = messages(recorded(goal(tmp_path, text, 4) | ALIGNED))
    assert sorted(one.start_ps.tolist()) == sorted(other.start_ps.tolist())
    assert sorted(one.done_ps.tolist()) == sorted(other.done_ps.tolist())
    assert one.step is not None
    assert other.step is not None
    assert sorted(one.step.tolist()) == sorted(other.step.tolist())


def test_stragglers_are_drawn_from_the_seed(tmp_path: Path) -> None:
    text = "num_ranks 4\n" + "".join(
        f"rank {rank} {{\nsend {rank + 1}b to {(rank + 1) % 4}\n"
        f"recv {(rank - 1) % 4 + 1}b from {(rank - 1) % 4}\n}}\n"
        for rank in range(4)
    )
    chosen = set()
    for seed in range(1, 9):
        plan = goal(tmp_path, text, 4, stragglers=2, straggler_delay=MS)
        table = messages(recorded(plan | ALIGNED | {"seed": seed}))
        late = tuple(int(size) for size in table.size[table.start_ps == MS])
        assert (np.isin(table.start_ps, [0, MS])).all()
        assert len(late) == 2
        chosen.add(tuple(sorted(late)))
    assert len(chosen) > 3


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("rank 0 {\n", 1, "'num_ranks N' has to come first"),
        ("num_ranks 1\n", 1, "2 to"),
        ("num_ranks 2\nnum_ranks 2\n", 2, "one line 'num_ranks N'"),
        ("num_ranks 2\nrank 2 {\n", 2, "num_ranks is 2"),
        ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n", 4, "one block for each rank"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1\n", 4, "no closing"),
        ("num_ranks 2\nrank 0 {\nsent 5b to 1\n", 3, "a line such as"),
        ("num_ranks 2\nrank 0 {\nsend 5b from 1\n", 3, "a line such as"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 2\n", 3, "a rank below 2"),
        ("num_ranks 2\nrank 0 {\nrecv 5b from -1\n", 3, "-1 (any) is not followed"),
        ("num_ranks 2\nrank 0 {\nrecv 5b from 1 tag -1\n", 3, "-1 (any) is not followed"),
        (f"num_ranks 2\nrank 0 {{\nsend {10**13}b to 1\n", 3, "octets"),
        (f"num_ranks 2\nrank 0 {{\ncalc {'9' * 5000}\n", 3, "ns"),
        ("num_ranks 2\nrank 0 {\na: calc 1\na: calc 2\n", 4, "has this label already"),
        ("num_ranks 2\nrank 0 {\na: calc 1\na requires b\n}\n", 4, "a label of rank 0"),
        ("num_ranks 2\nrank 0 {\na: calc 1\na requires a\n}\n", 4, "wait for itself"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1\n}\n", 3, "a recv of rank 1"),
        (
            "num_ranks 2\nrank 0 {\nsend 5b to 1 tag 2\n}\nrank 1 {\nrecv 5b from 0\n}\n",
            6,
            "no send",
        ),
        (
            "num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 6b from 0\n}\n",
            6,
            "size of its send",
        ),
        (
            "num_ranks 2\nrank 0 {\ns: send 5b to 1\nr: recv 4b from 1\ns requires r\n}\n"
            "rank 1 {\ns: send 4b to 0\nr: recv 5b from 0\ns requires r\n}\n",
            3,
            "in a circle",
        ),
    ],
)
def test_a_line_that_cannot_be_used_is_named(
    text: str, line: int, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as error:
        recorded(goal(tmp_path, text, 2))
    assert sentence in str(error.value)
    assert f"drawn.goal:{line}:" in str(error.value)


@pytest.mark.parametrize(
    ("hosts", "more", "sentence"),
    [
        (3, {}, "2 hosts, the ranks of the file, are expected, not 3"),
        (2, {"stragglers": 3}, "'stragglers' 3 is above the 2 ranks"),
        (2, {"pairing": "listed", "from": ["h2"], "to": ["h1"]}, "a pair of 'from' and 'to'"),
    ],
)
def test_hosts_that_are_not_the_ranks_are_refused(
    hosts: int, more: Table, sentence: str, tmp_path: Path
) -> None:
    text = (
        "num_ranks 2\nrank 0 {\nsend 5b to 1\nr: recv 9b from 1\n}\n"
        "rank 1 {\nrecv 5b from 0\nsend 9b to 0\n}\n"
    )
    plan = goal(tmp_path, text, hosts)
    plan["traffic"]["t"] |= more
    with pytest.raises(BadInput) as error:
        recorded(plan)
    assert sentence in str(error.value)


@pytest.mark.parametrize("text", ["", "num_ranks 2\nrank 0 {\ncalc 5\n}\n", "\0\n", "num_ranks x"])
def test_a_file_without_messages_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        recorded(goal(tmp_path, text, 2))
