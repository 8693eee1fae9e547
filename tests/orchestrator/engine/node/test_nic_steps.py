"""The sending side of a NIC, step by step: its sources, its queues, who sends next, who is told."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import Field

from orchestrator.algorithm import Algorithm, reaction_point
from orchestrator.assembly.world_builder import Sizes, WorldBuilder
from orchestrator.engine.node.actors import WAKE_FLOW, WAKE_LINE, WAKE_NODE, WAKE_PORT
from orchestrator.engine.node.descriptor_pool import take, unused_descriptors
from orchestrator.engine.records import CNM, DATA, NEVER, NIC, NONE, SOONEST, record
from orchestrator.plan.algorithm_params import Params
from tests.orchestrator.engine.node.bench import NS_OF_OCTET, actor_of, values, wake_alone

FULL = 1500 * NS_OF_OCTET
NOW = 50 * FULL
GAP = 7 * FULL
BUSY = 10**10
FLOWS = 3
POOL = 12
PERIOD = 10**6
FIRST_SINK = 10
"""Flow n goes to the address FIRST_SINK + n."""


class Gap(Params):
    """When the source's next frame comes."""

    gap: int = Field(GAP, description="ps")
    octets: int = Field(0, description="of the next frame; 0: as before")


class Slow(Params):
    """What a reaction point does."""

    rate: int = Field(10**8, description="bit/s, from the first message on")


def following(state, params, flow, frame, now, message):
    """The source has made a frame."""
    state.calls += 1
    message.mark = 16 * state.calls  # it has no message; what it writes is nobody's
    if params.octets != 0:
        flow.length = params.octets
    return params.gap


def slow_down(state, params, limiter, frame, now, message):
    """A message came."""
    state.calls += 1
    state.now = now
    limiter.active = 1
    limiter.rate = params.rate
    return 0


def due(state, params, limiter, frame, now, message):
    """A timer is due."""
    state.now = now
    return 0


class Sender:
    """A NIC of three flows and one limiter, whose port leads into a long line."""

    def __init__(self, shared: int = 0, **source: int) -> None:
        state = record("calls", "now")
        made = Algorithm("made", "traffic", "", Gap, state, {"next": following})
        point = reaction_point("point", "", Slow, state, feedback=slow_down, timer=due)
        builder = WorldBuilder(seed=1)
        builder.add(
            builder.nodes,
            kind=NIC,
            ports=1,
            limiters=1,
            host_capacity=shared,
            receiver=NONE,
            notification_point=NONE,
            reacting_head=NONE,
            reacting_tail=NONE,
        )
        builder.add(builder.nodes, kind=NIC, first_port=1, ports=1, receiver=NONE)
        for port in range(2):
            nothing = {"control_head": NONE, "control_tail": NONE, "line_head": NONE}
            nothing |= {"line_tail": NONE, "input": NONE, "delay_line": NONE, "wire": NONE}
            room = {"rate": 10**9, "line_capacity": NEVER, "up": 1, "next_hop": NONE}
            place = {"node": port, "peer": 1 - port, "first_lane": port, "delay": 10**12}
            builder.add(builder.ports, **nothing, **room, **place)
            builder.add(builder.lanes, queue=NONE, ready_head=NONE, ready_tail=NONE, granted=NEVER)
        row = builder.instance("point", point, Slow())
        bucket = {"depth": 10**5 * 8 * 10**12, "period": PERIOD}
        never = {"timer": NEVER, "soonest": NEVER}
        link = {"rate": 10**9, "link_rate": 10**9}
        builder.add(builder.limiters, flow=NONE, algorithm=row, **bucket, **never, **link)
        row = builder.instance("made", made, Gap(**source))
        for flow in range(FLOWS):
            builder.add(
                builder.flows,
                head=NONE,
                tail=NONE,
                limiter=NONE,
                next_frame=NEVER,
                on=1,
                length=1500,
                capacity=3000,
                priority=5,
                source=2,
                algorithm=row,
                mark=2,
                ready_next=NONE,
                shared=int(shared > 0),
                destination=FIRST_SINK + flow,
            )
            builder.address_flow[FIRST_SINK + flow] = flow
        self.built = builder.build(Sizes(spare_frames=POOL), addresses=FIRST_SINK + FLOWS)
        self.world = self.built.world
        self.node, self.port, self.lane = (
            self.world.nodes[0],
            self.world.ports[0],
            self.world.lanes[0],
        )

    def wake(self, flow: int, now: int = NOW) -> None:
        """Let a flow wake."""
        wake_alone(self.world, actor_of(self.world, WAKE_FLOW, flow), now)

    def serve(self, now: int = NOW) -> None:
        """Let the port wake."""
        wake_alone(self.world, actor_of(self.world, WAKE_PORT, 0), now)

    def wakes(self, flow: int) -> int:
        """When a flow wakes."""
        return self.when(actor_of(self.world, WAKE_FLOW, flow))

    def when(self, actor: int) -> int:
        """When an actor wakes."""
        tree = self.world.tree
        return int(tree[len(tree) // 2 + actor, 0])

    def makes(self, *flows: int, now: int = NOW) -> None:
        """These flows' sources make a frame each, one after the other."""
        for place, flow in enumerate(flows):
            self.world.flows[flow].next_frame = now + place
            self.wake(flow, now + place)

    def sent(self) -> list[int]:
        """The flows whose frames are in the line, in order."""
        found, index = [], int(self.port.line_head)
        while index != NONE:
            found.append(int(self.world.frames[index].flow))
            index = int(self.world.frames[index].next)
        return found

    def ready(self) -> list[int]:
        """The flows that are ready, in order."""
        found, flow = [], int(self.lane.ready_head)
        while flow != NONE:
            found.append(flow)
            flow = int(self.world.flows[flow].ready_next)
        return found

    def hears(self, now: int = NOW, destination: int = FIRST_SINK + 1) -> int:
        """A message about a flow comes in."""
        w = self.world
        index = int(take(w))
        row = w.frames[index]
        row.kind, row.length, row.destination, row.due, row.next = CNM, 106, destination, now, NONE
        row.flow, row.feedback = NONE, 5
        w.ports[1].line_head, w.ports[1].line_bytes = index, 106
        wake_alone(self.world, actor_of(self.world, WAKE_LINE, 1), now)
        return index


def test_a_source_makes_a_frame_when_it_is_due_and_an_idle_port_sends_it() -> None:
    nic = Sender()
    nic.makes(1)
    flow, frame = nic.world.flows[1], nic.world.frames[int(nic.port.line_head)]
    assert values(flow, "frames_sent", "bytes_sent", "sequence", "bytes", "ready", "head") == [
        *(1, 1500, 1, 0, 0, NONE)
    ]
    assert (flow.next_frame, nic.wakes(1)) == (NOW + GAP, NOW + GAP)
    names = ("kind", "length", "priority", "flow", "source", "destination", "sequence", "created")
    assert values(frame, *names, "mark") == [DATA, 1500, 5, 1, 2, FIRST_SINK + 1, 0, NOW, 2]
    assert (nic.node.host_bytes, nic.world.frames[POOL].mark) == (0, 16)
    nic.makes(1, now=NOW + GAP)
    assert values(nic.world.frames[int(nic.port.line_tail)], "sequence", "mark") == [1, 2]
    assert unused_descriptors(nic.world) == POOL - 2
    assert (nic.node.host_bytes, nic.world.frames[POOL].mark) == (0, 32)


def test_a_source_that_is_not_due_makes_nothing() -> None:
    nic = Sender()
    nic.world.flows[1].next_frame = NOW + 1
    nic.wake(1)
    assert (nic.sent(), nic.wakes(1)) == ([], NOW + 1)


def test_the_host_queue_takes_what_it_has_room_for_and_the_source_waits() -> None:
    nic = Sender(gap=FULL)
    nic.port.free_at = BUSY
    flow = nic.world.flows[1]
    nic.makes(1)
    assert values(flow, "bytes", "ready", "frames_sent") == [1500, 1, 0]
    assert (nic.ready(), nic.wakes(1)) == ([1], NOW + FULL)
    nic.makes(1, now=NOW + FULL)
    first, second = int(flow.head), int(flow.tail)
    assert (flow.bytes, nic.world.made[first].next) == (3000, second)
    assert nic.wakes(1) == NEVER, "there is no room for a third"
    nic.wake(1, NOW + 2 * FULL)
    assert values(flow, "bytes", "sequence", "frames_refused") == [3000, 2, 0]
    assert nic.ready() == [1], "and it is in the list once"
    nic.serve(BUSY)
    assert values(flow, "frames_sent", "bytes", "sequence") == [1, 3000, 3]
    assert nic.world.made[int(flow.tail)].created == BUSY, "the third one has room now"


@pytest.mark.parametrize(("gap", "then"), [(0, SOONEST), (SOONEST + 1, SOONEST + 1), (GAP, GAP)])
def test_a_source_that_does_not_wait_loses_what_finds_no_room(gap: int, then: int) -> None:
    nic = Sender(gap=gap)
    flow = nic.world.flows[1]
    flow.open_loop, flow.capacity, nic.port.free_at = 1, 1499, BUSY
    nic.makes(1)
    assert values(flow, "frames_refused", "bytes", "sequence") == [1, 0, 0]
    assert flow.next_frame == nic.wakes(1) == NOW + then
    assert nic.world.frames[POOL].mark == 16
    flow.capacity = 1500
    nic.makes(1, now=NOW + then)
    assert values(flow, "frames_refused", "bytes", "sequence") == [1, 1500, 1]


def test_the_source_may_change_the_length_of_its_next_frame() -> None:
    nic = Sender(octets=700)
    nic.makes(1)
    nic.makes(1, now=NOW + GAP)
    assert nic.world.flows[1].bytes_sent == 2200


def test_without_a_row_nothing_is_made() -> None:
    nic = Sender()
    nic.world.clock[0].made_used = len(nic.world.made)
    nic.makes(1)
    assert values(nic.world.flows[1], "sequence", "head", "bytes", "next_frame") == [
        *(0, NONE, 0, NOW + GAP)
    ]
    assert nic.world.clock[0].no_descriptor == 1


def test_without_a_descriptor_a_frame_is_lost_when_it_is_sent() -> None:
    """It has left the host queue, and is counted; nothing is on the wire."""
    nic = Sender()
    nic.world.clock[0].frames_used = len(nic.world.free)
    nic.makes(1)
    told = values(nic.world.flows[1], "sequence", "head", "bytes", "frames_sent", "next_frame")
    assert told == [1, NONE, 0, 1, NOW + GAP]
    assert (nic.sent(), nic.port.free_at) == ([], 0)
    assert nic.world.clock[0].no_descriptor == 1
    assert nic.wakes(1) == NOW + GAP


def test_a_row_is_used_again_at_once() -> None:
    """What waits are the rows of the host queue, in the order in which the frames were made."""
    nic = Sender(octets=700)
    nic.port.free_at = BUSY
    flow, made = nic.world.flows[1], nic.world.made
    nic.makes(1)
    nic.makes(1, now=NOW + 5)
    first, second = int(flow.head), int(flow.tail)
    assert [int(x) for x in made["length"][[first, second]]] == [1500, 700]
    assert [int(x) for x in made["created"][[first, second]]] == [NOW, NOW + 5]
    nic.serve(BUSY)
    assert (flow.head, flow.tail, made[second].next) == (second, first, first)
    assert values(made[first], "created", "length", "next") == [BUSY, 700, NONE]
    frame = nic.world.frames[nic.port.line_head]
    assert values(frame, "sequence", "created", "length", "mark") == [0, NOW, 1500, 2]


def test_those_that_wait_leave_in_their_order_and_their_rows_are_free_again() -> None:
    nic = Sender(octets=700)
    nic.port.free_at = BUSY
    flow, made = nic.world.flows[1], nic.world.made
    flow.capacity = 9000
    for step in range(4):
        nic.makes(1, now=NOW + step)
    rows = following_rows(made, flow.head)
    assert [int(made[row].created) for row in rows] == [NOW, NOW + 1, NOW + 2, NOW + 3]
    assert rows == [0, 1, 2, 3]
    flow.next_frame = NEVER
    left = []
    for step in range(4):
        nic.serve(BUSY + step * FULL)
        nic.wake(1, BUSY + step * FULL)
        left.append(int(flow.bytes))
    assert left == [2100, 1400, 700, 0]
    assert flow.head == NONE
    assert sorted(following_rows(made, nic.world.clock[0].unmade)) == rows
    for step in range(3):  # by now the unused ones are in another order
        nic.makes(1, now=BUSY + 3 * FULL + 1 + step)
    again = following_rows(made, flow.head) + following_rows(made, nic.world.clock[0].unmade)
    assert sorted(again) == rows


def following_rows(made: np.ndarray, row: int) -> list[int]:
    """The rows of a list, from this one on."""
    found = []
    while row != NONE:
        found.append(int(row))
        row = made[row].next
    return found


def test_flows_take_turns_in_the_order_in_which_they_became_ready() -> None:
    nic = Sender()
    nic.port.free_at = NOW + 10
    nic.makes(2, 0, 1)
    nic.makes(2, now=NOW + 5)
    assert nic.ready() == [2, 0, 1]
    nic.serve(NOW + 20)
    assert (nic.sent(), nic.ready(), nic.wakes(2)) == ([2], [0, 1], NOW + 20)
    nic.wake(2, NOW + 20)
    assert nic.ready() == [0, 1, 2], "it steps back"
    for step in range(1, 4):
        nic.serve(NOW + 20 + step * FULL)
    assert (nic.sent(), nic.ready()) == ([2, 0, 1, 2], [])


def test_who_finds_the_port_free_does_not_overtake_those_that_are_ready() -> None:
    nic = Sender()
    nic.port.free_at = BUSY
    nic.makes(2)
    nic.makes(0, now=BUSY)
    assert (nic.sent(), nic.ready()) == ([], [2, 0])
    nic.serve(BUSY)
    assert (nic.sent(), nic.ready()) == ([2], [0])


def test_who_finds_the_port_free_lets_a_control_frame_go_first() -> None:
    """Its limiter may have sent one just now."""
    nic = Sender()
    w = nic.world
    index = int(take(w))
    w.frames[index].kind, w.frames[index].length, w.frames[index].flow = CNM, 106, NONE
    w.frames[index].next = NONE
    nic.port.control_head = nic.port.control_tail = index
    nic.makes(1)
    assert (nic.sent(), nic.ready()) == ([NONE], [1])


def test_a_frame_that_finds_the_port_free_is_the_turn_of_its_lane() -> None:
    nic = Sender()
    nic.world.clock[0].lanes, nic.world.clock[0].direct = 2, 0
    nic.world.flows[2].lane = 1
    nic.makes(0)
    assert nic.sent() == [0]
    nic.makes(0, 2, now=NOW + 10)
    nic.serve(NOW + FULL)
    assert nic.sent() == [0, 2], "it is the other one's turn, though this one was ready before"


def test_a_frame_that_finds_the_port_free_uses_up_what_was_granted() -> None:
    nic = Sender()
    nic.lane.granted = 1500
    nic.makes(1)
    assert nic.sent() == [1]
    assert values(nic.lane, "granted_used", "paused_until") == [1500, NEVER]


@pytest.mark.parametrize("held", ["free_at", "paused_until"])
def test_a_flow_whose_port_is_held_is_ready_and_wakes_for_its_source_alone(held: str) -> None:
    nic = Sender()
    nic.port[held] = NOW + 1
    nic.makes(1)
    assert (nic.sent(), nic.ready(), nic.wakes(1)) == ([], [1], NOW + GAP)
    nic.port[held] = NOW
    nic.serve()
    assert (nic.sent(), nic.ready()) == ([1], [])


def test_frames_of_a_shared_queue_are_sent_in_the_order_in_which_they_were_made() -> None:
    nic = Sender(shared=6000)
    nic.port.free_at = BUSY
    nic.makes(2, 0)
    assert nic.node.host_bytes == 3000
    nic.makes(1, 1, now=NOW + 10)
    assert (nic.node.host_bytes, nic.world.flows[1].bytes) == (6000, 3000)
    nic.makes(0, now=NOW + 20)
    assert values(nic.world.flows[0], "bytes", "sequence") == [1500, 1], "the queue is full"
    nic.world.flows["next_frame"] = NEVER
    for step in range(3):
        nic.serve(BUSY + step * FULL)
    assert (nic.sent(), nic.ready(), nic.node.host_bytes) == ([2, 0, 1], [], 1500)
    nic.wake(1, BUSY + 2 * FULL)
    nic.serve(BUSY + 3 * FULL)
    assert (nic.sent(), nic.node.host_bytes) == ([2, 0, 1, 1], 0)


def test_of_those_that_share_the_first_made_goes_wherever_it_stands_in_the_list() -> None:
    nic = Sender(shared=9000)
    nic.port.free_at = BUSY
    nic.makes(0, 1, 2)
    order = {0: 30, 1: 20, 2: 10}
    for flow, made in order.items():
        nic.world.made[int(nic.world.flows[flow].head)].created = made
    nic.world.flows["next_frame"] = NEVER
    nic.serve(BUSY)
    assert (nic.sent(), nic.ready(), nic.lane.ready_tail) == ([2], [0, 1], 1)
    nic.serve(BUSY + FULL)
    assert (nic.sent(), nic.ready(), nic.lane.ready_tail) == ([2, 1], [0], 0)
    nic.serve(BUSY + 2 * FULL)
    assert (nic.sent(), nic.ready()) == ([2, 1, 0], [])


@pytest.mark.parametrize("made", [10, 40])
def test_a_flow_that_has_left_the_shared_queue_keeps_its_place(made: int) -> None:
    """It has a limiter since; of the others the first one made goes."""
    nic = Sender(shared=9000)
    nic.port.free_at = BUSY
    nic.makes(0, 1, 2)
    nic.world.flows[1].shared = 0
    for flow, created in ((0, 20), (1, made), (2, 30)):
        nic.world.made[int(nic.world.flows[flow].head)].created = created
    nic.world.flows["next_frame"] = NEVER
    for step in range(3):
        nic.serve(BUSY + step * FULL)
    assert nic.sent() == [0, 1, 2]


def test_of_frames_that_were_made_at_once_the_first_ready_goes_first() -> None:
    nic = Sender(shared=9000)
    nic.port.free_at = BUSY
    nic.makes(2, 0, 1)
    for flow in range(FLOWS):
        nic.world.made[int(nic.world.flows[flow].head)].created = NOW
    nic.world.flows["next_frame"] = NEVER
    for step in range(3):
        nic.serve(BUSY + step * FULL)
    assert nic.sent() == [2, 0, 1]


@pytest.mark.parametrize(("due", "made"), [(BUSY, 2), (BUSY + 1, 1)])
def test_the_room_of_a_frame_that_is_sent_is_for_one_that_is_due(due: int, made: int) -> None:
    nic = Sender()
    nic.port.free_at = BUSY
    nic.world.flows[1].capacity = 1500
    nic.makes(1)
    nic.world.flows[1].next_frame = due
    nic.serve(BUSY)
    assert values(nic.world.flows[1], "sequence", "frames_sent") == [made, 1]


@pytest.mark.parametrize(("controlled", "created"), [(0, NOW), (1, BUSY)])
def test_a_round_trip_counts_from_where_the_segment_leaves(controlled: int, created: int) -> None:
    nic = Sender()
    nic.port.free_at = BUSY
    nic.world.flows[1].controlled = controlled
    nic.makes(1)
    nic.serve(BUSY)
    assert nic.world.frames[int(nic.port.line_head)].created == created


def test_a_window_that_a_message_or_a_timer_may_have_opened_is_looked_at_at_once() -> None:
    nic = Sender()
    flow = nic.world.flows[1]
    flow.held, nic.port.free_at = 1, BUSY
    nic.hears()
    assert (flow.next_frame, nic.wakes(1)) == (NOW, NOW)
    flow.next_frame = NEVER
    nic.world.limiters[0].timer = NOW + 5
    nic.wake(1, NOW + 5)
    assert flow.sequence == 1, "its source was asked"
    other = Sender()
    other.world.flows[1].next_frame = NOW + 90
    other.hears()
    assert other.wakes(1) == NOW + 90, "who waits for nothing is not"


def test_a_message_binds_the_flow_that_it_is_about_and_slows_it_down() -> None:
    nic = Sender()
    free = unused_descriptors(nic.world)
    nic.hears()
    limiter = nic.world.limiters[0]
    assert values(limiter, "flow", "rate", "feedback_received") == [1, 10**8, 1]
    assert nic.world.flows["limiter"].tolist() == [NONE, 0, NONE]
    assert unused_descriptors(nic.world) == free
    nic.hears(NOW + 5, FIRST_SINK)
    assert values(nic.node, "feedback_unassigned", "feedback_ignored") == [1, 0]
    nic.hears(NOW + 6)
    assert limiter.feedback_received == 2
    assert unused_descriptors(nic.world) == free


@pytest.mark.parametrize("why", ["no flow", "of another", "no limiters"])
def test_a_message_that_concerns_nobody_here_is_counted(why: str) -> None:
    nic = Sender()
    if why == "of another":
        nic.world.flows[1].node = 1
    if why == "no limiters":
        nic.node.limiters = 0
    nic.hears(destination=3 if why == "no flow" else FIRST_SINK + 1)
    assert values(nic.node, "feedback_ignored", "feedback_unassigned") == [1, 0]
    assert nic.world.limiters[0].flow == NONE
    assert unused_descriptors(nic.world) == POOL


def test_messages_act_after_the_reaction_time_in_their_order() -> None:
    nic = Sender()
    nic.node.reaction_time = 100
    actor = actor_of(nic.world, WAKE_NODE, 0)
    nic.hears(NOW)
    assert (nic.when(actor), nic.world.limiters[0].flow) == (NOW + 100, NONE)
    nic.hears(NOW + 30, FIRST_SINK)
    assert nic.when(actor) == NOW + 100
    wake_alone(nic.world, actor, NOW + 100)
    assert (nic.when(actor), nic.world.limiters[0].flow) == (NOW + 130, 1)
    wake_alone(nic.world, actor, NOW + 130)
    assert (nic.when(actor), nic.node.feedback_unassigned) == (NEVER, 1)
    assert unused_descriptors(nic.world) == POOL


def test_a_limited_flow_waits_for_tokens_and_wakes_for_them() -> None:
    nic = Sender()
    nic.hears()
    limiter, flow = nic.world.limiters[0], nic.world.flows[1]
    limiter.tokens, limiter.rate = 0, 10**8
    limiter.tick = limiter.phase = NOW // PERIOD * PERIOD
    nic.makes(1)
    assert (nic.sent(), nic.ready(), flow.bytes, limiter.backlog) == ([], [], 1500, 1500)
    start = NOW // PERIOD * PERIOD + PERIOD
    assert nic.wakes(1) == start
    flow.next_frame = NEVER
    nic.wake(1, start)
    assert nic.sent() == [1]
    assert values(limiter, "backlog", "tokens") == [0, 10**8 * PERIOD - 12_000 * 10**12]


@pytest.mark.parametrize(("at", "told"), [(0, NOW), (1, 0)])
def test_a_limiters_timer_wakes_its_flow(at: int, told: int) -> None:
    nic = Sender()
    nic.hears(NOW - 9)
    nic.world.limiters[0].timer = NOW + at
    place = nic.built.state_at("point", "now")
    nic.world.memory[place] = 0
    nic.wake(1)
    assert nic.world.memory[place] == told
    assert nic.wakes(1) == (NEVER if at == 0 else NOW + 1)


def test_a_flow_of_another_limiter_does_not_wake_for_it() -> None:
    nic = Sender()
    nic.hears(NOW - 9)
    nic.world.limiters[0].timer = NOW + 5
    nic.wake(0)
    assert nic.wakes(0) == NEVER
