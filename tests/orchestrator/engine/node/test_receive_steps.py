"""What a node does with a frame that came, step by step: obeys it, sends it on, takes it."""

from __future__ import annotations

import pytest

from orchestrator.engine.kernel_answers import DROP, LANE, TRIM
from orchestrator.engine.node.event_sync import wake_input
from orchestrator.engine.node.latency_histogram import latency_edges
from orchestrator.engine.records import (
    ACK,
    CNM,
    CREDIT,
    DATA,
    GRANT,
    HOST,
    NEVER,
    NONE,
    PAUSE,
    PFC,
    PORT_SETS,
    PROBE,
    REQUEST,
    SACK,
    SINK,
    TRIMMED,
)
from tests.orchestrator.engine.node.bench import LANES, POOL, SOURCE, Bench, values

NOW = 10**6
BUSY = 10**12
EVEN = LANES
"""The queue of port 1, and the buffer of its input, for even priorities."""


def busy() -> Bench:
    """A bench whose ports send nothing."""
    bench = Bench()
    for port in bench.world.ports:
        port.free_at = BUSY
    return bench


def sink() -> Bench:
    """Everything that comes is where it was sent to."""
    bench = busy()
    bench.world.nodes[0].kind = SINK
    return bench


def controls(bench: Bench, port: int = 0) -> list[int]:
    """Kinds of the control frames of a port."""
    w = bench.world
    return [int(w.frames[index].kind) for index in bench.listed(int(w.ports[port].control_head))]


@pytest.mark.parametrize("kind", [PAUSE, PFC, GRANT])
def test_what_holds_a_port_is_obeyed_and_what_lets_it_go_has_it_serve(kind: int) -> None:
    bench = Bench()
    w = bench.world
    w.ports[1].delay = BUSY
    waits = bench.frame(priority=0)
    w.queues[EVEN].head, w.queues[EVEN].tail = waits, waits
    w.queues[EVEN].frames, w.queues[EVEN].bytes = 1, 1500
    w.ports[1].paused_until = NEVER if kind == PAUSE else 0
    w.lanes[EVEN].paused_until = 0 if kind == PAUSE else NEVER
    w.lanes[EVEN].granted = 0 if kind == GRANT else NEVER
    bench.arrives(NOW, kind=kind, feedback=0, mark=1, sequence=9000, inner=0)
    assert values(w.ports[1], "pause_received", "line_head", "frames_out") == [1, waits, 1]
    assert w.ports[0].pause_received == 0


@pytest.mark.parametrize(("kind", "told"), [(PAUSE, 1), (PFC, 1), (GRANT, 0)])
def test_the_watchdog_of_a_queue_that_is_held_hears_of_it(kind: int, told: int) -> None:
    bench = busy()
    bench.world.queues[EVEN].watchdog = bench.rows["watch"]
    bench.arrives(NOW, kind=kind, feedback=9, mark=1, sequence=9000, inner=0)
    assert bench.told("watch", "came", "now") == [told, NOW * told]


@pytest.mark.parametrize(("flow", "came"), [(0, 1), (NONE, 0)])
def test_a_receiver_hears_of_every_data_frame_of_a_flow(flow: int, came: int) -> None:
    bench = sink()
    bench.world.nodes[0].receiver = bench.rows["receive"]
    bench.arrives(NOW, length=700, flow=flow)
    assert bench.told("receive", "came", "length") == [came, 700 * came]
    bench.arrives(NOW, length=70, flow=flow, kind=TRIMMED)
    assert bench.told("receive", "came", "length") == [2 * came, 70 * came]
    assert bench.world.clock[0].delivered == 1


@pytest.mark.parametrize(("in_order", "waits"), [(1, True), (0, False)])
def test_what_reaches_its_output_is_put_in_order_where_that_keeps_it(
    in_order: int, waits: bool
) -> None:
    """The second frame of a flow comes through an input."""
    bench = busy()
    w = bench.world
    w.ports[0].in_order = in_order
    w.nodes[0].order_capacity, w.nodes[0].order_timeout = 10**6, BUSY
    side = w.inputs[0]
    side.moving_head, side.awaits_head, side.rate = NONE, NONE, 10**9
    index = bench.frame(port=0, due=NOW, flow=0, sequence=1, length=700)
    w.queues[0].reserved, side.fly_head = 700, index
    wake_input(w, 0, NOW)
    assert (int(w.flows[0].order_head), int(w.queues[0].frames)) == (
        (index, 0) if waits else (NONE, 1)
    )
    assert values(w.queues[0], "reserved") + values(side, "fly_head") == [0, NONE]


def test_a_switch_sends_data_to_the_queue_of_its_way() -> None:
    bench = busy()
    index = bench.arrives(NOW, length=700)
    assert bench.listed(int(bench.world.queues[0].head)) == [index]
    assert values(bench.world.frames[index], "port", "hops") == [1, 0]
    bench.world.routes[0, SOURCE] = 1
    other = bench.arrives(NOW, length=64)
    assert bench.listed(int(bench.world.queues[EVEN].head)) == [other]
    bench.world.routes[0, SOURCE] = NONE
    bench.arrives(NOW)
    assert (bench.world.nodes[0].unroutable, bench.unused) == (1, POOL - 2)


@pytest.mark.parametrize(("kind", "is_ip"), [(DATA, True), (CNM, False)])
def test_a_router_counts_hops_and_knows_ip_alone(kind: int, is_ip: bool) -> None:
    bench = busy()
    bench.world.nodes[0].routed = 1
    index = bench.arrives(NOW, kind=kind, hops=2)
    assert bench.world.nodes[0].unroutable == (0 if is_ip else 1)
    assert bench.world.frames[index].hops == 3
    assert bench.unused == POOL - is_ip


@pytest.mark.parametrize("kind", [CNM, PROBE, TRIMMED, CREDIT])
def test_messages_go_past_queues_and_to_no_group(kind: int) -> None:
    bench = busy()
    bench.arrives(NOW, kind=kind, length=106)
    assert controls(bench) == [kind]
    bench.world.routes[0, SOURCE] = PORT_SETS
    bench.arrives(NOW, kind=kind, length=106)
    assert controls(bench) == [kind]
    assert (bench.world.nodes[0].unroutable, bench.unused) == (1, POOL - 1)
    assert bench.world.queues["frames_in"].sum() == 0


@pytest.mark.parametrize("kind", [ACK, SACK])
def test_acknowledgements_go_through_queues(kind: int) -> None:
    bench = busy()
    bench.arrives(NOW, kind=kind, length=70)
    assert (controls(bench), bench.world.queues[0].frames) == ([], 1)


def test_a_group_is_sent_a_copy_by_each_of_its_ports() -> None:
    bench = busy()
    w = bench.world
    w.routes[0, SOURCE] = PORT_SETS
    index = bench.arrives(NOW, length=700, flow=0)
    assert [values(w.queues[queue], "frames", "bytes") for queue in range(4)] == [
        *([1, 700], [0, 0], [1, 700], [0, 0])
    ]
    assert (int(w.queues[EVEN].head), bench.unused, w.nodes[0].copied) == (index, POOL - 2, 1)
    assert w.queues[0].head not in (index, NONE)


def test_a_group_has_as_many_copies_as_ports() -> None:
    bench = Bench(ports=3)
    w = bench.world
    w.ports["free_at"] = BUSY
    w.routes[0, SOURCE] = PORT_SETS
    bench.arrives(NOW, length=700, flow=0)
    assert [int(w.queues[LANES * port].bytes) for port in range(3)] == [700, 700, 700]
    assert (w.nodes[0].copied, bench.unused) == (2, POOL - 3)


def shared(**rooms: int) -> Bench:
    """Port 1 is an input of a switch whose ports share a memory."""
    bench = busy()
    w = bench.world
    w.ports[1].input, w.inputs[0].shared = 0, 1
    w.queues[EVEN].input = w.queues[EVEN + 1].input = 0
    w.nodes[0].shared_capacity = rooms.get("memory", 10**6)
    w.queues[EVEN].capacity = rooms.get("input", 10**6)
    w.queues[0].capacity = rooms.get("output", 10**6)
    return bench


def test_in_a_shared_memory_a_frame_counts_at_its_input_and_its_output() -> None:
    bench = shared(memory=2200, input=2200, output=2200)
    w = bench.world
    index = bench.arrives(NOW, length=1500)
    bench.arrives(NOW, length=700)
    assert [values(w.queues[queue], "frames", "bytes", "frames_in") for queue in (0, EVEN)] == [
        *([2, 2200, 2], [2, 2200, 2])
    ]
    assert values(w.nodes[0], "shared_bytes", "unroutable") == [2200, 0]
    assert values(w.frames[index], "held", "original") == [EVEN, NONE]
    assert w.queues[EVEN].bytes_came == 2200
    odd = bench.arrives(NOW, length=64, priority=1)
    assert w.queues[EVEN + 1].bytes_came == 64
    assert w.frames[odd].kind == DATA


@pytest.mark.parametrize(
    ("room", "at_input", "at_output"),
    [
        ({"input": 2199}, [1, 1, 2, 0, 2200], [1, 0, 1]),
        ({"output": 2199}, [1, 0, 2, 1, 2200], [1, 1, 2]),
        ({"memory": 2199}, [1, 0, 2, 1, 2200], [1, 1, 2]),
    ],
)
def test_what_finds_no_room_is_dropped_by_whom_it_lacks(
    room: dict[str, int], at_input: list[int], at_output: list[int]
) -> None:
    """By the output, but for an input that is full: that one's own."""
    bench = shared(**room)
    w = bench.world
    bench.arrives(NOW, length=1500)
    bench.arrives(NOW, length=700)
    names = ("frames", "frames_dropped", "frames_in", "frames_out", "bytes_came")
    assert values(w.queues[EVEN], *names) == at_input
    assert w.queues[EVEN].bytes_out == 700 * at_input[3]
    assert values(w.queues[0], "frames", "frames_dropped", "frames_in") == at_output
    assert (w.nodes[0].shared_bytes, bench.unused) == (1500, POOL - 1)


@pytest.mark.parametrize("priority", range(8))
def test_a_frame_lies_in_the_buffer_of_its_lane(priority: int) -> None:
    bench = shared()
    w = bench.world
    index = bench.arrives(NOW, length=700, priority=priority, original=5, port=0)
    lane = priority % 2
    assert [int(w.queues[queue].frames) for queue in range(4)] == [1 - lane, lane, 1 - lane, lane]
    assert values(w.frames[index], "held", "original", "port") == [EVEN + lane, NONE, 1]


@pytest.mark.parametrize(
    ("rooms", "lane_1", "said", "moved"),
    [
        ({"output": 699}, 700, LANE + 1, 1),
        ({"output": 699}, 699, LANE + 1, 0),
        ({"output": 699}, 700, LANE, 0),
        ({"output": 699, "memory": 699}, 700, LANE + 1, 0),
        ({"output": 699}, 700, 0, 0),
    ],
)
def test_a_full_output_may_have_a_lane_that_is_not(
    rooms: dict[str, int], lane_1: int, said: int, moved: int
) -> None:
    bench = shared(**rooms)
    w = bench.world
    w.queues[0].congestion_point = bench.rows["point"]
    bench.tell("point", answer=said)
    w.queues[1].capacity = lane_1
    index = bench.arrives(NOW, length=700)
    assert values(w.queues[0], "frames", "frames_in", "frames_moved") == [0, 1, moved]
    assert values(w.queues[1], "frames", "frames_dropped") == [moved, 0]
    assert values(w.queues[0], "frames_dropped", "frames_dropped_early") == [1 - moved, 0]
    assert values(w.nodes[0], "shared_bytes") == [700 * moved]
    assert (w.frames[index].priority, bench.unused) == (moved, POOL - moved)


@pytest.mark.parametrize("answer", [DROP, TRIM])
def test_what_finds_no_room_may_be_trimmed_or_dropped_early(answer: int) -> None:
    bench = shared(memory=699)
    w = bench.world
    w.queues[0].congestion_point = bench.rows["point"]
    bench.tell("point", answer=answer)
    bench.arrives(NOW, length=700, flow=0)
    names = ("frames_dropped_early", "frames_trimmed", "frames_dropped")
    assert values(w.queues[0], *names) == [int(answer == DROP), int(answer == TRIM), 0]
    assert (controls(bench), w.nodes[0].shared_bytes) == ([TRIMMED] if answer == TRIM else [], 0)


def test_each_copy_of_a_group_takes_room_in_a_shared_memory() -> None:
    bench = shared()
    w = bench.world
    w.queues[EVEN].input = NONE  # of port 1 as an output
    w.inputs[0].first_queue = EVEN + 1
    w.queues[EVEN + 1].input = 0
    w.lane_of[:] = 0
    w.routes[0, SOURCE] = PORT_SETS
    bench.arrives(NOW, length=700)
    assert [int(queue.frames) for queue in w.queues] == [1, 0, 1, 2]
    assert w.nodes[0].shared_bytes == 1400


def test_a_probe_meets_the_congestion_point_of_its_way_and_no_message_does() -> None:
    bench = busy()
    bench.world.queues[0].congestion_point = bench.rows["point"]
    for kind, came in ((CNM, 0), (PROBE, 1)):
        bench.arrives(NOW, kind=kind, length=106)
        assert bench.told("point", "came") == came
    assert controls(bench) == [CNM, PROBE]


def test_a_port_that_keeps_order_has_what_is_ahead_wait() -> None:
    bench = busy()
    w = bench.world
    w.ports[0].in_order = 1
    w.nodes[0].order_capacity, w.nodes[0].order_timeout = 10**6, BUSY
    ahead = bench.arrives(NOW, flow=0, sequence=1)
    assert (int(w.flows[0].order_head), w.queues[0].frames) == (ahead, 0)
    anywhere = busy()
    anywhere.world.nodes[0].order_capacity, anywhere.world.nodes[0].order_timeout = 10**6, BUSY
    anywhere.arrives(NOW, flow=0, sequence=1)
    assert anywhere.world.queues[0].frames == 1, "no other port does"
    first = bench.arrives(NOW, flow=0, sequence=0)
    assert bench.listed(int(w.queues[0].head)) == [first, ahead]


def test_a_member_of_a_group_counts_its_copy() -> None:
    bench = sink()
    w = bench.world
    w.flows[0].copies = 1  # of which it is the first
    bench.arrives(NOW, flow=0, sequence=4, length=700)
    assert values(w.flows[0], "frames_received", "bytes_received", "latest") == [1, 700, 5]
    assert (w.clock[0].delivered, bench.unused) == (1, POOL)


@pytest.mark.parametrize("said", [0, 1])
def test_a_notification_point_sees_what_is_delivered(said: int) -> None:
    bench = sink()
    w = bench.world
    w.nodes[0].notification_point = bench.rows["notice"]
    bench.tell("notice", answer=said, feedback=3)
    bench.arrives(NOW, length=700)
    assert (bench.told("notice", "came"), w.nodes[0].feedback_sent) == (1, said)
    bench.arrives(NOW, kind=ACK, length=70)
    assert bench.told("notice", "came") == 1


def test_a_probe_that_nobody_answers_ends() -> None:
    bench = sink()
    bench.arrives(NOW, kind=PROBE, length=70)
    assert (bench.world.nodes[0].feedback_ignored, bench.unused) == (1, POOL)
    assert bench.world.clock[0].delivered == 0


def test_a_frame_of_a_program_that_is_not_here_is_foreign() -> None:
    bench = sink()
    bench.arrives(NOW, kind=HOST, length=70, flow=0)
    assert values(bench.world.nodes[0], "foreign", "feedback_ignored") == [1, 0]
    assert values(bench.world.flows[0], "frames_received") == [0]
    assert bench.unused == POOL


def test_what_comes_to_an_input_is_counted_also_where_it_finds_no_way() -> None:
    bench = shared()
    bench.world.routes[0, SOURCE] = NONE
    bench.arrives(NOW, length=700)
    assert (bench.world.queues[EVEN].bytes_came, bench.world.nodes[0].unroutable) == (700, 1)
    bench.arrives(NOW, length=106, kind=CNM)
    assert bench.world.queues[EVEN].bytes_came == 700, "messages take no room"


def test_what_is_delivered_is_counted_for_its_flow() -> None:
    bench = sink()
    w = bench.world
    edges = latency_edges()
    for sequence, length in ((0, 1500), (2, 700), (1, 64), (2, 64), (3, 64)):
        bench.arrives(NOW, flow=0, sequence=sequence, length=length, created=NOW - 999)
    flow = w.flows[0]
    names = ("frames_received", "bytes_received", "latest", "frames_reordered")
    assert values(flow, *names) == [5, 2392, 4, 2]
    assert (w.clock[0].delivered, bench.unused) == (5, POOL)
    (place,) = w.latency[0].nonzero()[0]
    assert edges[place] <= 999 < edges[place + 1]
    assert w.latency[0, place] == 5
    bench.arrives(NOW)
    assert (w.clock[0].delivered, flow.frames_received, bench.unused) == (6, 5, POOL)


@pytest.mark.parametrize(
    ("kind", "flow", "headers", "ignored"),
    [(TRIMMED, 0, 1, 0), (TRIMMED, NONE, 0, 0), (REQUEST, 0, 0, 1), (CREDIT, 0, 0, 1)],
)
def test_messages_that_nobody_waits_for(kind: int, flow: int, headers: int, ignored: int) -> None:
    bench = sink()
    bench.arrives(NOW, kind=kind, flow=flow, length=106)
    assert bench.world.flows[0].headers_received == headers
    assert bench.world.nodes[0].feedback_ignored == ignored
    assert (bench.unused, bench.world.clock[0].delivered) == (POOL, 0)


@pytest.mark.parametrize("kind", [ACK, SACK])
def test_an_acknowledgement_of_a_flow_without_a_transport_ends_here(kind: int) -> None:
    bench = sink()
    for flow in (0, NONE):
        bench.arrives(NOW, kind=kind, flow=flow, length=70)
    assert (bench.unused, bench.world.clock[0].delivered) == (POOL, 0)
