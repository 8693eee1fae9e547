"""Faults that the timeline injects into single frames: which frame, and what becomes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.assembly import assemble
from orchestrator.engine.records import CE, DATA
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import Audit
from orchestrator.run.run_result import judge_recording
from tests.orchestrator.worlds import (
    ALIGNED,
    MS,
    US,
    Table,
    assembled,
    line_of_three,
    recorded,
    run_until,
)
from traces.pytest_plugin.decoded_frames import Frames

WIRE_PS = 1500 * 8000
"""ps of a full frame on the links of the plan."""
SENT = 20
LAST = SENT - 1


def plan(*steps: Table, **changes: Any) -> Table:
    """NIC, switch, sink: 20 frames of 1500 B at the link's rate, captured before the sink."""
    table = line_of_three(timeline=list(steps), **ALIGNED, **changes)
    table["traffic"]["gen"]["stop"] = SENT * WIRE_PS - 1
    table["capture"] = {"ports": ["sink.switch"], "frames": 1000}
    return table


def arrivals(recording: Recording) -> np.ndarray:
    """Descriptors of the data frames that reached the sink, in their order."""
    (seen,) = recording.captures
    fields = Frames.of(seen.times_ps, seen.outgoing, seen.lengths, seen.octets).fields
    return fields[fields["kind"] == DATA]


def sequences(*steps: Table) -> list[int]:
    """Sequence numbers in the order in which they reached the sink."""
    return arrivals(recorded(plan(*steps)))["sequence"].tolist()


def counted(recording: Recording, entity: str) -> dict[str, int]:
    """What an injector has counted by the end, without what is 0."""
    names = ("dropped", "marked", "corrupted", "delayed", "duplicated")
    last = {name: int(recording.column(entity, f"injected_{name}")[-1]) for name in names}
    return {name: count for name, count in last.items() if count}


def notes(table: Table) -> list[str]:
    """What the result of a run says about it."""
    resolved = Plan(**table).check(Registry.load())
    return judge_recording(Registry.load(), resolved, recorded(table))["notes"]


ALL = list(range(SENT))


def test_without_injections_all_frames_arrive_in_order() -> None:
    assert sequences() == ALL


@pytest.mark.parametrize("verb", ["drop", "corrupt"])
@pytest.mark.parametrize("packet", [1, 2, 7, SENT])
@pytest.mark.parametrize("port", [None, "nic.switch", "switch.sink"])
def test_the_nth_packet_is_lost(verb: str, packet: int, port: str | None) -> None:
    step = {"at": 0, verb: "gen", "packet": packet} | ({"port": port} if port else {})
    recording = recorded(plan(step))
    assert arrivals(recording)["sequence"].tolist() == [n for n in ALL if n != packet - 1]
    link = "switch>sink" if port == "switch.sink" else "nic>switch"
    assert counted(recording, link) == {"drop": {"dropped": 1}, "corrupt": {"corrupted": 1}}[verb]
    assert recording.column(link, "frames_dropped")[-1] == 1
    assert recording.column(link, "frames_out")[-1] == SENT


@pytest.mark.parametrize("packets", [1, 3])
@pytest.mark.parametrize("after", [0, 5, 6])
def test_packets_count_from_the_time_of_the_step(after: int, packets: int) -> None:
    """A frame that begins to be sent at the very time counts."""
    step = {"at": after * WIRE_PS, "drop": "gen", "packet": 2, "packets": packets}
    lost = range(after + 1, after + 1 + packets)
    assert sequences(step) == [n for n in ALL if n not in lost]


def test_a_marked_packet_carries_ce_and_the_others_do_not() -> None:
    recording = recorded(plan({"at": 0, "mark": "gen", "packet": 4, "packets": 2}))
    marks = arrivals(recording)["mark"] & CE
    assert np.flatnonzero(marks == CE).tolist() == [3, 4]
    assert counted(recording, "nic>switch") == {"marked": 2}


@pytest.mark.parametrize("overtaken", [0, 1, 3])
def test_a_delayed_packet_is_overtaken_by_those_that_are_due_before(overtaken: int) -> None:
    by = overtaken * WIRE_PS + WIRE_PS // 2
    recording = recorded(plan({"at": 0, "delay": "gen", "packet": 3, "by": by}))
    behind = [n for n in ALL if n != 2]
    behind.insert(2 + overtaken, 2)
    assert arrivals(recording)["sequence"].tolist() == behind
    assert counted(recording, "nic>switch") == {"delayed": 1}
    assert recording.column("gen", "frames_reordered")[-1] == (overtaken > 0)


def test_a_delayed_packet_arrives_later_by_just_that() -> None:
    """At the last link, where nothing waits behind it."""
    step = {"at": 0, "delay": "gen", "packet": SENT, "by": 77 * US, "port": "switch.sink"}
    usual, later = (recorded(plan(*steps)).captures[0].times_ps for steps in ((), (step,)))
    assert (later[:LAST] == usual[:LAST]).all()
    assert later[LAST] - usual[LAST] == 77 * US


def test_the_others_keep_their_order_over_a_line_with_jitter() -> None:
    """Whose delays differ by more than frames are apart."""
    table = plan({"at": 0, "delay": "gen", "packet": 3, "by": 300 * US})
    table["links"]["up"]["delay_line"] = {"plugin": "jittered-delay", "jitter": 100 * US}
    assert [n for n in arrivals(recorded(table))["sequence"] if n != 2] == [
        n for n in ALL if n != 2
    ]


@pytest.mark.parametrize("port", ["nic.switch", "switch.sink"])
def test_a_duplicate_follows_its_packet_and_takes_its_time_on_the_wire(port: str) -> None:
    table = plan({"at": 0, "duplicate": "gen", "packet": 4, "port": port})
    recording = recorded(table)
    assert arrivals(recording)["sequence"].tolist() == [0, 1, 2, 3, 3, *range(4, SENT)]
    assert counted(recording, port.replace(".", ">")) == {"duplicated": 1}
    times = np.diff(recording.captures[0].times_ps)
    assert set(times.tolist()) == {WIRE_PS}
    assert recording.column("gen", "frames_received")[-1] == SENT + 1


def test_several_steps_count_each_for_itself() -> None:
    first = {"at": 0, "drop": "gen", "packet": 3}
    second = {"at": 0, "drop": "gen", "packet": 4}
    third = {"at": 0, "corrupt": "gen", "packet": 3}  # which is lost already
    recording = recorded(plan(first, second, third))
    assert arrivals(recording)["sequence"].tolist() == [0, 1, *range(4, SENT)]
    assert counted(recording, "nic>switch") == {"dropped": 2}


def test_another_flow_of_the_port_does_not_count() -> None:
    table = plan({"at": 0, "drop": "gen.1", "packet": 2, "packets": 3})
    table["traffic"]["gen"] |= {"flows": 2}
    recording = recorded(table)
    lost = [int(recording.column(f"gen.{n}", "frames_sent")[-1]) for n in (0, 1)]
    lost = [
        sent - int(recording.column(f"gen.{n}", "frames_received")[-1])
        for n, sent in enumerate(lost)
    ]
    assert lost == [0, 3]


def test_what_a_cut_link_loses_is_not_injected_into() -> None:
    cut = {"at": 0, "cut": "up"}
    mend = {"at": 3 * WIRE_PS, "mend": "up"}
    recording = recorded(plan(cut, mend, {"at": 0, "drop": "gen", "packet": 2}))
    assert counted(recording, "nic>switch") == {}


def test_an_injection_that_finds_no_packet_is_a_note() -> None:
    (note,) = notes(plan({"at": 0, "drop": "gen", "packet": SENT, "packets": 3}))
    assert "names 3 packets of gen to drop on nic>switch, and 1 came there" in note
    (note,) = notes(plan({"at": 0, "mark": "gen", "packet": SENT + 1}))
    assert "to mark on nic>switch, and none came there" in note
    assert notes(plan({"at": 0, "drop": "gen", "packet": SENT})) == []


@pytest.mark.parametrize("packets", [1, 4])
def test_copies_that_arrive_beyond_what_was_sent_are_accounted_for(packets: int) -> None:
    table = plan({"at": 0, "duplicate": "gen", "packets": packets})
    resolved = Plan(**table).check(Registry.load())
    recording = recorded(table)
    assert judge_recording(Registry.load(), resolved, recording)["fidelity"]["verdict"] == "valid"
    more = recording.column("gen", "frames_sent") - packets  # as if so many fewer had been sent
    recording.column("gen", "frames_sent")[:] = more
    assert judge_recording(Registry.load(), resolved, recording)["fidelity"]["verdict"] == "invalid"


def test_a_long_delay_of_many_packets_has_room_for_them() -> None:
    table = plan({"at": 0, "delay": "gen", "packets": 2000, "by": 50 * MS}, duration=40 * MS)
    del table["traffic"]["gen"]["stop"], table["capture"]
    assembly = assembled(table)
    run_until(assembly, 40 * MS)
    assert assembly.world.clock[0].no_descriptor == 0
    assert assembly.world.injectors[0].delayed == 2000


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "verb": st.sampled_from(["drop", "mark", "corrupt", "delay", "duplicate"]),
                "packet": st.integers(1, SENT),
                "packets": st.integers(1, 4),
                "at": st.integers(0, 5 * WIRE_PS),
                "by": st.integers(1, 6 * WIRE_PS),
                "port": st.sampled_from(["nic.switch", "switch.sink"]),
            }
        ),
        max_size=5,
    )
)
def test_every_frame_is_accounted_for(drawn: list[Table]) -> None:
    """Whatever is injected: each descriptor is in one list, each line in order, counts add up."""
    steps = [
        {"at": one["at"], one["verb"]: "gen"}
        | {key: one[key] for key in ("packet", "packets", "port")}
        | ({"by": one["by"]} if one["verb"] == "delay" else {})
        for one in drawn
    ]
    table = plan(*steps)
    del table["capture"]
    resolved = Plan(**table).check(Registry.load())
    lazy, eager = (assemble(resolved, eager=eager) for eager in (False, True))
    for until in range(50 * US, 500 * US, 50 * US):
        run_until(lazy, until)
        run_until(eager, until)
        Audit(eager.world).check_lines()
    run_until(lazy, MS)
    run_until(eager, MS)
    for name in ("injectors", "injections", "flows"):
        for field in ("dropped", "corrupted", "duplicated", "passed", "frames_received"):
            if field in getattr(lazy.world, name).dtype.names:
                assert (getattr(lazy.world, name)[field] == getattr(eager.world, name)[field]).all()
    counts = eager.world.injectors
    copies = int(counts["duplicated"].sum())
    lost = int(counts["dropped"].sum() + counts["corrupted"].sum())
    assert eager.world.flows[0].frames_received == SENT + copies - lost
    assert int(eager.world.ports["frames_lost"].sum()) == lost


def test_what_is_injected_at_no_port_costs_no_port_its_laziness() -> None:
    table = plan({"at": 0, "drop": "gen"})
    del table["capture"]
    world = assembled(table).world
    ports = world.ports
    assert [bool(port.late or port.entries) for port in ports if port.injector != 0] == [False]
    assert any(port.late or port.entries or port.patience for port in ports if port.injector == 0)
