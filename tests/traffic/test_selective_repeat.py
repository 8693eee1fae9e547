"""Selective acknowledgements: what is lost, and nothing else, is sent again; and all arrives."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.algorithm import reaction_point
from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.records import DATA, NEVER, record
from orchestrator.hookspecs import hookimpl
from orchestrator.plan import Plan
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import MS, US, Empty, Table, line_of_three, run_in_steps, run_until
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver
from traffic.go_back_n import NEGATIVE
from traffic.selective_repeat import IN_FLIGHT, SELECTIVE, Selective
from traffic.selective_repeat_receiver import MAP, WINDOW

FRAME = 1500
STATE = record("octets", "events", "losses", "by_timer", "least_made", "marks")


def wide(state, params, limiter, frame, now, message):
    """Twenty frames may be under way."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = 20 * 1500
    return 0


def acked(state, params, limiter, frame, now, message):
    """Add up what is told."""
    state.octets += limiter.acked
    state.marks += limiter.marked
    return 0


def lost(state, params, limiter, frame, now, message):
    """Count; what is lost was made before now, and not before what was lost earlier."""
    state.events += 1
    state.losses += limiter.lost
    state.by_timer += 0 if frame.kind == 8 else 1
    if limiter.lost_made > now or limiter.lost <= 0 or limiter.lost_made < 0:
        state.least_made = 1
    return 0


def line(size: int = 1_430_000, **transport: Any) -> Table:
    """A message of 1000 segments from NIC to sink; 1 Gb/s, 10 us on each link."""
    table = line_of_three(duration=60 * MS)
    for link in table["links"].values():
        link["delay"] = 10 * US
    table["nodes"]["nic"]["reaction_point"] = {"plugin": "mine"}
    table["traffic"] = {
        "t": {"plugin": "messages", "from": "nic", "to": "sink", "size": size}
        | {"transport": {"plugin": "selective", "min_rto": MS} | transport}
    }
    return table


def world(monkeypatch: pytest.MonkeyPatch, table: Table) -> Assembly:
    """Assembled with the reaction point `mine`."""
    mine = reaction_point("mine", "for a test", Empty, STATE, start=wide, acked=acked, lost=lost)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=hookimpl(lambda: [mine]))
    return assemble(Plan(**table).check(Registry([*entry_points(group=GROUP), point])))


def heard(assembly: Assembly) -> dict[str, int]:
    """The state of the reaction point."""
    return {
        field: int(assembly.world.memory[assembly.built.state_at("nic.rp0", field)])
        for field in STATE.names or ()
    }


def is_over(assembly: Assembly) -> None:
    """All is there, once; nothing is under way; what was told adds up."""
    found, flow = heard(assembly), assembly.world.flows[0]
    assert assembly.world.messages["done"][0] < NEVER
    assert found["octets"] == flow.acked == 1000 * FRAME
    assert (flow.flight, found["least_made"]) == (0, 0)
    assert flow.losses == found["losses"]
    assert flow.frames_sent == 1000 + flow.frames_resent


def test_without_loss_nothing_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line()
    table["links"]["down"]["rate"] = 500_000_000
    assembly = world(monkeypatch, table)
    most = 0
    for _ in run_in_steps(assembly, 6_000):
        most = max(most, int(assembly.world.flows[0].flight))
    is_over(assembly)
    assert most == 20 * FRAME
    assert assembly.world.flows[0].frames_resent == 0
    assert heard(assembly)["events"] == 0


def test_what_a_full_queue_drops_is_sent_again_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = line()
    table["nodes"]["switch"]["buffer"] = 12_000
    table["links"]["down"]["rate"] = 300_000_000
    assembly = world(monkeypatch, table)
    run_until(assembly, 60 * MS)
    is_over(assembly)
    dropped = int(assembly.world.queues["frames_dropped"].sum())
    assert assembly.world.flows[0].frames_resent == dropped > 20
    assert heard(assembly)["losses"] == dropped


@pytest.mark.parametrize("share", ["0.01", "0.1", "0.3"])
def test_a_link_that_loses_both_ways_loses_nothing_in_the_end(
    monkeypatch: pytest.MonkeyPatch, share: str
) -> None:
    table = line() | {"duration": 2000 * MS}
    table["links"]["up"] |= {"delay_line": {"plugin": "lossy-delay", "loss_rate": share}}
    assembly = world(monkeypatch, table)
    run_until(assembly, 2000 * MS)
    is_over(assembly)
    lost_by = dict(zip(assembly.indices.ports, assembly.world.ports["frames_lost"], strict=True))
    assert lost_by["switch.nic"] > 3, "acknowledgements too"
    resent = int(assembly.world.flows[0].frames_resent)
    assert lost_by["nic.switch"] <= resent < lost_by["nic.switch"] + 200


def test_what_is_lost_at_the_end_is_found_by_the_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line(size=1430)
    table["timeline"] = [{"at": 0, "cut": "up"}, {"at": 1500 * MS, "mend": "up"}]
    table["duration"] = 4000 * MS
    assembly = world(monkeypatch, table)
    run_until(assembly, 4000 * MS)
    found = heard(assembly)
    assert (found["losses"], found["by_timer"]) == (2, 2)
    done = int(assembly.world.messages["done"][0])
    assert 3000 * MS < done < 3001 * MS, "RFC 6298: 1 s before anything is known, then doubled"


def test_frames_that_overtake_each_other_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more reordering than the transport waits for they are taken for lost, and sent twice."""
    for wait, twice in ((3, True), (40, False)):
        table = line(reordering=wait)
        line_of = {"plugin": "jittered-delay", "jitter": 9 * US}
        table["links"]["down"] |= {"delay": 100 * US}
        table["links"] |= ways(line_of)
        del table["links"]["up"]
        table["nodes"] |= {"a": {"kind": "switch", "spread": "frames"}}
        table["nodes"] |= {f"m{n}": {"kind": "switch"} for n in range(3)}
        assembly = world(monkeypatch, table)
        run_until(assembly, 60 * MS)
        is_over(assembly)
        flow = assembly.world.flows[0]
        assert flow.frames_reordered > 100
        assert (flow.frames_resent > 0) == twice
        if twice:
            assert flow.frames_received > 1000


def ways(delay_line: dict[str, Any]) -> Table:
    """From the NIC by three ways of different length to the switch."""
    links: Table = {"up0": {"ends": ["nic", "a"], "rate": 10**9, "delay": 10 * US}}
    for n in range(3):
        links[f"in{n}"] = {"ends": ["a", f"m{n}"], "rate": 10**9, "delay": 10 * US}
        links[f"out{n}"] = {"ends": [f"m{n}", "switch"], "rate": 10**9, "delay": 10 * US}
        links[f"out{n}"] |= {"delay": (10 + 50 * n) * US, "delay_line": delay_line}
    return links


def test_marked_octets_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line()
    point = {"plugin": "red", "low": 0, "high": 3_000, "max_probability": 1}
    table["nodes"]["switch"]["congestion_point"] = point
    table["links"]["down"]["rate"] = 500_000_000
    assembly = world(monkeypatch, table)
    assembly.world.flows[0].mark = 2
    run_until(assembly, 60 * MS)
    is_over(assembly)
    marked = int(assembly.world.queues["frames_marked"].sum())
    assert 500 < marked < 1000
    assert heard(assembly)["marks"] == marked * FRAME


@pytest.mark.parametrize("reordering", [1, 400])
def test_a_header_asks_for_its_segment_at_once(
    monkeypatch: pytest.MonkeyPatch, reordering: int
) -> None:
    """With 400 nothing else would tell before the timer; with 1 it is not asked for twice."""
    table = line(reordering=reordering)
    table["nodes"]["switch"] |= {
        "buffer": 60_000,
        "congestion_point": {"plugin": "trim", "threshold": 6_000},
    }
    table["links"]["down"]["rate"] = 300_000_000
    assembly = world(monkeypatch, table)
    run_until(assembly, 60 * MS)
    is_over(assembly)
    trimmed = int(assembly.world.queues["frames_trimmed"].sum())
    assert assembly.world.flows[0].frames_resent == trimmed > 20
    assert heard(assembly)["by_timer"] == 0


def test_the_map_says_what_is_there_around_the_segment_that_is_answered() -> None:
    receiver = Driver(SELECTIVE, Selective())
    for segment in (0, 1, 4, 6, 7):
        receiver.come("arrived", kind=DATA, sequence=segment, length=FRAME, created=segment)
    said = receiver.message
    assert (said["sequence"][0], said["offset"][0], said["created"][0]) == (2, 7, 7)
    assert bin(int(said["inner"][0]) & 0xFF)[2:] == "11001011", "7, 6, not 5, 4, not 3, 2, then all"
    assert receiver.come("trimmed", kind=DATA, sequence=5, length=FRAME) == 1
    assert (said["feedback"][0], said["sequence"][0], said["offset"][0]) == (NEGATIVE, 2, 5)
    assert int(said["inner"][0]) & 1 == 0
    assert receiver.come("arrived", kind=DATA, sequence=2 + WINDOW, length=FRAME) == 0


@settings(max_examples=60, deadline=None)
@given(
    fate=st.lists(st.sampled_from(["there", "lost", "late", "unheard"]), min_size=1, max_size=400),
    reordering=st.integers(1, 8),
    window=st.integers(1, 64),
)
def test_any_loss_and_any_order_ends_with_all_there(
    fate: list[str], reordering: int, window: int
) -> None:
    """A channel that does to each transmission what it likes, for a while: sender and receiver
    agree in the end, and what the sender believes to be under way is."""
    sender = Driver(SELECTIVE, Selective(reordering=reordering, window=window, min_rto=MS))
    receiver = Driver(SELECTIVE, Selective())
    segments, now, late, turn = 100, 1, [], 0
    sender.set(available=segments)
    while int(sender.state["una"][0]) < segments:
        now += 1000
        acks = []
        while wants(sender, now):
            segment = int(sender.message["sequence"][0])
            sender.set(octets_made=sender.octets_made + FRAME, flight=sender.flight + FRAME)
            what = fate[turn] if turn < len(fate) else "there"
            turn += 1
            if what == "late":
                late.append((segment, now))
            elif what != "lost":
                acks += [answer(receiver, segment, now)] * (what == "there")
        if len(late) > 3 or turn >= len(fate):
            acks += [answer(receiver, segment, made) for segment, made in late]
            late = []
        for ack in acks:
            before = sender.acked
            sender.come("acknowledged", now + 500, **ack)
            sender.set(flight=sender.flight - (sender.acked - before))
        under_way = int((sender.state["status"][0] == IN_FLIGHT).sum())
        assert sender.flight == under_way * FRAME, "counted in octets and in segments"
        assert under_way <= window
        if not acks:  # only the timer can tell
            now = max(now, int(sender.state["deadline"][0]))
        assert turn < 20_000, "it goes on"
    assert sender.acked == segments * FRAME
    assert int(receiver.state["expected"][0]) == segments
    assert not receiver.state["there"].any()
    assert int(sender.state["missing"][0]) == 0


def test_a_late_answer_to_the_first_copy_says_nothing_of_what_was_sent_before_the_second() -> None:
    """Segment 0 is taken for lost and sent again behind 2; its first copy was only late."""
    sender = Driver(SELECTIVE, Selective(reordering=1))
    sender.set(available=3)
    for now in (10, 20, 30):
        assert sender.call("send", now) == 1
        sender.set(octets_made=sender.octets_made + FRAME, flight=sender.flight + FRAME)
    said = {"sequence": 0, "inner": 0b1, "delta": 0, "feedback": 0}
    sender.come("acknowledged", 50, offset=1, created=20, **said)
    assert (sender.losses, sender.lost_made) == (1, 10)
    assert sender.call("send", 60) == 1
    assert sender.message["sequence"][0] == 0
    sender.set(octets_made=sender.octets_made + FRAME, flight=sender.flight + FRAME)
    sender.come("acknowledged", 70, offset=0, created=10, **said | {"sequence": 2, "inner": 0b1})
    assert sender.losses == 1
    assert sender.state["status"][0][2] == IN_FLIGHT
    sender.come("acknowledged", 80, offset=0, created=60, **said | {"sequence": 2, "inner": 0b1})
    assert sender.losses == 2, "the answer to the second copy does"


def test_the_timeout_doubles_until_something_new_is_acknowledged() -> None:
    """RFC 6298: 1 s at first, then the smoothed round trip and four times its deviation."""
    sender = Driver(SELECTIVE, Selective(min_rto=MS))
    sender.set(available=9)
    now, second = 10, 1000 * MS
    for doubled in (1, 2, 4):
        while wants(sender, now):
            sender.set(octets_made=sender.octets_made + FRAME, flight=sender.flight + FRAME)
        assert int(sender.state["deadline"][0]) == now + doubled * second
        now += doubled * second
        assert sender.call("send", now) == 0
        assert sender.flight == 0
    assert sender.losses == 27
    assert wants(sender, now)
    sender.set(octets_made=sender.octets_made + FRAME, flight=sender.flight + FRAME)
    said = {"sequence": 1, "inner": 1, "delta": 0, "feedback": 0, "offset": 0}
    sender.come("acknowledged", now + 2 * MS, created=now, **said)
    assert int(sender.state["deadline"][0]) == now + 2 * MS + 6 * MS, "srtt and 4 rttvar"


def test_the_first_repair_does_not_wait_for_the_window() -> None:
    sender = Driver(SELECTIVE, Selective(reordering=1))
    sender.set(available=9)
    for now in range(10, 60, 10):
        assert sender.call("send", now) == 1
        sender.set(octets_made=sender.octets_made + FRAME, flight=sender.flight + FRAME)
    said = {"sequence": 0, "delta": 0, "feedback": 0}
    sender.come("acknowledged", 70, offset=4, created=50, inner=1, **said)
    assert sender.losses == 4
    sender.set(held=1)
    assert (sender.call("send", 80), int(sender.message["sequence"][0])) == (1, 0)
    assert sender.call("send", 90) == 0, "the second one does"
    sender.set(held=0)
    assert (sender.call("send", 100), int(sender.message["sequence"][0])) == (1, 1)


def wants(sender: Driver, now: int) -> bool:
    """Whether the sender has a segment now: one whose timer was due is asked once more."""
    return sender.call("send", now) == 1 or (
        sender.next_frame <= now and sender.call("send", now) == 1
    )


def answer(receiver: Driver, segment: int, made: int) -> dict[str, int]:
    """What the receiver answers to a segment that was made then."""
    receiver.set()
    receiver.message["feedback"] = 0
    receiver.come("arrived", kind=DATA, sequence=segment, length=FRAME, created=made)
    names = ("sequence", "created", "offset", "delta", "inner", "feedback")
    return {name: int(receiver.message[name][0]) for name in names}


def test_the_map_is_as_wide_as_its_field_and_the_books_are_wider_than_any_window() -> None:
    from orchestrator.engine.frames.core_frame_types import SACK_FRAME

    field = next(each for each in SACK_FRAME.fields if each.name == "inner")
    assert 8 * field.octets == MAP
    assert Selective().window + 512 <= WINDOW
    assert np.log2(WINDOW) % 1 == 0


def test_the_page_has_its_parameters() -> None:
    assert check_page("traffic.selective_repeat") > 0
