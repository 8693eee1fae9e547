"""Collectives: what they compute, when their messages begin, and against which model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly.message_dependencies import dependency_problem
from orchestrator.engine.frames import type_table
from orchestrator.engine.records import ACK
from orchestrator.engine.workload import ApplicationMessages, Connections, Waiting
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.plan.traffic_pairing import drawn
from orchestrator.recording import MessageTable, Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import ALIGNED, MS, US, Table, recorded
from tests.plugins.described import check_page
from traces.metrics.completion_times import completions
from traffic.collectives import AllReduce, AllToAll, all_reduce, all_to_all

HOSTS = [f"h{n}" for n in range(1, 6)]
WHOLE = (0, 10**15)


def ends(pairing: str, hosts: list[str] = HOSTS) -> Connections:
    pairs = drawn(pairing, hosts, hosts, 0)
    pairs += [(b, a) for a, b in pairs] if pairing == "tree" else []
    return Connections("t", 1, tuple(pairs), np.full(len(pairs), 10**9), 1500, 0, MS)


def star(hosts: int, duration: int = 400 * MS, **traffic: Any) -> Table:
    """Hosts at one switch, 1 Gb/s and 5 us each."""
    names = [f"h{n}" for n in range(1, hosts + 1)]
    return {
        "name": "star",
        "duration": duration,
        "sample_interval": 10 * MS,
        "nodes": {name: {"kind": "nic"} for name in names}
        | {"s": {"kind": "switch", "buffer": 5 * 10**7}},
        "links": {name: {"ends": [name, "s"], "rate": 10**9, "delay": 5 * US} for name in names},
        "traffic": {"t": {"from": names, "to": names} | traffic},
    }


def messages(recording: Recording) -> MessageTable:
    assert recording.messages is not None
    return recording.messages


def ends_of(table: MessageTable, plan: Table) -> list[tuple[str, str]]:
    """(from, to) of every message."""
    flows = {flow.entity: (flow.node, flow.destination) for flow in Plan(**plan).flows()}
    return [flows[table.flows[flow][0]] for flow in table.flow]


Step = tuple[bool, int, str, str]
"""Whether a message begins (else it has arrived); which; from where, to where."""


def played(made: ApplicationMessages, pairs: Connections) -> Iterator[Step]:
    """Begins and arrivals in an order that the gates and the connections allow, drawn."""
    waiting = made.waiting
    assert waiting is not None
    random = np.random.default_rng(7)
    missing = np.bincount(waiting.opens[waiting.opens >= 0], minlength=len(waiting.pauses))
    left = {c: np.flatnonzero(made.connection == c).tolist() for c in range(len(pairs.pairs))}
    begun: set[int] = set()
    while any(left.values()):
        for connection, mine in left.items():
            if not mine or mine[0] in begun:
                continue
            if waiting.behind[mine[0]] < 0 or not missing[waiting.behind[mine[0]]]:
                begun.add(mine[0])
                yield True, mine[0], *pairs.pairs[connection]
        under_way = [connection for connection, mine in left.items() if mine and mine[0] in begun]
        connection = under_way[random.integers(len(under_way))]
        message = left[connection].pop(0)
        if waiting.opens[message] >= 0:
            missing[waiting.opens[message]] -= 1
        yield False, message, *pairs.pairs[connection]


@pytest.mark.parametrize("hosts", [2, 3, 5, 8])
def test_a_ring_leaves_the_sum_of_all_at_every_host(hosts: int) -> None:
    """A model of its own: pieces are sets of summands; what opened its gate is what a message
    passes on."""
    ring = ends("ring", [f"h{n}" for n in range(hosts)])
    made = all_reduce(AllReduce(size=1003), ring)
    assert made.waiting is not None
    has = {f"h{n}": [{n} for _ in range(hosts)] for n in range(hosts)}
    piece_of_gate: dict[int, int] = {}
    carried: dict[int, tuple[int, set[int]]] = {}
    sent = np.zeros(hosts)
    for begins, message, source, target in played(made, ring):
        step, mine = int(made.waiting.step[message]), int(source[1:])
        if begins:
            piece = piece_of_gate[int(made.waiting.behind[message])] if step else mine
            carried[message] = (piece, set(has[source][piece]))
            assert made.size[message] == (piece + 1) * 1003 // hosts - piece * 1003 // hosts
            sent[mine] += made.size[message]
            continue
        piece, summands = carried[message]
        if step < hosts - 1:
            assert not has[target][piece] & summands, "added twice"
            has[target][piece] |= summands
        else:
            assert summands == set(range(hosts)), "a result before it is one"
            has[target][piece] = summands
        piece_of_gate[int(made.waiting.opens[message])] = piece
    assert all(piece == set(range(hosts)) for mine in has.values() for piece in mine)
    assert (abs(sent - 2 * (hosts - 1) / hosts * 1003) <= 2 * hosts).all()


@pytest.mark.parametrize("hosts", [3, 6, 9])
@pytest.mark.parametrize("pieces", [1, 3])
def test_a_tree_sums_up_and_tells_everyone(hosts: int, pieces: int) -> None:
    names = [f"h{n}" for n in range(hosts)]
    tree = ends("tree", names)
    made = all_reduce(AllReduce(size=999, pieces=pieces, count=2), tree)
    assert made.waiting is not None
    parts = [(round_, piece) for round_ in (0, 1) for piece in range(pieces)]
    has = {(name, part): {name} for name in names for part in parts}
    of_connection = {c: iter(parts) for c in range(len(tree.pairs))}
    carried: dict[int, tuple[tuple[int, int], set[str]]] = {}
    for begins, message, source, target in played(made, tree):
        up = (source, target) in tree.pairs[: hosts - 1]
        if begins:
            part = next(of_connection[int(made.connection[message])])
            assert part[0] == made.waiting.round[message]
            carried[message] = (part, set(has[source, part]))
            if part[0]:
                assert all(len(has[source, (0, p)]) == hosts for p in range(pieces)), "too early"
            continue
        part, summands = carried[message]
        assert up or summands == set(names), "a result before it is one"
        has[target, part] |= summands
    assert all(sums == set(names) for sums in has.values())


def test_a_ring_takes_the_time_of_its_steps_to_the_picosecond() -> None:
    """2 (N - 1) steps of S / N each at line rate, store and forward, nothing else under way."""
    size, hosts, add = 1_000_000, 5, 3 * US
    plan = star(hosts, plugin="all-reduce", pairing="ring", size=size, reduce_time=add)
    found = completions(messages(recorded(plan | ALIGNED)), WHOLE)["t"]
    piece = size // hosts
    frames = -(-piece // 1430)
    last = 70 + piece - (frames - 1) * 1430
    step = ((frames - 1) * 1500 + last) * 8000 + last * 8000 + 2 * 5 * US
    step += max(0, 1500 - last) * 8000  # the last but one is behind the switch until then
    steps = 2 * (hosts - 1)
    assert found["collectives.completed"] == 1
    assert found["collective_s.mean"] == pytest.approx(
        (steps * step + (hosts - 1) * add) / 1e12, rel=1e-9
    )
    assert found["collective_step_s.mean"] == pytest.approx(step / 1e12, rel=1e-9)


@pytest.mark.parametrize("transport", ["go-back-n", "tcp"])
def test_with_a_transport_acknowledgements_take_their_part_of_the_links(transport: str) -> None:
    """A host's link has what it sends and the acknowledgements of what it gets: of every frame,
    of every other one with TCP."""
    size, hosts = 5_000_000, 4
    carrier = {"plugin": transport} | ({"initial_window": 300} if transport == "tcp" else {})
    plan = star(hosts, plugin="all-reduce", pairing="ring", size=size, transport=carrier)
    found = completions(messages(recorded(plan)), WHOLE)["t"]
    ack = int(type_table()[ACK]["octets"]) / (2 if transport == "tcp" else 1)
    wire = size / hosts / 1430 * (1500 + ack) * 8e-9
    model = 2 * (hosts - 1) * (wire + 12e-6 + 10e-6)
    assert found["collective_s.mean"] == pytest.approx(model, rel=0.01)


def test_a_tree_takes_the_time_of_its_levels() -> None:
    """Two children share their parent's link, up as well as down: 2 S / R for each level."""
    size = 5_000_000
    plan = star(7, plugin="all-reduce", pairing="tree", bidirectional=True, size=size)
    found = completions(messages(recorded(plan)), WHOLE)["t"]
    level = 2 * size / 1430 * 1500 * 8e-9
    assert found["collective_s.mean"] == pytest.approx(4 * level, rel=0.01)
    pieces = plan | {"traffic": {"t": plan["traffic"]["t"] | {"pieces": 50}}}
    faster = completions(messages(recorded(pieces)), WHOLE)["t"]
    assert faster["collective_s.mean"] < 0.75 * found["collective_s.mean"]


def test_rounds_of_all_to_all_begin_when_all_of_the_last_is_there() -> None:
    more = {"pairing": "all", "size": 50_000, "count": 3, "compute": 70 * US}
    plan = star(4, plugin="all-to-all", **more)
    table = messages(recorded(plan))
    both = ends_of(table, plan)
    assert table.round is not None
    assert (table.done_ps >= 0).all()
    for host in ("h1", "h2", "h3", "h4"):
        for round_ in (0, 1):
            came = [
                d
                for d, e, r in zip(table.done_ps, both, table.round, strict=True)
                if e[1] == host and r == round_
            ]
            began = {
                int(s)
                for s, e, r in zip(table.start_ps, both, table.round, strict=True)
                if e[0] == host and r == round_ + 1
            }
            assert len(came) == 3
            assert began == {int(max(came)) + 70 * US}
    found = completions(table, WHOLE)["t"]
    assert (found["collectives.started"], found["collectives.completed"]) == (3, 3)


def test_answers_begin_when_they_are_asked_for() -> None:
    plan = star(4, plugin="incast", request=100, size=30_000, interval=5 * MS, rounds=3)
    plan["traffic"]["t"] |= {"from": ["h1", "h2", "h3"], "to": "h4", "bidirectional": True}
    table = messages(recorded(plan))
    both = ends_of(table, plan)
    asked = {
        (e[1], r): d
        for d, e, r in zip(table.done_ps, both, table.round, strict=True)
        if e[0] == "h4"
    }
    told = {
        (e[0], r): s
        for s, e, r in zip(table.start_ps, both, table.round, strict=True)
        if e[1] == "h4"
    }
    assert len(asked) == 9
    assert asked == told
    found = completions(table, WHOLE)["t"]
    assert found["collectives.completed"] == 3
    alone = 3 * 30_000 / 1430 * 1500 * 8e-9
    assert alone < found["collective_s.mean"] < 1.2 * alone + 60e-6


def test_what_is_lost_is_never_complete() -> None:
    plan = star(4, plugin="all-reduce", pairing="ring", size=200_000, duration=50 * MS)
    plan["links"]["h2"]["delay_line"] = {
        "plugin": "lossy-delay",
        "loss_rate": "1/2",
        "frame_kinds": "data",
    }
    table = messages(recorded(plan))
    found = completions(table, WHOLE)["t"]
    assert (found["collectives.started"], found["collectives.completed"]) == (1, 0)
    assert found["collective_s.mean"] is None
    assert (table.start_ps < 0).any(), "some never begin"
    assert found["messages.started"] == int((table.start_ps >= 0).sum())


def test_nothing_begins_once_the_traffic_has_stopped() -> None:
    more = {"pairing": "all", "size": 50_000, "count": 100, "stop": 10 * MS}
    table = messages(recorded(star(3, plugin="all-to-all", **more)))
    begun = table.start_ps[table.start_ps >= 0]
    assert 0 < len(begun) < len(table.size)
    assert begun.max() < 10 * MS
    assert (table.done_ps[table.start_ps >= 0] >= 0).all()


@pytest.mark.parametrize("carrier", [{}, {"transport": {"plugin": "go-back-n"}}])
@pytest.mark.parametrize("on_again", [4 * MS, 60 * MS])
def test_a_flow_that_was_switched_off_while_it_waited_begins_neither_off_nor_early(
    carrier: Table, on_again: int
) -> None:
    """h1 has sent its first round and waits for the slow h3; its flow is switched on again before
    that has come, or long after."""
    more = {"pairing": "all", "size": 100_000, "count": 2} | carrier
    plan = star(3, plugin="all-to-all", **more)
    plan["links"]["h3"]["rate"] = 10**8
    plan["timeline"] = [{"at": 3 * MS, "stop": "t.0"}, {"at": on_again, "start": "t.0"}]
    table = messages(recorded(plan))
    both = ends_of(table, plan)
    assert table.round is not None
    mine = [row for row in range(len(both)) if table.flow[row] == 0]
    came = [row for row in range(len(both)) if both[row][1] == "h1" and table.round[row] == 0]
    assert both[mine[0]] == ("h1", "h2")
    assert table.done_ps[mine[0]] < 3 * MS
    opened = int(max(table.done_ps[came]))
    assert 5 * MS < opened < 50 * MS
    alone = 100_000 * 8_000
    assert max(opened, on_again) + alone < table.done_ps[mine[1]] < max(opened, on_again) + 20 * MS
    assert (table.done_ps > 0).all(), "and all of them come to their end"


@pytest.mark.parametrize(
    ("traffic", "sentence"),
    [
        ({"plugin": "all-reduce", "pairing": "all"}, "'ring', or 'tree'"),
        ({"plugin": "all-reduce", "pairing": "tree"}, "'ring', or 'tree'"),
        ({"plugin": "all-reduce", "pairing": "ring", "flows": 2}, "'flows' 1"),
        ({"plugin": "all-reduce", "pairing": "ring", "size": 3}, "each of 4 pieces"),
        ({"plugin": "all-to-all", "pairing": "all", "to": ["h1", "h2"]}, "the same hosts"),
        ({"plugin": "incast", "request": 64, "from": ["h1"], "to": "h2"}, "bidirectional = true"),
    ],
)
def test_what_does_not_go_together_is_refused(traffic: Table, sentence: str) -> None:
    with pytest.raises(BadInput) as error:
        recorded(star(4, **traffic))
    assert sentence in str(error.value).replace('"', "'")
    assert error.value.problems[0].where == "traffic.t"


def waiting(behind: list[int], opens: list[int]) -> Waiting:
    count = len(behind)
    gates = max([*behind, *opens]) + 1
    none = np.zeros(count, np.int64)
    return Waiting(np.array(behind), np.array(opens), np.zeros(gates, np.int64), none, none)


@pytest.mark.parametrize(
    ("connection", "behind", "opens", "sentence"),
    [
        ([0, 1, 2], [-1, 0, 1], [0, 1, -1], None),
        ([0, 1, 2], [2, 0, 1], [0, 1, 2], "circle"),
        ([0, 0, 2], [0, -1, -1], [-1, -1, 0], None),
        ([0, 0, 1, 2], [0, -1, 1, -1], [-1, 1, -1, 0], None),
        ([0, 0, 1, 2], [0, -1, 1, 2], [-1, 1, 2, 0], "circle"),
        ([0, 1, 2], [-1, 0, -1], [-1, -1, -1], "nothing opens"),
        ([0, 2, 1], [-1, 0, -1], [0, -1, -1], "has to arrive there"),
    ],
)
def test_a_schedule_that_would_wait_for_ever_is_found(
    connection: list[int], behind: list[int], opens: list[int], sentence: str | None
) -> None:
    ring = ends("ring", ["a", "b", "c"])
    none = np.zeros(len(connection), np.int64)
    made = ApplicationMessages(np.array(connection), none, none + 9, waiting(behind, opens))
    found = dependency_problem(made, ring)
    assert (found is None) if sentence is None else (sentence in str(found))


def test_schedules_of_many_hosts_are_sound() -> None:
    names = [f"h{n}" for n in range(40)]
    for made, pairs in (
        (all_reduce(AllReduce(count=3), ends("ring", names)), ends("ring", names)),
        (all_reduce(AllReduce(count=3, pieces=4), ends("tree", names)), ends("tree", names)),
        (all_to_all(AllToAll(count=4), ends("all", names)), ends("all", names)),
    ):
        assert dependency_problem(made, pairs) is None


def test_gateware_refuses_it_by_name() -> None:
    plan = Plan(**star(3, plugin="all-reduce", pairing="ring"))
    with pytest.raises(Refused, match=r"all-reduce does not run on gateware.*dependencies"):
        run(plan, target="gateware", out=None)


@pytest.mark.software
@pytest.mark.parametrize("carrier", [{}, {"transport": {"plugin": "go-back-n"}}])
def test_on_real_frames_it_is_the_same_collective(namespaces: None, carrier: Table) -> None:
    plan = star(4, plugin="all-reduce", pairing="ring", size=400_000, count=2, **carrier)
    plan["nodes"]["s"]["buffer"] = 10**6  # a data path touches all that its frames may take
    for link in plan["links"].values():
        link["rate"] = 10**8
    tables = []
    for target in ("simulated", "software"):
        done = run(Plan(**plan), target=target, out=None)
        tables.append(messages(done.recording))
        assert done.result["metrics"]["run"]["t"]["collectives.completed"] == 2
    ideal, real = tables
    for name in ("flow", "size", "round", "step"):
        assert np.array_equal(getattr(ideal, name), getattr(real, name)), name
    both = ends_of(real, plan)
    assert Registry.load()
    for row in np.flatnonzero((real.round == 0) & (real.step > 0)):
        (before,) = [
            r
            for r in range(len(real.size))
            if real.round[r] == 0
            and real.step[r] == real.step[row] - 1
            and both[r][1] == both[row][0]
        ]
        assert real.start_ps[row] == real.done_ps[before]


def test_the_page_has_its_parameters() -> None:
    assert check_page("traffic.collectives") > 0
