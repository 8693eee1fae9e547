"""A limiter and its flow, call by call: bound, told, let go. `test_limiter` has its bucket."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import Field

from orchestrator.algorithm import reaction_point
from orchestrator.assembly.world_builder import Sizes, WorldBuilder
from orchestrator.engine.node.descriptor_pool import take
from orchestrator.engine.node.rate_limiter import (
    begin_limiter,
    bind_limiter,
    end_limiter,
    expire,
    next_timer,
    on_acknowledgement,
    on_congestion_message,
    on_frame_sent,
    on_loss,
)
from orchestrator.engine.records import (
    FRAMES,
    MESSAGES,
    NEVER,
    NONE,
    PROBE,
    SOONEST,
    TRANSPORT,
    record,
)
from orchestrator.plan.algorithm_params import Params
from tests.orchestrator.engine.node.bench import values

PERIOD, PHASE = 10**6, 123
NOW = PHASE + 7 * PERIOD + 9
TICK = NOW - 9
"""The last refill before."""
LINK = 10**9
GAIN = LINK * PERIOD
BITS = 8 * 10**12
"""Tokens of an octet."""
MINE, FIRST, OTHER = 1, 1, 2
"""The node that is looked at, its first limiter and its second one; limiter 0 is of another."""
HEARD = record("before", "lfsr", "said", "now", "length", "behind")
FORGETFUL = record("before", "said", "now", "length", "behind")
"""One without random numbers that go on."""


class Told(Params):
    """What the kernels answer, and whether the limiter is active then."""

    answer: int = Field(0, description="of all events")
    active: int = Field(1, description="after all events")


def bound(state, params, limiter, frame, now, message):
    """1; F where anything of the flow before is left."""
    clean = state.before == 0 and state.said == 0 and state.length == 0 and state.behind == 0
    limiter.target = 16 * limiter.target + (1 if clean else 15)
    state.now = now
    limiter.active = params.active
    return params.answer


def start(state, params, limiter, frame, now, message):
    """2."""
    limiter.target = 16 * limiter.target + 2
    limiter.active = params.active
    return params.answer


def started(state, params, limiter, frame, now, message):
    """3."""
    limiter.target = 16 * limiter.target + 3
    limiter.active = params.active
    return params.answer


def ended(state, params, limiter, frame, now, message):
    """4."""
    limiter.target = 16 * limiter.target + 4
    limiter.active = params.active
    return params.answer


def told(state, params, limiter, frame, now, message):
    """5."""
    limiter.target = 16 * limiter.target + 5
    state.said = 1000 * message.feedback + message.offset + message.delta + message.mark
    state.now = now
    state.length = frame.length
    message.feedback = 77
    limiter.active = params.active
    return params.answer


def sent(state, params, limiter, frame, now, message):
    """6."""
    limiter.target = 16 * limiter.target + 6
    state.said = message.feedback
    state.now = now
    state.length = frame.length
    message.feedback = 77
    limiter.active = params.active
    return params.answer


def timer(state, params, limiter, frame, now, message):
    """7."""
    limiter.target = 16 * limiter.target + 7
    state.now = now
    limiter.active = params.active
    return params.answer


def acked(state, params, limiter, frame, now, message):
    """8."""
    limiter.target = 16 * limiter.target + 8
    state.said = 1000 * message.feedback + message.offset + message.delta + message.mark
    state.length = frame.length
    message.feedback = 77
    limiter.active = params.active
    return params.answer


def lost(state, params, limiter, frame, now, message):
    """9."""
    limiter.target = 16 * limiter.target + 9
    state.said = 1000 * message.feedback + message.offset + message.delta + message.mark
    state.length = frame.length
    message.feedback = 77
    limiter.active = params.active
    return params.answer


def tick(state, params, limiter, frame, now, message):
    """A."""
    limiter.target = 16 * limiter.target + 10
    limiter.active = params.active
    return params.answer


def tock(state, params, limiter, frame, now, message):
    """B."""
    limiter.target = 16 * limiter.target + 11
    limiter.active = params.active
    return params.answer


KERNELS: dict[str, Any] = {"bound": bound, "start": start, "started": started, "ended": ended}
KERNELS |= {"feedback": told, "sent": sent, "timer": timer, "acked": acked, "lost": lost}
CLOCKS = {"tick": tick, "tock": tock}


class Nic:
    """Two nodes, of which the second one has two limiters, three flows and a port."""

    def __init__(self, state: np.dtype = HEARD, named: int = 2) -> None:
        clocks = dict([*CLOCKS.items()][:named])
        point = reaction_point("point", "", Told, state, timers=clocks, **KERNELS)
        builder = WorldBuilder(seed=1)
        for first, count in ((0, 1), (FIRST, 2)):
            builder.add(builder.nodes, first_limiter=first, limiters=count, receiver=NONE)
        free = {"control_head": NONE, "line_head": NONE, "input": NONE, "delay_line": NONE}
        builder.add(builder.ports, node=MINE, rate=LINK, **free)
        for number in range(3):
            builder.add(
                builder.limiters,
                flow=NONE,
                timer=NEVER,
                soonest=NEVER,
                depth=10**6 * BITS,
                rate=LINK,
                link_rate=LINK,
                period=PERIOD,
                phase=PHASE,
                node=min(number, MINE),
                named=len(clocks),
                algorithm=builder.instance(f"rp{number}", point, Told()),
            )
            builder.add(
                builder.flows,
                node=MINE,
                head=NONE,
                tail=NONE,
                limiter=NONE,
                limited=1,
                on=1,
                next_frame=NEVER,
                destination=number,
                priority=number,
            )
        self.built = builder.build(Sizes(spare_frames=4), addresses=4)
        self.world = self.built.world
        self.others_speak()

    def others_speak(self) -> None:
        """Leave something in the message under construction."""
        spare = self.world.frames[4]
        spare.feedback, spare.offset, spare.delta, spare.mark = 9, 9, 9, 9

    def limiter(self, number: int = FIRST) -> np.record:
        """Its record."""
        return self.world.limiters[number]  # type: ignore[no-any-return]

    def answers(self, answer: int = 0, active: int = 1, number: int = FIRST) -> None:
        """What its kernels do from now on."""
        for name, value in (("answer", answer), ("active", active)):
            self.world.memory[self.built.offset(f"params{number}", 0, name)] = value

    def state(self, *names: str, number: int = FIRST) -> list[int]:
        """What its reaction point noted."""
        return [int(self.world.memory[self.built.state_at(f"rp{number}", one)]) for one in names]

    def heard(self, number: int = FIRST) -> str:
        """The events so far, a digit each."""
        return f"{int(self.limiter(number).target):x}"

    def frame(self, **fields: int) -> int:
        """A descriptor that nobody has, of 1000 octets."""
        w = self.world
        index = int(take(w))
        for name, value in ({"length": 1000} | fields).items():
            w.frames[index][name] = value
        return index


def with_flow(flow: dict[str, int] | None = None, named: int = 2) -> Nic:
    """A NIC whose first limiter has flow 0, with these fields, of which nothing is noted yet."""
    nic = Nic(named=named)
    assert bind_limiter(nic.world, 0, NOW) == FIRST
    nic.limiter().target = 0
    nic.others_speak()
    for name, value in (flow or {}).items():
        nic.world.flows[0][name] = value
    return nic


def probes(nic: Nic) -> list[tuple[int, int, int]]:
    """Kind, what it says and its number of the probes that wait."""
    found, index = [], int(nic.world.ports[0].control_head)
    while index != NONE:
        frame = nic.world.frames[index]
        found.append(tuple(values(frame, "kind", "feedback", "sequence")))
        index = int(frame.next)
    return found  # type: ignore[return-value]


def is_free(nic: Nic) -> bool:
    """Whether the first limiter has been let go, with all that this takes."""
    row, flow = nic.limiter(), nic.world.flows[0]
    if row.flow != NONE:
        assert (row.flow, flow.limiter) == (0, FIRST)
        return False
    assert values(row, "active", "timer", "soonest") == [0, NEVER, NEVER]
    assert flow.limiter == NONE
    return True


def test_flows_get_the_free_limiters_of_their_node_and_the_next_one_gets_none() -> None:
    nic = Nic()
    flows = nic.world.flows
    flows[1].bytes = 4000
    nic.limiter().tokens = 5
    assert [bind_limiter(nic.world, flow, NOW) for flow in (1, 0, 2)] == [FIRST, OTHER, NONE]
    assert flows["limiter"].tolist() == [OTHER, FIRST, NONE]
    row = nic.limiter()
    assert values(row, "flow", "backlog", "tokens", "tick") == [1, 4000, 0, TICK]
    assert [nic.heard(number) for number in range(3)] == ["0", "1", "1"]
    assert nic.state("now") == [NOW]
    assert (nic.limiter(0).flow, flows[1].bytes) == (NONE, 4000)


@pytest.mark.parametrize(("shared", "left"), [(1, 3500), (0, 5000)])
def test_a_flow_with_a_limiter_takes_its_frames_out_of_the_shared_queue(
    shared: int, left: int
) -> None:
    nic = Nic()
    flow = nic.world.flows[0]
    flow.shared, flow.bytes = shared, 1500
    nic.world.nodes[MINE].host_bytes = 5000
    bind_limiter(nic.world, 0, NOW)
    assert (flow.shared, nic.world.nodes[MINE].host_bytes) == (0, left)


@pytest.mark.parametrize("state", [HEARD, FORGETFUL])
def test_nothing_of_the_flow_before_is_left_but_random_numbers(state: np.dtype) -> None:
    nic = Nic(state)
    names = [name for name in state.names or () if name != "lfsr"]
    for name in names:
        nic.world.memory[nic.built.state_at("rp1", name)] = 6
    seeds = nic.state("lfsr") if state is HEARD else []
    row = nic.limiter()
    row.window, row.rtt, row.soonest = 5, 6, 7
    row.timers[:2] = 8
    nic.world.memory[nic.built.state_at("rp2", "before")] = 5
    nic.answers(answer=0, active=1)
    bind_limiter(nic.world, 0, NOW)
    assert nic.heard() == "1"
    assert nic.state(*names) == [NOW * (name == "now") for name in names]
    assert seeds == (nic.state("lfsr") if state is HEARD else [])
    assert values(row, "window", "rtt", "soonest", "active") == [0, 0, NEVER, 1]
    assert row.timers[:2].tolist() == [NEVER, NEVER]
    assert nic.state("before", number=OTHER) == [5], "another's"


def test_nothing_behind_its_state_is_forgotten() -> None:
    """The parameters lie there."""
    nic = Nic()
    nic.answers(answer=1)
    place = nic.built.offset("params1", 0, "answer")
    assert place == nic.built.state_at("rp1", "before") + len(HEARD.names or ())
    bind_limiter(nic.world, 0, NOW)
    assert nic.world.memory[place] == 1


def test_a_flow_that_begins_is_bound_and_started() -> None:
    nic = Nic()
    begin_limiter(nic.world, 0, NOW)
    assert (nic.heard(), nic.world.flows[0].limiter) == ("123", FIRST)
    begin_limiter(nic.world, 0, NOW + PERIOD)
    assert nic.heard() == "1233", "it has kept its limiter"
    assert nic.limiter().tick == TICK + PERIOD
    nic.answers(active=0)
    begin_limiter(nic.world, 0, NOW)
    assert is_free(nic), "its reaction point has ended at once"


def test_a_flow_that_begins_without_a_free_limiter_is_counted() -> None:
    nic = Nic()
    for flow in (1, 2, 0):
        begin_limiter(nic.world, flow, NOW)
    assert nic.world.nodes["feedback_unassigned"].tolist() == [0, 1]
    assert (nic.heard(FIRST), nic.heard(OTHER)) == ("123", "123")


def test_a_flow_that_is_limited_by_messages_alone_begins_without_a_limiter() -> None:
    nic = Nic()
    nic.world.flows[0].limited = 0
    begin_limiter(nic.world, 0, NOW)
    assert (nic.heard(), nic.world.flows[0].limiter) == ("0", NONE)
    assert nic.world.nodes["feedback_unassigned"].tolist() == [0, 0]


@pytest.mark.parametrize("answer", [0, 1])
def test_what_is_sent_is_charged_and_told(answer: int) -> None:
    nic = with_flow()
    nic.answers(answer)
    frame = nic.world.frames[nic.frame()]
    on_frame_sent(nic.world, FIRST, frame, NOW + 2 * PERIOD)
    row = nic.limiter()
    assert values(row, "tokens", "tick") == [2 * GAIN - 1000 * BITS, TICK + 2 * PERIOD]
    assert nic.heard() == "6"
    assert nic.state("said", "now", "length") == [0, NOW + 2 * PERIOD, 1000]
    assert probes(nic) == ([(PROBE, 77, 0)] if answer else [])
    assert not is_free(nic)
    nic.answers(active=0)
    on_frame_sent(nic.world, FIRST, frame, NOW + 2 * PERIOD)
    assert is_free(nic), "its reaction point has ended with that frame"


@pytest.mark.parametrize(
    ("backlog", "on", "heard"), [(0, 1, "6"), (5, 0, "6"), (5, 1, "6"), (0, 0, "64"), (-1, 0, "6")]
)
def test_a_flow_that_is_off_has_ended_with_its_last_frame(
    backlog: int, on: int, heard: str
) -> None:
    nic = with_flow({"on": on, "head": 3})
    nic.limiter().backlog = backlog
    on_frame_sent(nic.world, FIRST, nic.world.frames[nic.frame()], NOW)
    assert nic.heard() == heard
    assert not is_free(nic)


@pytest.mark.parametrize("answer", [0, 1])
def test_a_message_is_counted_and_told(answer: int) -> None:
    nic = with_flow()
    nic.answers(answer)
    nic.limiter().feedback_received = 4
    on_congestion_message(
        nic.world, FIRST, nic.world.frames[nic.frame(length=106)], NOW + 2 * PERIOD
    )
    assert values(nic.limiter(), "feedback_received", "tick") == [5, TICK + 2 * PERIOD]
    assert nic.heard() == "5"
    assert nic.state("said", "now", "length") == [0, NOW + 2 * PERIOD, 106]
    assert probes(nic) == ([(PROBE, 77, 0)] if answer else [])
    nic.answers(0, active=0)
    on_congestion_message(nic.world, FIRST, nic.world.frames[nic.frame()], NOW)
    assert is_free(nic)


@pytest.mark.parametrize(("at", "heard", "left"), [(-1, "7", 1), (0, "7", 1), (1, "0", 0)])
def test_a_timer_is_due_to_the_instant_and_not_again_before_time_goes_on(
    at: int, heard: str, left: int
) -> None:
    nic = with_flow()
    nic.limiter().timer = NOW + at
    expire(nic.world, FIRST, NOW)
    assert nic.heard() == heard
    assert nic.limiter().timer == (NEVER if left else NOW + SOONEST)
    assert nic.limiter().tick == TICK
    assert not is_free(nic)


def test_a_timer_that_answers_sends_a_probe() -> None:
    nic = with_flow()
    nic.answers(1)
    nic.limiter().timer = NOW
    expire(nic.world, FIRST, NOW + PERIOD)
    assert probes(nic) == [(PROBE, 0, 0)], "nothing was said in it"
    assert nic.limiter().tick == TICK + PERIOD


@pytest.mark.parametrize(
    ("first", "second", "heard", "left"),
    [
        (NOW, NOW + 9999, "a", [NEVER, NOW + 9999]),
        (NOW + 9999, NOW - 5, "b", [NOW + 9999, NEVER]),
        (NOW, NOW, "ab", [NEVER, NEVER]),
        (NOW + 1, NOW + 2, "0", [NOW + SOONEST, NOW + SOONEST]),
    ],
)
def test_named_timers_are_due_each_on_its_own(
    first: int, second: int, heard: str, left: list[int]
) -> None:
    nic = with_flow()
    row = nic.limiter()
    row.timers[:2] = first, second
    row.soonest = min(first, second)
    expire(nic.world, FIRST, NOW)
    assert nic.heard() == heard
    assert row.timers[:2].tolist() == left
    assert row.soonest == min(left) == next_timer(row)
    row.timer = NOW + 3
    assert next_timer(row) == NOW + 3


def test_a_timer_that_ends_the_limiter_leaves_nothing_to_those_after_it() -> None:
    nic = with_flow()
    nic.answers(active=0)
    nic.limiter().timers[:2] = NOW
    expire(nic.world, FIRST, NOW)
    assert nic.heard() == "a"
    assert is_free(nic)


def test_where_no_timer_has_a_name_none_is_looked_at() -> None:
    nic = with_flow(named=0)
    nic.limiter().timers[:2] = NOW
    nic.limiter().timer = NOW
    expire(nic.world, FIRST, NOW)
    assert (nic.heard(), nic.limiter().soonest) == ("7", NEVER)
    nic = with_flow(named=1)
    nic.limiter().timers[:2] = NOW, 7
    nic.limiter().soonest = 7
    expire(nic.world, FIRST, NOW)
    assert (nic.heard(), nic.limiter().soonest) == ("a", NEVER), "the second has no name"


GONE = {"on": 0, "head": NONE, "limited": 1}


@pytest.mark.parametrize(
    ("flow", "waits", "free"),
    [
        (GONE, {}, True),
        (GONE | {"on": 1}, {}, False),
        (GONE | {"head": 0}, {}, False),
        (GONE | {"limited": 0}, {}, False),
        (GONE, {"timer": NOW + 5}, False),
        (GONE, {"timers": NOW + 5}, False),
    ],
)
def test_a_limiter_whose_flow_has_gone_is_let_go_when_no_timer_is_left(
    flow: dict[str, int], waits: dict[str, int], free: bool
) -> None:
    """Though its reaction point would keep it."""
    nic = with_flow(flow)
    for name, value in waits.items():
        nic.limiter()[name] = value
    nic.limiter().active = 1
    on_congestion_message(nic.world, FIRST, nic.world.frames[nic.frame()], NOW)
    assert is_free(nic) == free


@pytest.mark.parametrize(
    ("flow", "free"),
    [(GONE, True), (GONE | {"on": 1}, False), (GONE | {"head": 0}, False)],
)
def test_a_timer_of_a_flow_that_has_gone_ends_its_limiter(flow: dict[str, int], free: bool) -> None:
    nic = with_flow(flow)
    nic.limiter().timer = NOW
    nic.limiter().timers[:2] = NOW + 9999
    nic.limiter().active = 1
    expire(nic.world, FIRST, NOW)
    assert (nic.heard(), is_free(nic)) == ("0" if free else "7", free)


@pytest.mark.parametrize(
    ("capacity", "mode", "shares"),
    [(9000, FRAMES, 1), (0, FRAMES, 0), (9000, MESSAGES, 0), (9000, TRANSPORT, 0), (1, FRAMES, 1)],
)
def test_frames_of_a_flow_that_is_let_go_are_shared_again(
    capacity: int, mode: int, shares: int
) -> None:
    nic = with_flow({"bytes": 1500, "mode": mode})
    node = nic.world.nodes[MINE]
    node.host_capacity, node.host_bytes = capacity, 100
    nic.answers(active=0)
    on_congestion_message(nic.world, FIRST, nic.world.frames[nic.frame()], NOW)
    assert is_free(nic)
    assert (nic.world.flows[0].shared, node.host_bytes) == (shares, 100 + 1500 * shares)
    assert nic.world.nodes[0].host_bytes == 0


def test_an_acknowledgement_is_told_with_what_is_new_in_it() -> None:
    nic = with_flow({"flight": 3000, "acked": 9000, "marked": 5000})
    index = nic.frame(created=NOW - 700, length=70)
    nic.limiter().stamps = 5
    nic.answers(1)
    on_acknowledgement(nic.world, 0, index, 7000, 4500, NOW + PERIOD)
    row = nic.limiter()
    assert values(row, "rtt", "flight", "acked", "marked", "acked_total") == [
        *(700 + PERIOD, 3000, 2000, 500, 9000)
    ]
    assert values(row, "stamps", "tick") == [0, TICK + PERIOD]
    assert (nic.heard(), nic.state("said", "length")) == ("8", [0, 70])
    assert probes(nic) == [(PROBE, 77, 0)]
    nic.answers(0, active=0)
    on_acknowledgement(nic.world, 0, index, 7000, 4500, NOW - 700)
    assert row.rtt == 1, "no time at all is a ps"
    assert (is_free(nic), len(probes(nic))) == (True, 1)


def test_a_loss_is_told_with_how_many_there_were() -> None:
    nic = with_flow({"flight": 3000, "losses": 12, "lost_made": 456})
    nic.answers(1)
    frame = nic.world.frames[nic.frame(length=70)]
    on_loss(nic.world, 0, 10, frame, NOW + PERIOD)
    assert values(nic.limiter(), "flight", "lost", "lost_made", "tick") == [
        *(3000, 2, 456, TICK + PERIOD)
    ]
    assert (nic.heard(), nic.state("said", "length")) == ("9", [0, 70])
    assert probes(nic) == [(PROBE, 77, 0)]
    nic.answers(0, active=0)
    on_loss(nic.world, 0, 10, frame, NOW)
    assert (is_free(nic), len(probes(nic))) == (True, 1)


def test_a_flow_without_a_limiter_hears_nothing() -> None:
    nic = Nic()
    index = nic.frame()
    on_acknowledgement(nic.world, 0, index, 0, 0, NOW)
    on_loss(nic.world, 0, 0, nic.world.frames[index], NOW)
    end_limiter(nic.world, 0, NOW)
    assert [nic.heard(number) for number in range(3)] == ["0", "0", "0"]


@pytest.mark.parametrize(("head", "heard", "free"), [(NONE, "4", True), (2, "0", False)])
def test_a_flow_that_is_switched_off_has_ended_where_nothing_waits(
    head: int, heard: str, free: bool
) -> None:
    nic = with_flow({"on": 0, "head": head})
    end_limiter(nic.world, 0, NOW + PERIOD)
    assert (nic.heard(), is_free(nic), nic.limiter().tick) == (heard, free, TICK + PERIOD)
