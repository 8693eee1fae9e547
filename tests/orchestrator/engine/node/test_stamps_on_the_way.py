"""Stamps on frames: who has room for them, what ports write, what acknowledgements bring."""

from __future__ import annotations

from importlib.metadata import entry_points
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pydantic import Field

from orchestrator.algorithm import congestion_point, reaction_point
from orchestrator.assembly import Assembly, assemble
from orchestrator.capability import Capability
from orchestrator.engine.frames import telemetry_header
from orchestrator.engine.frames.frame_layout import DATA_HEADER
from orchestrator.engine.frames.telemetry_header import (
    PORT,
    QUEUED,
    RATE,
    SENT,
    TIME,
    get_stamps,
    room_octets,
    stamp_of,
    stamps_of,
)
from orchestrator.engine.records import ACK, DATA, record
from orchestrator.errors import BadInput, Refused
from orchestrator.hookspecs import hookimpl
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import MS, US, Table, line_of_three, run_until

FRAME = 1500
WORDS = ("queued", "sent", "time", "rate", "port")
STATE = record(
    "acks", "hops", "carried", *(f"{word}{hop}" for hop in range(2) for word in WORDS), "beyond"
)


class Reads(Params):
    """Of a reaction point that reads stamps."""

    hops: int = Field(2, ge=0, le=100)
    frames: int = Field(4, ge=1, description="nearly so many may be under way")

    def stamped_hops(self) -> int:
        return self.hops


def begin(state, params, limiter, frame, now, message):
    """Nothing has a stamp yet."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = params.frames * 1500 - 1
    state.beyond = stamp_of(limiter, 0, PORT) + stamps_of(limiter)
    return 0


def sent(state, params, limiter, frame, now, message):
    """No acknowledgement is at hand."""
    state.beyond += stamps_of(limiter)
    return 0


def acked(state, params, limiter, frame, now, message):
    """Keep what the last acknowledgement says."""
    state.acks += 1
    state.hops = limiter.hops
    state.carried = stamps_of(limiter)
    state.queued0 = stamp_of(limiter, 0, QUEUED)
    state.sent0 = stamp_of(limiter, 0, SENT)
    state.time0 = stamp_of(limiter, 0, TIME)
    state.rate0 = stamp_of(limiter, 0, RATE)
    state.port0 = stamp_of(limiter, 0, PORT)
    state.queued1 = stamp_of(limiter, 1, QUEUED)
    state.sent1 = stamp_of(limiter, 1, SENT)
    state.time1 = stamp_of(limiter, 1, TIME)
    state.rate1 = stamp_of(limiter, 1, RATE)
    state.port1 = stamp_of(limiter, 1, PORT)
    state.beyond += stamp_of(limiter, 2, TIME) + stamp_of(limiter, -1, TIME)
    return 0


def line(switches: int = 2, **params: Any) -> Table:
    """One message of 100 segments from NIC over two switches to sink; 1 Gb/s, 10 us on each."""
    table = line_of_three(duration=20 * MS)
    inside = ["switch", "far"][:switches]
    for name in inside:
        table["nodes"][name] = {"kind": "switch", "congestion_point": {"plugin": "int"}}
    ends = pairwise(["nic", *inside, "sink"])
    table["links"] = {
        f"l{n}": {"ends": list(pair), "rate": 10**9, "delay": 10 * US}
        for n, pair in enumerate(ends)
    }
    table["nodes"]["nic"]["reaction_point"] = {"plugin": "reads"} | params
    table["traffic"] = {
        "t": {"plugin": "messages", "from": "nic", "to": "sink", "size": 100_000}
        | {"transport": {"plugin": "go-back-n"}}
    }
    return table


def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """With a reaction point that reads stamps."""
    needs = frozenset({Capability.STAMPS})
    reads = reaction_point(
        "reads", "", Reads, STATE, needs=needs, start=begin, sent=sent, acked=acked
    )
    point = entry_point(monkeypatch, "reads", tailback_algorithms=hookimpl(lambda: [reads]))
    return Registry([*entry_points(group=GROUP), point])


def world(monkeypatch: pytest.MonkeyPatch, table: Table, **more: Any) -> Assembly:
    return assemble(Plan(**table).check(registry(monkeypatch)), **more)


def heard(assembly: Assembly) -> dict[str, int]:
    """The state of the reaction point."""
    return {
        field: int(assembly.world.memory[place])
        for (_, _, field), place in assembly.built.offsets.items()
        if field in (STATE.names or ())
    }


def test_every_port_on_the_way_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = world(monkeypatch, line())
    run_until(assembly, 20 * MS)
    found, w = heard(assembly), assembly.world
    segment = FRAME - DATA_HEADER - room_octets(2)
    frames = -(-100_000 // segment)
    assert found["acks"] == frames
    assert (found["hops"], found["carried"], found["beyond"]) == (2, 2, 0)
    sent = 100_000 + frames * (DATA_HEADER + room_octets(2))
    assert found["sent0"] == found["sent1"] == sent, "all that left it, headers with their room"
    assert found["rate0"] == found["rate1"] == 10**9
    rows = assembly.indices.port_rows
    assert found["port0"] == w.ports[rows["switch.far"]].address
    assert found["port1"] == w.ports[rows["far.sink"]].address
    last = sent - (frames - 1) * FRAME
    assert found["time1"] - found["time0"] == (last * 8 + 10_000), "on the wire and the link"
    assert found["queued0"] == 0
    assert not w.limiters["stamps"].any(), "they are at hand while `acked` is called"


def test_the_room_counts_in_every_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """Full frames stay as long as the plan says, acknowledgements grow, all frames have theirs."""
    assembly = world(monkeypatch, line(hops=3))
    lengths: dict[int, set[int]] = {DATA: set(), ACK: set()}
    most = 0
    for step in range(1, 400):
        run_until(assembly, step * US)
        most = max(most, int(assembly.world.flows[0].flight))
        for frame in assembly.world.frames[assembly.world.frames["due"] > 0]:
            lengths.setdefault(int(frame.kind), set()).add(int(frame.length))
    assert lengths[DATA] == {FRAME}
    assert lengths[ACK] == {70 + room_octets(3)}
    assert most == 3 * FRAME, "the window counts whole frames"
    assert heard(assembly)["carried"] == 2


def test_a_port_without_the_algorithm_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line()
    del table["nodes"]["switch"]["congestion_point"]
    assembly = world(monkeypatch, table)
    run_until(assembly, 20 * MS)
    found = heard(assembly)
    assert (found["hops"], found["carried"], found["port1"]) == (1, 1, 0)
    far = assembly.world.ports[assembly.indices.port_rows["far.sink"]]
    assert found["port0"] == far.address


def test_a_plan_without_a_reader_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line(hops=0)
    assembly = world(monkeypatch, table)
    run_until(assembly, 20 * MS)
    found = heard(assembly)
    assert len(assembly.world.stamps) == 1
    assert (found["acks"], found["hops"], found["carried"]) == (-(-100_000 // 1430), 0, 0)


def test_flows_that_do_not_ask_pass_without_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line()
    table["nodes"]["other"] = {"kind": "nic"}
    table["links"]["aside"] = {"ends": ["other", "switch"], "rate": 10**9}
    table["traffic"]["cbr"] = {"plugin": "cbr", "from": "other", "to": "sink", "rate": 3 * 10**8}
    assembly = world(monkeypatch, table)
    w = assembly.world
    for step in range(1, 300):
        run_until(assembly, step * US)
        for index in np.flatnonzero((w.frames["flow"] == 1) & (w.frames["due"] > 0)):
            if index not in set(w.free[: int(w.clock[0].free)].tolist()):
                assert w.stamps[index, telemetry_header.ROOM] == 0
    run_until(assembly, 20 * MS)
    assert heard(assembly)["carried"] == 2
    assert heard(assembly)["queued0"] >= 0


def test_what_a_capture_keeps_has_the_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    table = line() | {"capture": {"ports": ["sink.far", "nic.switch"], "frames": 500}}
    assembly = world(monkeypatch, table)
    run_until(assembly, 20 * MS)
    w = assembly.world
    row = np.zeros(w.stamps.shape[1], np.int64)
    seen = []
    for slot in range(2):
        assert w.capture_count[slot, 0] > 50
        for k in range(int(w.capture_count[slot, 0])):
            length = int(w.capture_lengths[slot, k])
            if length >= 0:
                get_stamps(70, w.capture_octets[slot, k], length, row)
                seen.append(
                    (
                        slot,
                        row[: telemetry_header.FIRST].tolist(),
                        row[telemetry_header.FIRST + telemetry_header.PORT],
                    )
                )
    near = w.ports[assembly.indices.port_rows["switch.far"]].address
    assert {(tuple(head), int(port)) for _, head, port in seen} == {((2, 2), int(near))}
    assert {slot for slot, _, _ in seen} == {0, 1}


@pytest.mark.parametrize(("hops", "told"), [(1, "the stamps of 2 hops"), (17, "at most 16")])
def test_room_that_does_not_do_is_refused(
    monkeypatch: pytest.MonkeyPatch, hops: int, told: str
) -> None:
    with pytest.raises(BadInput, match=r"nodes\.nic\.reaction_point") as refused:
        world(monkeypatch, line(hops=hops))
    assert told in str(refused.value)


def kept(signal: str, down: int, **more: Any) -> Table:
    """Two switches that let a frame keep one stamp; so fast is the link behind the second one."""
    table = line(hops=1, frames=12)
    point = {"plugin": "csig", "signal": signal, "interval": 50 * US} | more
    for name in ("switch", "far"):
        table["nodes"][name]["congestion_point"] = point
    for place, rate in enumerate((10**9, 8 * 10**8, down)):
        table["links"][f"l{place}"] |= {"rate": rate, "delay": 0}
    return table


@pytest.mark.parametrize("signal", ["bandwidth", "share", "delay", "queue"])
@pytest.mark.parametrize("down", [5 * 10**8, 9 * 10**8])
def test_a_frame_keeps_the_stamp_of_the_narrowest_port(
    monkeypatch: pytest.MonkeyPatch, signal: str, down: int
) -> None:
    """Whichever of the two ports that is; what was kept says what that port is, and no more."""
    assembly = world(monkeypatch, kept(signal, down))
    run_until(assembly, MS)
    found, w = heard(assembly), assembly.world
    narrow = "far.sink" if down < 8 * 10**8 else "switch.far"
    assert (found["hops"], found["carried"], found["port1"]) == (2, 1, 0)
    assert found["port0"] == w.ports[assembly.indices.port_rows[narrow]].address
    assert found["rate0"] == min(down, 8 * 10**8)
    queue = w.queues[assembly.indices.queues[narrow]]
    assert 0 <= queue.bytes_out - found["sent0"] <= 4 * FRAME
    signals = {
        "bandwidth": (0, found["rate0"] // 1000 // 10),
        "share": (0, 10**6 // 10),
        "delay": (1, 11 * FRAME * 8 * 10**9 // found["rate0"]),
        "queue": (1, 11 * FRAME),
    }
    least, most = signals[signal]
    assert least <= found["queued0"] <= most, "in kbit/s, millionths, ns, octets"


def test_what_a_port_has_left_is_what_it_did_not_send(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message of every millisecond's 30 KB leaves three quarters of 1 Gb/s."""
    table = kept("bandwidth", 10**9, interval=MS)
    table["links"]["l1"]["rate"] = 10**9
    table["traffic"]["t"] |= {"size": 30_000, "count": 0, "every": MS}
    assembly = world(monkeypatch, table)
    run_until(assembly, 20 * MS)
    assert heard(assembly)["queued0"] == pytest.approx(750_000, rel=0.03)


def test_stamps_of_both_kinds_on_a_way_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    table = kept("queue", 10**9)
    table["nodes"]["far"]["congestion_point"] = {"plugin": "int"}
    with pytest.raises(BadInput, match=r"either csig or int at all ports of the way nic>sink"):
        world(monkeypatch, table)


def test_room_for_more_than_the_stamp_that_is_kept_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = kept("queue", 10**9)
    table["nodes"]["nic"]["reaction_point"]["hops"] = 2
    with pytest.raises(BadInput, match=r"reaction_point: 2 is not .* room for 1 stamp: csig has"):
        world(monkeypatch, table)


@pytest.mark.parametrize("plugin", ["int", "csig"])
def test_a_stamp_says_what_the_port_is_like_that_a_frame_leaves_by(
    monkeypatch: pytest.MonkeyPatch, plugin: str
) -> None:
    table = line()
    table["nodes"]["switch"] = {"kind": "switch"}
    table["nodes"]["switch"]["inputs"] = {"congestion_point": {"plugin": plugin}}
    told = f"nodes.switch.inputs.congestion_point: .*'{plugin}' stamps frames as they leave; "
    with pytest.raises(BadInput, match=told + "it belongs at an output"):
        world(monkeypatch, table)


def test_one_stamp_is_kept_by_what_needs_stamps() -> None:
    with pytest.raises(ValueError, match="keeps one stamp and does not need stamps"):
        congestion_point("odd", "", Reads, STATE, keeps_one_stamp=True)


def test_a_target_that_carries_no_stamps_refuses_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    known = registry(monkeypatch)
    simulated = known.target("simulated")
    bare = simulated.capabilities - {Capability.STAMPS}
    monkeypatch.setattr(type(simulated), "capabilities", bare)
    with pytest.raises(Refused) as refused:
        simulated.check(Plan(**line()).check(known), known.targets)
    text = str(refused.value)
    assert "the congestion_point int of switch." in text
    assert "lacks stamps. It runs on: software." in text
