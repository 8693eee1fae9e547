"""Receivers: requests go ahead of data, credits pace it, and what is lost is asked for again."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest

from orchestrator.algorithm import Kernel, congestion_point, reaction_point, receiver
from orchestrator.assembly import Assembly, assemble
from orchestrator.capability import IN_ENGINE, Capability
from orchestrator.engine.jit import flow_state
from orchestrator.engine.records import CE, CREDIT, NEVER, REQUEST, TRIMMED, record
from orchestrator.errors import BadInput
from orchestrator.hookspecs import hookimpl
from orchestrator.plan import Plan
from orchestrator.registry import GROUP, Registry
from orchestrator.run.frame_audit import audit
from tests.orchestrator.engine.node.test_control_frames import seen
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import MS, US, Empty, Table, assembled, run_in_steps, run_until

GBIT = 10**9
FRAME = 1500
SLOT = 12 * US
"""Of a full frame on a link of 1 Gb/s."""


def incast(senders: int = 4, frames: int = 50, **transport: Any) -> Table:
    """Every sender has one message of so many full frames for the sink; 1 Gb/s, 10 us."""
    names = [f"h{number}" for number in range(senders)]
    nodes: Table = {name: {"kind": "nic"} for name in names}
    nodes |= {
        "s": {"kind": "switch"},
        "d": {"kind": "sink", "receiver": {"plugin": "receiver-credits"}},
    }
    links = {f"up-{name}": {"ends": [name, "s"], "rate": GBIT, "delay": 10 * US} for name in names}
    links["down"] = {"ends": ["s", "d"], "rate": GBIT, "delay": 10 * US}
    entry = {"plugin": "messages", "from": names, "to": "d", "size": 1430 * frames}
    entry["transport"] = {"plugin": "credit"} | transport
    plan = {"name": "incast", "duration": 20 * MS, "sample_interval": 100 * US}
    return plan | {"nodes": nodes, "links": links, "traffic": {"t": entry}}


def state(assembly: Assembly, instance: str, field: str) -> int:
    """A field of an instance's first state."""
    return int(assembly.world.memory[assembly.built.state_at(instance, field)])


def test_credits_come_one_per_frame_time_and_all_arrives_in_turns() -> None:
    assembly = assembled(incast(unsolicited=0))
    w = assembly.world
    queue = w.queues[assembly.indices.queues["s.d"]]
    for _ in run_in_steps(assembly, 400):
        audit(w)
        received = w.flows["frames_received"]
        assert received.max() - received.min() <= 2, "in turns; who asked first had one more"
    assert (w.flows["frames_sent"] == 50).all()
    assert (w.flows["frames_received"] == 50).all()
    assert w.flows["frames_resent"].sum() == 0
    assert queue.bytes_max == FRAME
    assert w.nodes["credits_sent"].sum() == 200
    share = 200 * SLOT * 100 // 99
    last = int(w.messages["done"].max())
    assert share < last < share + 8 * 10 * US, "paced at 99 % of the link, and two round trips"


def test_a_request_is_ahead_of_the_data_and_what_is_unsolicited_follows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assembly = hearing(monkeypatch, incast(1, unsolicited=2 * FRAME), grants=0)
    run_until(assembly, 20 * MS)
    w = assembly.world
    assert w.flows[0].frames_received == 2, "and no more without credit"
    assert heard(assembly, "wanted") == 48 * FRAME
    assert heard(assembly, "began") < heard(assembly, "first_at")
    assert heard(assembly, "early") == 0, "no data before the request"


@pytest.mark.parametrize("grants", [1, 3 * FRAME, 3 * FRAME + 1])
def test_no_more_is_sent_than_the_last_octet_of_a_credit_takes(
    monkeypatch: pytest.MonkeyPatch, grants: int
) -> None:
    assembly = hearing(monkeypatch, incast(1, unsolicited=0), grants=grants)
    run_until(assembly, 3 * MS)
    assert assembly.world.flows[0].frames_received == -(-grants // FRAME)


def narrow(state, params, limiter, frame, now, message):
    """A flow begins: two frames may be under way."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = 2 * 1500
    return 0


def test_a_window_holds_a_flow_that_has_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = reaction_point("mine", "for a test", Empty, record("unused"), start=narrow)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=lambda: [mine])
    table = incast(1, unsolicited=8 * FRAME)
    table["nodes"]["h0"]["reaction_point"] = {"plugin": "mine"}
    assembly = assemble(Plan(**table).check(Registry([*entry_points(group=GROUP), point])))
    w = assembly.world
    most = 0
    for _ in run_in_steps(assembly, 2_000):
        most = max(most, int(w.flows[0].flight))
    assert most == 2 * FRAME
    assert w.flows[0].frames_received == 50


def test_a_lost_request_or_credit_is_asked_for_again() -> None:
    table = incast(2, timeout=MS)
    for link in table["links"].values():
        link["delay_line"] = {"plugin": "lossy-delay", "loss_rate": "0.1"}
    table["duration"] = 200 * MS
    assembly = assembled(table)
    run_until(assembly, 200 * MS)
    w = assembly.world
    assert w.ports["frames_lost"].sum() > 20
    assert (w.messages["done"] < 200 * MS).all()
    assert w.flows["frames_resent"].sum() > 0
    assert state(assembly, "d/receiver", "waiting") == 0, "nobody is left in the line"


def test_a_flow_that_is_switched_off_gives_its_turns_to_the_others() -> None:
    table = incast(2)
    table["traffic"]["t"]["plugin"] = "bulk"
    del table["traffic"]["t"]["size"]
    table["timeline"] = [{"at": 5 * MS, "stop": "t.0"}]
    assembly = assembled(table)
    run_until(assembly, 6 * MS)
    before = assembly.world.flows["frames_received"].copy()
    run_until(assembly, 11 * MS)
    came = assembly.world.flows["frames_received"] - before
    assert came[0] == 0
    assert came[1] == pytest.approx(5 * MS * 99 / 100 / SLOT, abs=2), "all of the link's share"


def test_a_flow_that_is_switched_on_again_asks_for_credit_at_once() -> None:
    """Not at its timeout: what it had asked for was withdrawn when it was switched off."""
    table = incast(2, timeout=10 * MS)
    table["traffic"]["t"]["plugin"] = "bulk"
    del table["traffic"]["t"]["size"]
    table["timeline"] = [{"at": 5 * MS, "stop": "t.0"}, {"at": 7 * MS, "start": "t.0"}]
    assembly = assembled(table)
    run_until(assembly, 7 * MS)
    w = assembly.world
    before = w.flows["frames_received"].copy()
    run_until(assembly, 11 * MS)
    came = w.flows["frames_received"] - before
    assert came.sum() == pytest.approx(4 * MS * 99 / 100 / SLOT, abs=2)
    assert came[0] == pytest.approx(came[1], abs=8), "a way there and back later, half of it again"
    assert (w.flows["frames_resent"] == 0).all()


def test_what_is_trimmed_is_credited_and_sent_again_alone() -> None:
    table = incast(8, unsolicited=8 * FRAME, timeout=50 * MS)  # longer than the run
    table["nodes"]["s"] |= {"congestion_point": {"plugin": "trim", "threshold": 6_000}}
    assembly = assembled(table)
    w = assembly.world
    for _ in run_in_steps(assembly, 400):
        audit(w)
    queue = w.queues[assembly.indices.queues["s.d"]]
    assert queue.frames_trimmed > 20
    assert queue.bytes_max == 6_000
    assert w.queues["frames_dropped"].sum() == 0
    assert w.flows["frames_resent"].sum() == queue.frames_trimmed
    assert (w.flows["frames_received"] == 50).all()
    assert (w.flows["flight"] == 0).all()
    assert (w.messages["done"] < 20 * MS).all()


def test_what_receivers_and_sources_say_is_canonical() -> None:
    table = incast(8, unsolicited=8 * FRAME)
    table["nodes"]["s"] |= {"congestion_point": {"plugin": "trim", "threshold": 6_000}}
    found = seen(table, 1_000)
    assert min(found[CREDIT], found[REQUEST], found[TRIMMED]) > 0


def test_all_of_it_goes_through_an_ip_router() -> None:
    table = incast(8, unsolicited=8 * FRAME)
    table["nodes"]["s"] |= {"forwards_by": "ip"}
    table["nodes"]["s"] |= {"congestion_point": {"plugin": "trim", "threshold": 6_000}}
    assembly = assembled(table)
    run_until(assembly, 20 * MS)
    assert assembly.world.nodes["unroutable"].sum() == 0
    assert (assembly.world.messages["done"] < 20 * MS).all()


def test_a_transport_that_waits_for_credit_needs_a_receiver() -> None:
    table = incast()
    del table["nodes"]["d"]["receiver"]
    with pytest.raises(BadInput, match=r"traffic\.t\.transport: .*a receiver at nodes\.d is exp"):
        assembled(table)


def test_a_target_without_receivers_or_trimming_is_told_what_it_lacks() -> None:
    registry = Registry.load()
    credits_, trim = (
        registry.find("receiver", "receiver-credits"),
        registry.find("congestion_point", "trim"),
    )
    carrier = registry.find("transport", "credit")
    less = IN_ENGINE - {Capability.RECEIVERS, Capability.TRIMMING}
    assert credits_.lacks(less) == carrier.lacks(less) == ["receivers"]
    assert trim.lacks(less) == ["trimming"]
    assert not any(each.lacks(IN_ENGINE) for each in (credits_, trim, carrier))


HEARD = record("began", "wanted", "first_at", "early", "granted")


def hearing(monkeypatch: pytest.MonkeyPatch, table: Table, grants: int) -> Assembly:
    """With a receiver that writes down when what came, and grants so many octets at once."""

    def flow_begins(state, params, node, frame, now, message):
        """A request."""
        mine = flow_state(state, frame.flow)
        if mine.began == 0:
            mine.began = now
        mine.wanted = frame.sequence
        message.sequence = grants
        return 1 if grants > 0 else 0

    def arrived(state, params, node, frame, now, message):
        """Data."""
        mine = flow_state(state, frame.flow)
        if mine.began == 0:
            mine.early = 1
        if mine.first_at == 0:
            mine.first_at = now
        return 0

    return with_receiver(monkeypatch, table, flow_begins=flow_begins, arrived=arrived)


def with_receiver(monkeypatch: pytest.MonkeyPatch, table: Table, **kernels: Kernel) -> Assembly:
    """Assembled with the receiver `mine` at the sink."""
    mine = receiver("mine", "for a test", Empty, HEARD, **kernels)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=hookimpl(lambda: [mine]))
    table["nodes"]["d"]["receiver"] = {"plugin": "mine"}
    return assemble(Plan(**table).check(Registry([*entry_points(group=GROUP), point])))


def heard(assembly: Assembly, field: str) -> int:
    """A field of the receiver's state of the first flow, which lies behind that for all."""
    first = assembly.built.state_at("d/receiver", field)
    return int(assembly.world.memory[first + len(HEARD.names or ())])


def busy(state, params, node, frame, now, message):
    """A timer that is always in the past, and messages to nobody."""
    state.granted += 1
    node.receiver_timer = now - 1
    message.flow = 7
    return 1


def awake(state, params, node, frame, now, message):
    """Sets the timer, in the past."""
    node.receiver_timer = 0
    return 0


def test_a_timer_in_the_past_does_not_stall_time_nor_a_wrong_flow_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assembly = with_receiver(monkeypatch, incast(1), flow_begins=awake, timer=busy)
    run_until(assembly, 50 * US)
    times = state(assembly, "d/receiver", "granted")
    assert 0 < times <= 50 * US // 1_000
    assert assembly.world.nodes["unroutable"].sum() == times
    assert assembly.world.nodes["receiver_timer"].min() < NEVER


def test_states_of_flows_lie_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = hearing(monkeypatch, incast(3, unsolicited=FRAME), grants=0)
    run_until(assembly, MS)
    first, words = assembly.built.state_at("d/receiver", "began"), len(HEARD.names or ())
    began = np.array([assembly.world.memory[first + words * place] for place in range(4)])
    assert began[0] == 0
    assert (began[1:] > 0).all()


def test_who_is_switched_off_is_granted_nothing_for_what_was_trimmed() -> None:
    table = incast(2, unsolicited=30 * FRAME)
    table["nodes"]["s"]["congestion_point"] = {"plugin": "trim", "threshold": 2 * FRAME}
    table["traffic"]["t"]["plugin"] = "bulk"
    del table["traffic"]["t"]["size"]
    table["timeline"] = [{"at": 5 * MS, "stop": "t.0"}, {"at": 5 * MS, "stop": "t.1"}]
    assembly = assembled(table)
    w = assembly.world
    run_until(assembly, 5 * MS + 60 * US)
    assert w.flows["headers_received"].min() > 0, "each had frames trimmed"
    granted = int(w.nodes["credits_sent"].sum())
    run_until(assembly, 15 * MS)
    assert int(w.nodes["credits_sent"].sum()) == granted


def marks_all(state, params, queue, frame, now, message):
    """Every frame has met congestion."""
    frame.mark = frame.mark | CE
    return 0


def test_a_source_of_credited_frames_hears_of_every_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = congestion_point("mine", "for a test", Empty, record("unused"), arrival=marks_all)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=lambda: [mine])
    table = incast(2)
    table["nodes"]["s"]["congestion_point"] = {"plugin": "mine"}
    assembly = assemble(Plan(**table).check(Registry([*entry_points(group=GROUP), point])))
    run_until(assembly, 20 * MS)
    flows = assembly.world.flows
    assert list(flows["marked"]) == [50 * FRAME, 50 * FRAME]


def rewinds(state, params, node, frame, now, message):
    """Data is here: the timer is set to before now."""
    state.last = now
    node.receiver_timer = now - US
    return 0


def rang(state, params, node, frame, now, message):
    """The timer is due."""
    state.rang += 1
    state.back += now < state.last
    return 0


def test_a_timer_set_into_the_past_is_due_at_once_and_turns_no_clock_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = record("last", "rang", "back")
    mine = receiver("mine", "for a test", Empty, states, arrived=rewinds, timer=rang)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=lambda: [mine])
    table = incast(1)
    table["traffic"]["t"]["transport"] = {"plugin": "go-back-n"}
    table["nodes"]["d"]["receiver"] = {"plugin": "mine"}
    assembly = assemble(Plan(**table).check(Registry([*entry_points(group=GROUP), point])))
    run_until(assembly, 20 * MS)
    assert state(assembly, "d/receiver", "rang") == 50
    assert state(assembly, "d/receiver", "back") == 0


def counts(state, params, node, frame, now, message):
    """Data is here: the timer is set to before now."""
    state.since += 1
    state.most = max(state.most, state.since)
    node.receiver_timer = now - US
    return 0


def begins_anew(state, params, node, frame, now, message):
    """The timer is due."""
    state.since = 0
    return 0


def test_a_timer_set_into_the_past_waits_for_all_that_happens_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one that is set to now does: two frames that come at one instant are both heard first."""
    states = record("since", "most")
    mine = receiver("mine", "for a test", Empty, states, arrived=counts, timer=begins_anew)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=lambda: [mine])
    link = {"rate": "1Gb/s", "delay": "10us"}
    flow = {"plugin": "cbr", "to": "d", "frame": "1500B", "rate": "10Mb/s"}
    plan = Plan(
        name="both",
        duration="20ms",
        phase="aligned",
        clock_ppm=0,
        nodes={
            "a": {"kind": "nic"},
            "b": {"kind": "nic"},
            "d": {"kind": "sink", "receiver": {"plugin": "mine"}},
        },
        links={"x": {"ends": ["a", "d"], **link}, "y": {"ends": ["b", "d"], **link}},
        traffic={"t": {"from": "a", **flow}, "u": {"from": "b", **flow}},
    )
    assembly = assemble(plan.check(Registry([*entry_points(group=GROUP), point])))
    run_until(assembly, 20 * MS)
    assert state(assembly, "d/receiver", "most") == 2
