"""Acknowledgements for every n-th segment: when the receiver answers, and that nothing is lost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.algorithm import Algorithm
from orchestrator.assembly import record
from orchestrator.engine.records import ACK, DATA, NEVER
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import (
    MS,
    US,
    Table,
    assembled,
    at,
    line_of_three,
    recorded,
    run_until,
)
from tests.plugins.scheme_driver import Driver
from traffic.go_back_n import GO_BACK_N, NEGATIVE, GoBackN
from traffic.selective_repeat import SELECTIVE, Selective
from traffic.tcp import TCP, Tcp

FRAME = 1500
DELAY = 30 * US


class Receiver:
    """The receiving end of a transport: what it answers to each segment, and when by itself."""

    def __init__(self, transport: str, every: int) -> None:
        made: dict[str, tuple[Algorithm, Params]] = {
            "go-back-n": (GO_BACK_N, GoBackN(ack_every=every, ack_delay=DELAY)),
            "selective": (SELECTIVE, Selective(ack_every=every, ack_delay=DELAY)),
            "tcp": (TCP, Tcp(ack_every=every, delayed_ack=DELAY, ecn=True)),
        }
        self.driver = Driver(*made[transport], ack_timer=NEVER)
        self.now = 0

    @property
    def timer(self) -> int:
        """When the time limit is over (ps)."""
        return int(self.driver.ack_timer)

    @property
    def expected(self) -> int:
        """The first segment that is missing."""
        return int(self.driver.state["expected"][0])

    def segment(
        self, sequence: int, marked: bool = False, after: int = US, event: str = "arrived"
    ) -> Any:
        """The acknowledgement of a segment that comes `after` ps, or None."""
        self.now += after
        fields = {"sequence": sequence, "length": FRAME, "created": self.now - 5 * US}
        return self._called(event, kind=DATA, mark=3 if marked else 2, **fields)

    def time_is_over(self) -> Any:
        """The acknowledgement that the time limit brings, or None; as the engine asks for it."""
        self.now = max(self.now, self.timer)
        self.driver.set(ack_timer=NEVER)
        return self._called("arrived", kind=ACK, sequence=0, length=0, created=0, mark=0)

    def _called(self, event: str, **frame: int) -> Any:
        message = self.driver.message
        for name in NAMES:
            message[name] = 0
        message["kind"] = frame["kind"]
        if self.driver.come(event, self.now, **frame) == 0:
            return None
        return SimpleNamespace(**{name: int(message[name][0]) for name in NAMES})


NAMES = ("sequence", "created", "offset", "delta", "feedback", "mark", "inner")
CONTROLLED = ("go-back-n", "selective")
REASSEMBLING = ("selective", "tcp")
TRANSPORTS = (*CONTROLLED, "tcp")


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("every", [1, 2, 3, 8])
def test_one_segment_in_n_is_answered_and_the_last_ones_by_the_time_limit(
    transport: str, every: int
) -> None:
    receiver = Receiver(transport, every)
    answered = [n for n in range(20) if receiver.segment(n) is not None]
    assert answered == list(range(every - 1, 20, every))
    owed = 20 % every
    if owed == 0:
        assert receiver.timer == NEVER
        return
    first_came = receiver.now - (owed - 1) * US
    assert receiver.timer == first_came + DELAY
    last = receiver.time_is_over()
    assert last.sequence == 20
    assert receiver.timer == NEVER


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_is_out_of_order_there_already_or_fills_a_gap_is_answered_at_once(
    transport: str,
) -> None:
    receiver = Receiver(transport, 8)
    assert receiver.segment(0) is None
    assert receiver.segment(2).sequence == 1, "a gap"
    assert receiver.timer == NEVER, "nothing is owed any more"
    filled = receiver.segment(1)
    assert filled.sequence == (2 if transport == "go-back-n" else 3), "the gap is filled"
    next_one = receiver.expected
    assert receiver.segment(next_one) is None
    assert receiver.segment(0).sequence == next_one + 1, "it is there already"
    assert receiver.timer == NEVER


@pytest.mark.parametrize("transport", REASSEMBLING)
def test_a_part_of_a_gap_is_answered_at_once(transport: str) -> None:
    receiver = Receiver(transport, 8)
    assert receiver.segment(3).sequence == 0
    assert [receiver.segment(n).sequence for n in (0, 1, 2)] == [1, 2, 4]
    assert receiver.segment(4) is None


@pytest.mark.parametrize("transport", CONTROLLED)
def test_a_change_of_the_mark_is_answered_at_once(transport: str) -> None:
    """RFC 8257, 3.2, both ways; a run of marked segments is coalesced like any other."""
    receiver = Receiver(transport, 4)
    marks = [False, True, True, True, True, True, False, False, True]
    answered = [receiver.segment(n, mark) for n, mark in enumerate(marks)]
    assert [n for n, one in enumerate(answered) if one is not None] == [1, 5, 6, 8]
    octets = [one.delta for one in answered if one is not None]
    assert octets == [FRAME, 5 * FRAME, 5 * FRAME, 6 * FRAME]


@pytest.mark.parametrize("transport", CONTROLLED)
def test_an_answer_echoes_when_the_newest_segment_left(transport: str) -> None:
    receiver = Receiver(transport, 3)
    receiver.segment(0)
    receiver.segment(1, after=7 * US)
    assert receiver.time_is_over().created == 3 * US
    receiver.segment(2)
    receiver.segment(3)
    assert receiver.segment(4).created == receiver.now - 5 * US


def test_the_header_of_a_trimmed_segment_is_answered_at_once() -> None:
    receiver = Receiver("selective", 8)
    receiver.segment(0)
    refused = receiver.segment(1, event="trimmed")
    assert (refused.offset, refused.sequence, refused.feedback) == (1, 1, NEGATIVE)
    assert receiver.timer == NEVER


class StandardReceiver:
    """When a receiver answers a segment without ECN marks, by RFC 5681, 4.2, and RFC 1122, 4.2.3.2,
    from the set of all segments that came."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.came: set[int] = set()
        self.owed = 0

    @property
    def expected(self) -> int:
        """The first segment that is missing."""
        return next(n for n in range(len(self.came) + 1) if n not in self.came)

    def is_answered(self, segment: int) -> bool:
        """True if the segment is acknowledged immediately."""
        in_order = segment == self.expected
        fills_gap = in_order and max(self.came, default=-1) > segment
        self.came.add(segment)
        self.owed += in_order
        answered = not in_order or fills_gap or self.owed >= self.every
        if answered:
            self.owed = 0
        return answered


@given(
    transport=st.sampled_from(REASSEMBLING),
    every=st.integers(1, 8),
    steps=st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 2, 5, -1, -3]), st.booleans())),
)
def test_segments_are_answered_at_once_by_the_standards_rules(
    transport: str, every: int, steps: list[tuple[int, bool]]
) -> None:
    """Gaps that several segments fill, gaps behind gaps, duplicates, and time limits in between."""
    receiver, standard = Receiver(transport, every), StandardReceiver(every)
    for step, waits in steps:
        if waits and receiver.timer < NEVER:
            assert receiver.time_is_over().sequence == standard.expected
            standard.owed = 0
        segment = max(standard.expected + step, 0)
        answer = receiver.segment(segment, after=1)
        assert (answer is not None) == standard.is_answered(segment)
        assert receiver.expected == standard.expected
        assert answer is None or answer.sequence == standard.expected


@given(
    transport=st.sampled_from(CONTROLLED),
    every=st.integers(1, 64),
    steps=st.lists(
        st.tuples(st.integers(-3, 5), st.booleans(), st.integers(1, 40 * US)), max_size=60
    ),
)
def test_no_more_than_n_segments_and_no_longer_than_the_limit(
    transport: str, every: int, steps: list[tuple[int, bool, int]]
) -> None:
    """Whatever comes in whatever order: what the last answer says is what one per segment says."""
    receiver, each = Receiver(transport, every), Receiver(transport, 1)
    said, before, last = 0, 0, False
    for step, marked, after in steps:
        if receiver.timer <= receiver.now + after:
            said = receiver.time_is_over().sequence
            each.now = receiver.now
            after = US
        sequence = max(each.expected + (step if step < 3 else 0), 0)
        in_order = sequence == each.expected
        one, other = (
            receiver.segment(sequence, marked, after),
            each.segment(sequence, marked, after),
        )
        if other is None:  # a gap that was asked for already
            assert one is None
            continue
        if one is not None:
            said = one.sequence
            for name in ("sequence", "created", "offset", "delta", "feedback", "inner"):
                assert getattr(one, name) == getattr(other, name), name
        else:
            assert in_order
            assert marked == last or every == 1
            assert 0 < each.expected - said < every
            assert receiver.now < receiver.timer <= receiver.now + DELAY
        last = marked if in_order else last
        assert receiver.expected == each.expected >= before
        before = each.expected
    if receiver.timer < NEVER:
        said = receiver.time_is_over().sequence
    assert said == each.expected


def line(transport: Table, size: int, **switch: Any) -> Table:
    """A message from NIC to sink; 1 Gb/s, 10 us on each link."""
    table = line_of_three(duration=60 * MS)
    for link in table["links"].values():
        link["delay"] = 10 * US
    table["nodes"]["switch"] |= switch
    table["traffic"] = {
        "t": {"plugin": "messages", "from": "nic", "to": "sink", "size": size}
        | {"transport": transport}
    }
    return table


def answers(done: Recording) -> int:
    """Frames that the sink sent: nothing else goes that way."""
    return int(done.column("sink>switch", "frames_out")[-1])


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("every", [1, 2, 4, 16])
def test_fewer_acknowledgements_carry_the_same_message(transport: str, every: int) -> None:
    """1001 segments, so that the last one waits for the time limit, longer than 16 of them take."""
    delay = "delayed_ack" if transport == "tcp" else "ack_delay"
    given = {"plugin": transport, "ack_every": every, delay: 250 * US}
    plan = line(given, 1001 * (FRAME - 70), buffer=4_000_000)
    if transport != "tcp":
        plan["nodes"]["nic"]["reaction_point"] = {"plugin": "newreno"}
    done = recorded(plan)
    assert done.messages is not None
    assert done.messages.done_ps[0] > 0, "the message is there"
    assert at(done, "t", "frames_sent", 60 * MS) == 1001, "and nothing was sent twice"
    began = 30 if transport == "tcp" or every > 1 else 0  # windows that are no multiple of n
    assert 1001 / every <= answers(done) <= -(-1001 // every) + began


@pytest.mark.parametrize("every", [1, 2, 8])
def test_dctcp_counts_the_same_share_of_marks(every: int) -> None:
    """At a queue that marks about half: the marked octets that the sender hears of are those of the
    frames that were marked, and the queue is held where it is without coalescing."""
    transport = {"plugin": "go-back-n", "ack_every": every, "ack_delay": 50 * US}
    plan = line(transport, 2_000 * (FRAME - 70))
    plan["nodes"]["nic"]["reaction_point"] = {"plugin": "dctcp"}
    marks = {"plugin": "red", "low": 19_999, "high": 20_000, "max_probability": "1"}
    plan["nodes"]["switch"]["congestion_point"] = marks
    plan["links"]["down"]["rate"] = 5 * 10**8
    assembly = assembled(plan)
    run_until(assembly, 60 * MS + 1)
    done = record("simulated", [(assembly, list(plan["nodes"]))], cpu_s=0.0, wall_s=0.0)
    marked = at(done, "switch.sink", "frames_marked", 60 * MS)
    assert assembly.world.flows[0].acked == 2_000 * FRAME
    assert assembly.world.flows[0].marked == marked * FRAME > 50 * FRAME
    held = done.column("switch.sink", "queue_bytes")[100:400].mean()
    assert held == pytest.approx(20_000, rel=0.35)


@pytest.mark.parametrize("every", [1, 4, 16])
def test_hpcc_measures_by_acknowledgements_that_the_time_limit_sent(every: int) -> None:
    """Its window is 9 segments: with n = 16 the time limit sends every acknowledgement, which has
    to echo the stamps of the last segment."""
    table = line({"plugin": "go-back-n", "ack_every": every, "ack_delay": 10 * US}, 30_000_000)
    table["nodes"]["nic"] |= {
        "reaction_point": {"plugin": "hpcc", "base_rtt": 100 * US},
        "limiter": {"depth": 3_000, "period": US},
    }
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "int"}
    table["links"]["down"]["rate"] = 5 * 10**8
    done = recorded(table)
    queue = done.column("switch.sink", "queue_bytes")[100:].max()
    assert queue < 6_000, "it knows that the port behind is slower"
    assert at(done, "nic.rp0", "u", 60 * MS) > 0


def refused(transport: Table) -> str:
    with pytest.raises(BadInput) as raised:
        Plan(**line(transport, 10_000)).check(Registry.load())
    return str(raised.value)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("every", [0, 65])
def test_a_count_out_of_bounds_is_refused(transport: str, every: int) -> None:
    text = refused({"plugin": transport, "ack_every": every})
    assert "traffic.t.transport.ack_every" in text


def test_a_transport_that_answers_each_segment_by_itself_has_no_such_key() -> None:
    assert "traffic.t.transport.ack_every" in refused({"plugin": "credit", "ack_every": 2})


def test_a_timeout_within_the_time_limit_is_refused() -> None:
    transport = {"plugin": "go-back-n", "ack_every": 2, "ack_delay": 80 * US, "timeout": 120 * US}
    text = refused(transport)
    assert "traffic.t.transport.timeout" in text
    assert "at least with ack_delay" in text
    transport["ack_every"] = 1
    Plan(**line(transport, 10_000)).check(Registry.load())


@pytest.mark.software
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_real_frames_are_answered_as_simulated_ones(
    namespaces: None,
    transport: str,
) -> None:
    """A time limit of 5 ms, longer than what holds a shared core up, and timeouts beyond that."""
    counts = {}
    given: Table = {
        "go-back-n": {"ack_delay": 5 * MS, "timeout": 1_000 * MS},
        "selective": {"ack_delay": 5 * MS, "min_rto": 1_000 * MS},
        "tcp": {"delayed_ack": 5 * MS, "min_rto": 1_000 * MS},
    }[transport]
    table = line({"plugin": transport, "ack_every": 4} | given, 400 * (FRAME - 70))
    for link in table["links"].values():
        link |= {"rate": 10**8, "delay": 20 * US}
    table["duration"] = 150 * MS
    if transport != "tcp":
        table["nodes"]["nic"]["reaction_point"] = {"plugin": "newreno"}
    for target in ("simulated", "software"):
        done = run(Plan(**table), target=target, out=None).recording
        assert done.messages is not None
        assert done.messages.done_ps[0] > 0
        assert at(done, "t", "frames_received", 150 * MS) == 400
        counts[target] = answers(done)
    assert 100 <= counts["simulated"] <= 110
    assert counts["software"] == pytest.approx(counts["simulated"], abs=25)
