"""A flow behind a transport, call by call: asked for segments, acknowledged, credited."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pydantic import Field

from orchestrator.algorithm import Algorithm, reaction_point
from orchestrator.assembly.world_builder import Sizes, WorldBuilder
from orchestrator.engine.frames.telemetry_header import ROOM, STAMPED, room_octets
from orchestrator.engine.kernel_events import TRANSPORT_ARRIVED, TRANSPORT_TRIMMED
from orchestrator.engine.node.actors import flow_actor
from orchestrator.engine.node.descriptor_pool import take as take_descriptor
from orchestrator.engine.node.descriptor_pool import unused_descriptors
from orchestrator.engine.node.nic_transmit import make_frame, wake_flow
from orchestrator.engine.node.receive_path import (
    deliver,
    receive_ack,
    receive_credit,
    receive_trimmed,
)
from orchestrator.engine.node.transport_calls import (
    apply_ack,
    apply_credit,
    ask_transport_segment,
    delayed_ack,
    on_segment_arrived,
    withdraw_request,
)
from orchestrator.engine.records import (
    ACK,
    DATA,
    MESSAGE,
    NEVER,
    NONE,
    REQUEST,
    SACK,
    SOONEST,
    TRANSPORT,
    WITHDRAWN,
    record,
)
from orchestrator.engine.records import MESSAGES as BY_MESSAGES
from orchestrator.engine.workload import HEADERS
from orchestrator.plan.algorithm_params import Params
from tests.orchestrator.engine.node.bench import values
from tests.orchestrator.worlds import Empty

NOW = 1_000_000
LATER = NOW + 5  # ps: the last message has begun
SEGMENT, FULL = 1000, HEADERS + 1000
MINE, POINT = 1, 0
"""The flow that is looked at, which is not the first one; its limiter."""
SOURCE, SINK = 1, 2
POOL = 6
NOTED = record("calls", "sequence", "kind", "said", "held", "now", "begun")
HEARD = record("acks", "losses", "by", "hops")
MESSAGES = ((NONE, 0, 0, 1), (0, 2500, 0, 3), (NOW, 1000, 3, 1), (NOW + 5, 300, 4, 1))
"""Start, octets, first segment and how many: one of another flow, three of this one."""


class Told(Params):
    """What the transport's kernels answer and say."""

    answer: int = Field(0, description="")
    delays: int = Field(0, description="1: answers when its time limit is over, and no segment")
    sequence: int = Field(0, description="")
    offset: int = Field(0, description="")
    mark: int = Field(0, description="")
    kind: int = Field(ACK, description="of an acknowledgement")
    ask_at: int = Field(NEVER, description="next_frame, or ack_timer; below 0: says nothing")
    acked: int = Field(0, description="octets")
    losses: int = Field(0, description="")


def send(state, params, flow, frame, now, message):
    """Asked for a segment."""
    state.calls += 1
    state.now = now
    state.held = flow.held
    state.begun = flow.available
    state.said = message.sequence + message.created + message.feedback + message.offset
    message.sequence = params.sequence
    message.offset = params.offset
    message.mark = params.mark
    flow.next_frame = params.ask_at
    flow.losses += params.losses
    return params.answer


def arrived(state, params, flow, frame, now, message):
    """A segment came, or an acknowledgement was put off long enough."""
    state.calls += 1
    state.said = message.sequence + message.created + message.feedback + message.offset
    state.now = now
    state.sequence = frame.sequence
    state.kind = message.kind
    if params.ask_at >= 0:
        flow.ack_timer = params.ask_at
    message.kind = params.kind
    message.sequence = params.sequence
    message.created = now - 7
    message.offset = params.offset
    message.delta = 21
    message.feedback = 13
    message.inner = 23
    message.mark = params.mark
    return 0 if params.delays != 0 and state.kind == DATA else params.answer


def trimmed(state, params, flow, frame, now, message):
    """The header of one."""
    state.calls += 100
    message.sequence = 0
    return 0


def acknowledged(state, params, flow, frame, now, message):
    """An acknowledgement came back."""
    state.calls += 10
    state.now = now
    state.sequence = frame.sequence
    state.kind = frame.kind
    state.begun = flow.available
    state.said = message.sequence + message.created + message.feedback + message.offset
    flow.acked += params.acked
    flow.marked += params.mark
    flow.losses += params.losses
    flow.next_frame = params.ask_at
    message.mark = 6
    return 0


def heard_ack(state, params, limiter, frame, now, message):
    """The reaction point."""
    state.acks += 1
    state.hops = limiter.hops
    return 0


def heard_loss(state, params, limiter, frame, now, message):
    """The same."""
    state.losses += limiter.lost
    state.by = frame.kind
    return 0


KERNELS = {"send": send, "arrived": arrived, "trimmed": trimmed, "acknowledged": acknowledged}
CREDITED = {"credited": acknowledged}


class Host:
    """A node with a port, a flow of each kind and a limiter for the second one."""

    def __init__(self, credits_too: bool = True, stamps: int = 0, **told: int) -> None:
        builder = WorldBuilder(seed=1)
        kernels = KERNELS | (CREDITED if credits_too else {})
        carrier = Algorithm("carrier", "transport", "", Told, NOTED, kernels, leaves_control=True)
        point = reaction_point("point", "", Empty, HEARD, acked=heard_ack, lost=heard_loss)
        builder.add(builder.nodes, receiver=NONE, limiters=1)
        free = {"control_head": NONE, "line_head": NONE, "input": NONE, "delay_line": NONE}
        builder.add(builder.ports, rate=10**9, address=SOURCE, **free)
        builder.add(builder.lanes, queue=NONE, ready_head=NONE, ready_tail=NONE, granted=NEVER)
        row = builder.instance("point", point, Empty())
        link = {"rate": 10**9, "link_rate": 10**9, "depth": 10**17, "period": 10**6}
        never = {"timer": NEVER, "soonest": NEVER}
        builder.add(builder.limiters, flow=MINE, active=1, algorithm=row, **never, **link)
        row = builder.instance("carrier", carrier, Told(**told))
        first = {"message": 1, "first_message": 1, "sending": 1, "arriving": 1, "last_message": 4}
        for flow in range(2):
            builder.add(
                builder.flows,
                head=NONE,
                tail=NONE,
                limiter=NONE,
                back=NONE,
                mode=TRANSPORT,
                next_frame=NEVER,
                ack_timer=NEVER,
                segment=SEGMENT,
                on=1,
                source=SOURCE,
                destination=SINK,
                priority=2,
                ack_priority=6,
                stamps=stamps,
                headers=HEADERS,
                capacity=3000,
                transport=row,
                **(first if flow == MINE else {}),
            )
        messages = np.zeros(len(MESSAGES), MESSAGE)
        messages["flow"] = [0, MINE, MINE, MINE]
        messages["behind"] = messages["opens"] = NONE
        for number, name in enumerate(("start", "octets", "first", "frames")):
            messages[name] = [row[number] for row in MESSAGES]
        builder.messages.append(messages)
        self.built = builder.build(Sizes(spare_frames=POOL), addresses=4)
        self.world = self.built.world
        self.flow = self.world.flows[MINE]
        spare = self.world.frames[POOL]
        for name in ("sequence", "created", "feedback", "offset", "delta", "mark"):
            spare[name] = 9  # said before

    def controlled(self, **values: int) -> None:
        """Leave it to the reaction point what may be under way."""
        self.flow.controlled, self.flow.limiter = 1, POINT
        for name, value in values.items():
            self.world.limiters[POINT][name] = value

    def frame(self, **fields: int) -> int:
        """A descriptor that nobody has."""
        w = self.world
        index = int(take_descriptor(w))
        for name, value in ({"kind": DATA, "flow": MINE, "port": 0} | fields).items():
            w.frames[index][name] = value
        return index

    @property
    def wakes(self) -> int:
        """When the flow does."""
        tree = self.world.tree
        return int(tree[len(tree) // 2 + flow_actor(self.world, MINE), 0])

    def noted(self, *names: str, of: str = "carrier") -> list[int]:
        """What a kernel was handed."""
        return [int(self.world.memory[self.built.state_at(of, name)]) for name in names]

    @property
    def silent(self) -> bool:
        """Whether nothing waits for the port and no descriptor is taken."""
        return bool(
            self.world.ports[0].control_head == NONE and unused_descriptors(self.world) == POOL
        )

    def waiting(self, *names: str) -> list[int]:
        """Fields of the one control frame that waits for the port."""
        index = int(self.world.ports[0].control_head)
        assert index != NONE
        assert self.world.frames[index].next == NONE
        return values(self.world.frames[index], *names)


@pytest.mark.parametrize(
    ("sequence", "row", "octets"),
    [(0, 1, 1000), (1, 1, 1000), (2, 1, 500), (3, 2, 1000), (4, 3, 300)],
)
def test_a_segment_has_what_its_message_has_left(sequence: int, row: int, octets: int) -> None:
    host = Host(answer=1, sequence=sequence, mark=3)
    host.flow.flight, host.flow.octets_made = 10, 20
    assert ask_transport_segment(host.world, MINE, LATER) == sequence
    flow, length = host.flow, HEADERS + octets
    assert values(flow, "length", "sending", "flight", "octets_made", "made") == [
        *(length, row, 10 + length, 20 + length, LATER)
    ]
    assert values(flow, "highest", "frames_resent") == [sequence + 1, 0]
    assert host.world.frames[POOL].mark == 3, "for whoever makes the frame"
    assert host.noted("calls", "said", "held", "now") == [1, 0, 0, LATER]
    assert host.silent


@pytest.mark.parametrize("stamps", [0, 2])
def test_a_segment_becomes_a_frame_with_its_mark_and_its_room_for_stamps(stamps: int) -> None:
    host = Host(answer=1, sequence=2, mark=3, stamps=stamps)
    host.flow.mark = 4
    host.world.stamps[:] = 7
    make_frame(host.world, MINE, NOW)
    index = int(host.flow.head)
    frame = host.world.frames[index]
    assert values(frame, "kind", "sequence", "mark", "created", "flow") == [DATA, 2, 7, NOW, MINE]
    assert frame.length == host.flow.length == HEADERS + room_octets(stamps) + 500
    row = host.world.stamps[index if stamps else 0]
    assert [int(row[place]) for place in (ROOM, STAMPED)] == ([2, 0] if stamps else [7, 7])


@pytest.mark.parametrize(
    ("sequence", "highest", "resent"), [(2, 3, 1), (2, 2, 0), (0, 5, 1), (4, 0, 0)]
)
def test_a_segment_that_was_made_before_is_sent_again(
    sequence: int, highest: int, resent: int
) -> None:
    host = Host(answer=1, sequence=sequence)
    host.flow.highest = highest
    ask_transport_segment(host.world, MINE, LATER)
    assert values(host.flow, "frames_resent", "highest") == [resent, max(highest, sequence + 1)]


def test_messages_are_handed_over_when_they_begin_and_the_next_one_is_waited_for() -> None:
    host = Host()
    for now, message, available, octets, then in (
        (0, 2, 3, 2500, NOW),
        (NOW - 1, 2, 3, 2500, NOW),
        (NOW, 3, 4, 3500, NOW + 5),
        (NOW + 5, 4, 5, 3800, NEVER),
    ):
        assert ask_transport_segment(host.world, MINE, now) == NONE
        demand = octets + available * HEADERS
        assert values(host.flow, "message", "available", "demand") == [message, available, demand]
        assert host.noted("begun") == [available], "before it was asked"
        assert host.flow.next_frame == then


@pytest.mark.parametrize(
    ("answer", "asks", "then"),
    [(0, 2**61, NOW + 5), (0, NOW - 9, NOW + 5), (1, NOW + 9, NOW + 5), (1, NOW + 3, NOW + 3)],
)
def test_a_message_that_begins_is_never_missed(answer: int, asks: int, then: int) -> None:
    host = Host(answer=answer, ask_at=asks)
    ask_transport_segment(host.world, MINE, NOW)
    assert host.flow.next_frame == then


@pytest.mark.parametrize(
    ("asks", "then"), [(NOW, SOONEST), (NOW + SOONEST + 1, SOONEST + 1), (0, SOONEST)]
)
def test_who_wants_nothing_sent_is_asked_again_when_time_has_gone_on(asks: int, then: int) -> None:
    host = Host(ask_at=asks)
    host.flow.message = 4
    host.flow.length = 70
    assert ask_transport_segment(host.world, MINE, NOW) == NONE
    assert values(host.flow, "next_frame", "length", "flight") == [NOW + then, FULL, 0]


@pytest.mark.parametrize(
    ("window", "flight", "held", "then"),
    [(FULL, 0, 0, NEVER), (FULL, 1, 1, NEVER), (FULL // 2, 0, 1, NOW + 10_000)],
)
def test_a_window_that_is_shut_holds_the_flow_until_it_opens(
    window: int, flight: int, held: int, then: int
) -> None:
    host = Host()
    host.controlled(window=window, rtt=5000)
    host.flow.message, host.flow.flight, host.flow.made = 4, flight, NOW
    assert ask_transport_segment(host.world, MINE, NOW) == NONE
    assert host.noted("held") == [host.flow.held] == [held]
    assert host.flow.next_frame == then
    host.flow.controlled = 0
    ask_transport_segment(host.world, MINE, NOW)
    assert host.noted("held") == [0]


def test_losses_that_are_found_when_asked_are_told() -> None:
    host = Host(losses=3)
    host.controlled()
    host.flow.losses, host.flow.made = 4, 777
    ask_transport_segment(host.world, MINE, NOW)
    assert host.noted("losses", "acks", of="point") == [3, 0]
    assert values(host.world.limiters[POINT], "lost", "lost_made") == [3, 777]
    marked = Host(answer=1, sequence=2, mark=3, losses=2)
    marked.controlled()
    assert ask_transport_segment(marked.world, MINE, NOW) == 2
    assert marked.world.frames[POOL].mark == 3, "who is told does not change the segment's"
    quiet = Host()
    quiet.controlled()
    ask_transport_segment(quiet.world, MINE, NOW)
    assert quiet.noted("losses", of="point") == [0]


def test_a_transport_that_wants_credit_tells_the_destination() -> None:
    host = Host(answer=2, sequence=9000, offset=1500)
    assert ask_transport_segment(host.world, MINE, NOW) == NONE
    names = ("kind", "flow", "sequence", "offset", "feedback", "created", "source", "destination")
    assert host.waiting(*names) == [REQUEST, MINE, 9000, 1500, 0, NOW, SOURCE, SINK]
    assert host.waiting("priority", "length") == [2, host.world.types[REQUEST].octets]
    assert values(host.flow, "flight", "length") == [0, FULL]


def test_a_request_and_an_acknowledgement_say_what_their_octets_have_room_for() -> None:
    host = Host(answer=2, sequence=2**40, offset=2**40)
    assert ask_transport_segment(host.world, MINE, NOW) == NONE
    assert host.waiting("sequence", "offset") == [2**40, 2**32 - 1]
    host = Host(answer=1, sequence=2**40, offset=2**40, mark=2**9 + 3)
    on_segment_arrived(host.world, host.frame(sequence=5), TRANSPORT_ARRIVED, NOW)
    assert host.waiting("sequence", "offset", "mark") == [2**32 - 1, 2**32 - 1, 3]


def test_a_flow_that_waits_for_credit_withdraws_when_it_is_switched_off() -> None:
    host = Host()
    withdraw_request(host.world, MINE, NOW)
    assert host.waiting("kind", "sequence", "offset", "feedback") == [REQUEST, 0, 0, WITHDRAWN]
    assert host.flow.withdrawn == 1, "which its transport may want to take back"
    without = Host(credits_too=False)
    withdraw_request(without.world, MINE, NOW)
    assert without.silent
    assert without.flow.withdrawn == 0
    other = Host()
    other.flow.mode = TRANSPORT - 1
    withdraw_request(other.world, MINE, NOW)
    assert other.silent


@pytest.mark.parametrize(("kind", "inner"), [(ACK, NONE), (SACK, 23), (DATA, NONE)])
def test_a_segment_is_acknowledged_to_where_it_came_from(kind: int, inner: int) -> None:
    host = Host(answer=1, sequence=2, offset=30, kind=kind, mark=5)
    index = host.frame(sequence=5)
    on_segment_arrived(host.world, index, TRANSPORT_ARRIVED, NOW)
    sent = SACK if kind == SACK else ACK
    names = ("kind", "flow", "sequence", "created", "offset", "delta", "feedback")
    assert host.waiting(*names) == [sent, MINE, 2, NOW - 7, 30, 21, 13]
    assert host.waiting("source", "destination", "priority", "mark") == [SINK, SOURCE, 6, 5]
    assert host.waiting("length") == [host.world.types[sent].octets]
    if kind == SACK:
        assert host.waiting("inner") == [inner]
    assert host.noted("calls", "sequence", "kind", "now") == [1, 5, DATA, NOW]
    assert host.flow.back == 0


def test_an_acknowledgement_that_has_no_octets_goes_nowhere() -> None:
    host = Host(answer=1)
    w = replace(host.world, types=host.world.types.copy())
    w.types["known"][ACK] = 0
    on_segment_arrived(w, host.frame(sequence=5), TRANSPORT_ARRIVED, NOW)
    assert (w.nodes[0].unroutable, w.ports[0].control_head) == (1, NONE)
    assert unused_descriptors(w) == POOL - 1, "the segment is still there"


@pytest.mark.parametrize("delayed", [False, True])
def test_an_acknowledgement_echoes_the_stamps_of_the_segment_that_it_answers(delayed: bool) -> None:
    """It has as much room as the segment had, and is longer by that; a delayed one answers the
    segment that came last, whose descriptor other frames have by then."""
    host = Host(answer=1, stamps=2, delays=int(delayed))
    w = host.world
    w.stamps[:] = 9
    index = host.frame(sequence=5)
    w.stamps[index] = range(len(w.stamps[index]))
    on_segment_arrived(w, index, TRANSPORT_ARRIVED, NOW)
    if delayed:
        assert w.ports[0].control_head == NONE
        w.stamps[: w.frames.size] = 7
        delayed_ack(w, MINE, NOW)
    found = w.stamps[int(w.ports[0].control_head)]
    assert found.tolist() == list(range(len(found)))
    assert host.waiting("length") == [w.types[ACK].octets + room_octets(2)]


def test_what_needs_no_acknowledgement_has_none_and_messages_are_whole_in_order() -> None:
    host = Host(sequence=3)
    on_segment_arrived(host.world, host.frame(sequence=2), TRANSPORT_ARRIVED, NOW)
    assert host.world.ports[0].control_head == NONE
    assert host.world.messages["done"].tolist() == [0, NOW, 0, 0]
    assert values(host.world.messages[1], "received") == [3]
    assert host.flow.arriving == 2
    on_segment_arrived(host.world, host.frame(), TRANSPORT_TRIMMED, NOW)
    assert host.noted("calls") == [101]


def test_an_acknowledgement_that_was_put_off_is_sent() -> None:
    host = Host(answer=1, sequence=4, ask_at=NOW)
    host.flow.back = 0
    host.flow.ack_timer = NOW
    delayed_ack(host.world, MINE, NOW)
    assert host.waiting("kind", "sequence") == [ACK, 4]
    assert host.noted("kind", "calls") == [ACK, 1]
    assert host.flow.ack_timer == NOW + SOONEST, "not again before time goes on"
    assert host.noted("said") == [0], "it begins with nothing said"
    once = Host(ask_at=-1)
    once.flow.ack_timer = NOW
    delayed_ack(once.world, MINE, NOW)
    assert once.flow.ack_timer == NEVER, "who does not want it again is not asked"
    late = Host(ask_at=NOW + 9999)
    delayed_ack(late.world, MINE, NOW)
    assert (late.silent, late.flow.ack_timer) == (True, NOW + 9999)
    assert late.world.nodes[0].unroutable == 0


def test_before_a_segment_came_there_is_no_way_back() -> None:
    host = Host(answer=1)
    delayed_ack(host.world, MINE, NOW)
    assert (host.silent, host.world.nodes[0].unroutable) == (True, 1)


@pytest.mark.parametrize("obey", [apply_ack, apply_credit])
def test_what_comes_back_is_told_after_the_messages_that_have_begun(obey) -> None:
    host = Host(ask_at=NOW + 9)
    index = host.frame(kind=SACK, sequence=6)
    obey(host.world, MINE, index, NOW)
    kind = ACK if obey is apply_ack else SACK
    assert host.noted("calls", "sequence", "kind", "begun", "now", "said") == [
        *(10, 6, kind, 4, NOW, 0)
    ]
    assert host.flow.next_frame == NOW + 5, "then the next one begins"
    assert host.world.frames[POOL].mark == 6, "what it says is nobody's"
    host.flow.on = 0
    obey(host.world, MINE, index, NOW)
    assert host.flow.next_frame == NEVER


@pytest.mark.parametrize(("flight", "left"), [(3000, 1800), (1200, 0), (1000, 0)])
def test_what_was_acknowledged_is_not_under_way_any_more(flight: int, left: int) -> None:
    host = Host(acked=1200, mark=300)
    host.controlled()
    host.flow.flight, host.flow.acked, host.flow.marked = flight, 5000, 100
    host.flow.made, host.flow.losses = 777, 4
    apply_ack(host.world, MINE, host.frame(kind=ACK, created=NOW - 60), NOW)
    assert values(host.flow, "flight", "acked", "lost_made") == [left, 6200, 777]
    names = ("acked", "marked", "acked_total", "flight", "rtt")
    assert values(host.world.limiters[POINT], *names) == [1200, 300, 6200, left, 60]
    assert host.noted("acks", "losses", of="point") == [1, 0]


@pytest.mark.parametrize(("stamps", "hops"), [(3, 2), (0, 0)])
def test_the_stamps_of_an_acknowledgement_are_the_reaction_points_to_read(
    stamps: int, hops: int
) -> None:
    host = Host(stamps=stamps)
    host.controlled()
    index = host.frame(kind=ACK)
    if stamps:
        host.world.stamps[index, [ROOM, STAMPED]] = 3, 2
    apply_ack(host.world, MINE, index, NOW)
    assert host.noted("acks", "hops", of="point") == [1, hops]


@pytest.mark.parametrize("controlled", [0, 1])
def test_losses_that_an_acknowledgement_tells_of_are_told(controlled: int) -> None:
    host = Host(losses=2, acked=10)
    host.controlled()
    host.flow.controlled, host.flow.flight, host.flow.losses = controlled, 500, 7
    apply_ack(host.world, MINE, host.frame(kind=SACK), NOW)
    found = host.noted("acks", "losses", "by", of="point")
    assert found == ([1, 2, ACK] if controlled else [0, 0, 0])
    assert host.flow.flight == (490 if controlled else 500)


@pytest.mark.parametrize(("at", "sent"), [(0, 1), (1, 0)])
def test_an_acknowledgement_is_put_off_to_the_instant(at: int, sent: int) -> None:
    host = Host(answer=1, sequence=4, ask_at=NOW + 9999)
    host.flow.back, host.flow.ack_timer = 0, NOW + at
    wake_flow(host.world, MINE, NOW)
    assert host.noted("calls") == [sent]
    assert host.wakes == (NOW + 9999 if sent else NOW + 1)


def test_a_flow_wakes_for_what_its_transport_set_when_a_frame_came() -> None:
    """A segment, the header of one, an acknowledgement, a credit."""
    for put_off, take in enumerate((deliver, receive_ack, receive_trimmed, receive_credit), 20):
        host = Host(ask_at=NOW + put_off)
        host.flow.message = 4  # no message is to come
        place = [] if take is deliver else [0]
        header = take is receive_trimmed
        if header:
            host.flow.ack_timer = NOW + put_off
        take(host.world, *place, host.frame(length=700, created=NOW - 5), NOW)
        assert host.wakes == NOW + put_off, take
        assert unused_descriptors(host.world) == POOL
        assert host.flow.headers_received == header


def test_frames_of_messages_without_a_transport_are_counted_where_they_arrive() -> None:
    host = Host()
    host.flow.mode = BY_MESSAGES
    for sequence in (0, 2, 1):
        deliver(host.world, host.frame(length=700, sequence=sequence), NOW + sequence)
    assert host.world.messages["received"].tolist() == [0, 3, 0, 0]
    assert host.world.messages["done"].tolist() == [0, NOW + 1, 0, 0]
    assert host.noted("calls") == [0]
