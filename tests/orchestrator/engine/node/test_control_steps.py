"""Frames that a node makes itself, call by call: their order, PAUSE and PFC, grants, messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.engine.frames.frame_type import CONTROL
from orchestrator.engine.frames.pfc_frame import quanta_of
from orchestrator.engine.node.control_frames import (
    is_message_kind,
    pop_control,
    push_control,
    send_message_to_source,
    send_pause,
)
from orchestrator.engine.node.departure_time import is_pause
from orchestrator.engine.records import CNM, CNP, DATA, GRANT, NEVER, NONE, PAUSE, PFC, RETURNED
from tests.orchestrator.engine.node.bench import LANES, POOL, SOURCE, Bench, values

NOW = 5000
EVEN, ODD = 0x55, 0xAA
"""Priorities of the queues of either port."""


def waiting(bench: Bench, port: int = 1) -> list[tuple[int, int, int]]:
    """Kind, what it says and the priorities of the control frames of a port, in order."""
    w = bench.world
    rows = [w.frames[index] for index in bench.listed(int(w.ports[port].control_head))]
    return [tuple(values(row, "kind", "feedback", "mark")) for row in rows]  # type: ignore[misc]


def paused(bench: Bench, queue: int, quanta: int, kind: int = PAUSE) -> Bench:
    """A queue's algorithm says that."""
    bench.say(kind=kind, feedback=quanta)
    send_pause(bench.world, queue, NOW)
    return bench


def pfc(bench: Bench, port: int = 1) -> list[int]:
    """The quanta of the first control frame of a port by priority; -1: it does not name that."""
    frame = bench.world.frames[int(bench.world.ports[port].control_head)]
    assert frame.kind == PFC
    named = int(frame.mark)
    return [int(quanta_of(frame, p)) if named >> p & 1 else -1 for p in range(8)]


def test_pause_goes_to_the_front_and_all_else_behind() -> None:
    bench = Bench()
    w = bench.world
    w.ports[1].free_at = NOW + 50
    frames = {kind: bench.frame(kind=kind) for kind in (CNM, CNP, PAUSE, PFC, GRANT)}
    for index in frames.values():
        push_control(w, 1, index, NOW)
    order = [frames[kind] for kind in (GRANT, PFC, PAUSE, CNM, CNP)]
    assert bench.listed(int(w.ports[1].control_head)) == order
    assert w.ports[1].control_tail == frames[CNP]
    assert (bench.port(1), bench.port(0), w.ports[0].control_head) == (NOW + 50, NEVER, NONE)
    assert [int(pop_control(w, 1)) for _ in order] == order
    assert w.ports[1].control_head == NONE
    last = bench.frame(kind=PAUSE)
    push_control(w, 1, last, NOW + 60)
    assert values(w.ports[1], "control_head", "control_tail") == [last, last]
    assert bench.port(1) == NOW + 50, "it wakes earlier already"


def test_an_idle_port_wakes_at_once_for_a_control_frame() -> None:
    bench = Bench()
    index = bench.frame(kind=CNM, next=0)
    push_control(bench.world, 1, index, NOW)
    assert bench.port(1) == NOW
    assert bench.listed(int(bench.world.ports[1].control_head)) == [index]


@pytest.mark.parametrize(
    ("kind", "held_back", "message"),
    [
        *((PAUSE, False, False), (PFC, False, False), (GRANT, False, False)),
        *((CNM, True, True), (CNP, True, True), (RETURNED, True, True), (DATA, True, False)),
    ],
)
def test_what_is_pause_and_what_is_a_message(kind: int, held_back: bool, message: bool) -> None:
    bench = Bench()
    assert bool(is_pause(bench.world.frames[bench.frame(kind=kind)])) != held_back
    assert bool(is_message_kind(bench.world, kind)) == message
    for none in (-1, 40, 63, 64):
        assert not is_message_kind(bench.world, none)
    w = replace(bench.world, types=bench.world.types.copy())
    w.types["carried"][-1] = CONTROL
    assert not is_message_kind(w, -1), "it is no kind, whatever the last one is"


@pytest.mark.parametrize(
    ("quanta", "said", "pausing"),
    [(300, 300, 1), (1, 1, 1), (0, 0, 0), (-5, 0, 0), (65_535, 65_535, 1), (70_000, 65_535, 1)],
)
def test_a_queue_pauses_the_neighbours_at_the_other_ports(
    quanta: int, said: int, pausing: int
) -> None:
    bench = paused(Bench(), 0, quanta)
    assert waiting(bench) == [(PAUSE, said, 0)]
    assert waiting(bench, 0) == []
    w = bench.world
    frame = w.frames[int(w.ports[1].control_head)]
    assert values(frame, "source", "length", "flow") == [2, w.types[PAUSE].octets, NONE]
    assert values(w.queues[0], "pausing", "pause_sent") == [pausing, 1]
    assert bench.port(1) == NOW


def test_a_pause_that_waits_says_what_is_new() -> None:
    bench = paused(paused(Bench(), 0, 300), 0, 20)
    assert waiting(bench) == [(PAUSE, 20, 0)]
    assert values(bench.world.queues[0], "pause_sent", "pausing") == [1, 1]
    paused(bench, 0, 40, PFC)
    assert [kind for kind, _, _ in waiting(bench)] == [PFC, PAUSE]
    paused(bench, 0, 0)
    assert waiting(bench)[1] == (PAUSE, 0, 0), "behind another kind it waits as well"
    paused(bench, 0, -5)
    assert waiting(bench)[1] == (PAUSE, 0, 0), "there is no less than nothing"
    assert (bench.world.queues[0].pause_sent, bench.unused) == (2, POOL - 2)


def test_pfc_names_the_priorities_of_the_lane_and_one_frame_says_it_for_both() -> None:
    bench = paused(Bench(), 0, 40, PFC)
    assert pfc(bench) == [40, -1] * 4
    paused(bench, 1, 7, PFC)
    assert pfc(bench) == [40, 7] * 4
    paused(bench, 0, 0, PFC)
    assert pfc(bench) == [0, 7] * 4
    assert [values(row, "pause_sent", "pausing") for row in bench.world.queues[:2]] == [
        *([1, 0], [0, 1])
    ]


@pytest.mark.parametrize(
    ("kind", "pausing", "priorities", "sent"),
    [
        (PAUSE, 0, ODD, 1),
        (PAUSE, 1, ODD, 0),
        (PAUSE, 1, EVEN, 0),
        (PFC, 1, ODD, 1),
        (PFC, 1, EVEN, 0),
        (PFC, 0, EVEN, 1),
    ],
)
def test_a_neighbour_that_another_queue_holds_as_well_is_not_let_go(
    kind: int, pausing: int, priorities: int, sent: int
) -> None:
    bench = Bench()
    bench.world.queues[1].pausing = pausing
    bench.world.queues[1].priorities = priorities
    paused(bench, 0, 0, kind)
    assert len(waiting(bench)) == sent
    paused(bench, 0, 9, kind)
    assert len(waiting(bench)) == 1, "it can be held by both"


def test_what_fills_a_queue_comes_from_other_ports_than_its_own() -> None:
    """Queues of port 1 hold the neighbour of port 0, not the one that a queue of port 0 holds."""
    for queue, other in ((0, LANES), (LANES, 0)):
        bench = Bench()
        bench.world.queues[other].pausing = 1
        assert len(waiting(paused(bench, queue, 0), int(queue == 0))) == 1


def test_a_queue_of_any_port_behind_holds_a_neighbour() -> None:
    """Also that of the first port, behind which all others come."""
    bench = Bench()
    bench.world.queues[LANES + 1].pausing = 1
    assert waiting(paused(bench, LANES, 0), 0) == []


def test_of_several_neighbours_those_are_let_go_that_nobody_else_holds() -> None:
    """Queues of the second port hold the first one's neighbour and the third one's; a queue of the
    third port holds the first one's as well."""
    bench = Bench(ports=3)
    bench.world.queues[2 * LANES].pausing = 1
    paused(bench, LANES, 0)
    assert [len(waiting(bench, port)) for port in range(3)] == [0, 0, 1]
    assert bench.world.queues[LANES].pause_sent == 1


@pytest.mark.parametrize(("kind", "sent"), [(PAUSE, 0), (PFC, 1)])
def test_an_input_holds_the_neighbour_at_its_port(kind: int, sent: int) -> None:
    bench = Bench()
    w = bench.world
    for queue in (LANES, LANES + 1):
        w.queues[queue].input = 0
    paused(bench, LANES, 9, kind)
    assert (len(waiting(bench, 1)), len(waiting(bench, 0))) == (1, 0)
    assert w.queues[LANES].pausing == 1
    other = Bench()
    for queue in (LANES, LANES + 1):
        other.world.queues[queue].input = 0
    other.world.queues[LANES + 1].pausing = 1
    paused(other, LANES, 0, kind)
    assert len(waiting(other, 1)) == sent, "PAUSE lets all lanes go"
    paused(other, LANES + 1, 0, kind)
    assert len(waiting(other, 1)) == 1


def test_a_grant_goes_to_the_neighbour_that_fills_the_buffer_and_says_the_latest() -> None:
    bench = Bench()
    w = bench.world
    for queue, octets in ((0, 5000), (0, 7000), (1, 900), (0, 7500)):
        bench.say(kind=GRANT, sequence=octets, feedback=0)
        send_pause(w, queue, NOW)
    found = bench.listed(int(w.ports[0].control_head))
    assert [values(w.frames[index], "kind", "mark", "sequence") for index in found] == [
        *([GRANT, ODD, 900], [GRANT, EVEN, 7500])
    ]
    assert values(w.frames[found[0]], "source", "length") == [1, w.types[GRANT].octets]
    assert [values(row, "pause_sent", "pausing") for row in w.queues[:2]] == [[1, 0], [1, 0]]
    assert waiting(bench, 1) == []


def test_without_a_descriptor_nothing_is_sent() -> None:
    bench = Bench()
    bench.world.clock[0].frames_used = len(bench.world.free)
    bench.world.clock[0].free = 0
    paused(bench, 0, 9)
    paused(bench, 0, 9, GRANT)
    send_message_to_source(bench.world, 0, 1, 3, int(bench.world.frames[3].priority), NOW)
    assert (waiting(bench, 0), waiting(bench, 1), bench.world.queues[0].pause_sent) == ([], [], 0)
    assert bench.world.clock[0].no_descriptor == 2


def told(bench: Bench, kind: int, **sampled: int) -> int:
    """A message of a kind about such a frame, from address 1; where it is, or NONE."""
    fields = {"source": SOURCE, "destination": 2, "sequence": 6, "flow": 0, "priority": 3}
    culprit = bench.frame(**(fields | {"length": 700, "created": 55} | sampled))
    bench.say(kind=kind, feedback=9, offset=640, delta=-64)
    priority = int(bench.world.frames[culprit].priority)
    send_message_to_source(bench.world, 0, 1, culprit, priority, NOW)
    return int(bench.world.ports[0].control_head)


def test_a_message_goes_back_to_the_source_of_the_frame_that_it_is_about() -> None:
    bench = Bench()
    w = bench.world
    frame = w.frames[told(bench, CNM)]
    assert values(frame, "kind", "length", "source", "destination", "priority", "flow") == [
        *(CNM, w.types[CNM].octets, 1, SOURCE, 3, 0)
    ]
    assert values(frame, "sequence", "feedback", "offset", "delta", "inner", "mark") == [
        *(6, 9, 640, -64, 2, 700)
    ]
    assert frame.created == 55
    assert w.nodes[0].unroutable == 0


@pytest.mark.parametrize("kind", [CNM, CNP, RETURNED])
def test_a_message_is_as_long_as_its_kind_says_and_from_whom_it_says(kind: int) -> None:
    bench = Bench()
    of = bench.world.types[kind]
    flow = SOURCE if kind == RETURNED else 0  # which is told from data by going where its flow is
    frame = bench.world.frames[told(bench, kind, flow=flow)]
    assert values(frame, "kind", "length", "source") == [
        *(kind, of.octets or 700, 2 if of.from_end else 1)
    ]


@pytest.mark.parametrize("kind", [-1, DATA, PAUSE, 40, 64])
def test_what_nobody_described_is_not_sent(kind: int) -> None:
    bench = Bench()
    assert told(bench, kind) == NONE
    assert (bench.world.nodes[0].unroutable, bench.unused) == (1, POOL - 1)


def test_without_a_way_back_a_message_is_unroutable() -> None:
    bench = Bench()
    bench.world.routes[0, SOURCE] = NONE
    assert told(bench, CNM) == NONE
    assert (bench.world.nodes[0].unroutable, bench.unused) == (1, POOL - 1)


@pytest.mark.parametrize(("kind", "sent"), [(CNM, 0), (CNP, 1)])
def test_a_router_sends_on_what_is_ip_alone(kind: int, sent: int) -> None:
    bench = Bench()
    bench.world.nodes[0].routed = 1
    assert (told(bench, kind) != NONE) == bool(sent)
    assert bench.world.nodes[0].unroutable == 1 - sent
