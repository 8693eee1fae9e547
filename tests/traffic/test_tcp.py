"""The TCP model: recovery, timers, congestion control, and what a connection reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly
from orchestrator.engine.frames import decode, encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import ACK, NEVER
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.frame_audit import Audit
from tests.orchestrator.worlds import (
    ALIGNED,
    MS,
    US,
    Table,
    assembled,
    recorded,
    run_in_steps,
    run_until,
)
from tests.plugins.described import check_page
from tests.plugins.kernel_driver import KernelDriver
from traffic.cubic_window import cube_root
from traffic.tcp import TCP, Tcp

S = 1000 * MS


def line(**tcp: Any) -> Table:
    """NIC, switch, sink at 1 Gb/s, 1 ms there and back; one message of 100 segments over TCP."""
    return {
        "name": "tcp",
        "duration": 100 * MS,
        "sample_interval": MS,
        "nodes": {"nic": {"kind": "nic"}, "switch": {"kind": "switch"}, "sink": {"kind": "sink"}},
        "links": {
            "up": {"ends": ["nic", "switch"], "rate": 10**9, "delay": 250 * US},
            "down": {"ends": ["switch", "sink"], "rate": 10**9, "delay": 250 * US},
        },
        "traffic": {
            "t": {
                "plugin": "messages",
                "from": "nic",
                "to": "sink",
                "size": 143_000,
                "transport": {"plugin": "tcp"} | tcp,
            }
        },
    }


def states(assembly: Assembly) -> list[Any]:
    """The connections' state records, in the order of the flows."""
    kept = assembly.built.pointed_at  # type: ignore[attr-defined]
    return [pair[0][0] for pair in kept if "una" in (pair[0].dtype.names or ())]


def whole(table: Table) -> Assembly:
    assembly = assembled(table)
    run_until(assembly, table["duration"] + 1)
    return assembly


def done_ps(assembly: Assembly) -> int:
    return int(assembly.world.messages["done"][0])


def test_a_first_window_goes_out_at_once_and_takes_the_ideal_time() -> None:
    table = line() | ALIGNED
    table["traffic"]["t"]["size"] = 10 * 1430
    assembly = whole(table)
    wire = 1500 * 8000
    assert done_ps(assembly) == 10 * wire + 250 * US + wire + 250 * US
    assert assembly.world.ports["frames_out"].sum() == 2 * 10 + 2 * 5  # five acknowledgements


def test_slow_start_sends_once_and_half_as_much_per_round_trip() -> None:
    assembly = whole(line())  # 100 segments: 10 + 20 + 40 + 30
    round_trip = MS + 2 * 1500 * 8000 + 2 * 70 * 8000
    one_way = round_trip // 2 + 30 * 12 * US
    assert 3 * round_trip + round_trip // 2 < done_ps(assembly) < 3 * round_trip + one_way + 40 * US
    state = states(assembly)[0]
    assert (state.lost, state.timeouts, state.una) == (0, 0, 100)
    assert MS < state.srtt < 2 * MS


def test_a_lone_segment_is_acknowledged_after_the_delay() -> None:
    table = line(delayed_ack=5 * MS)
    table["traffic"]["t"]["size"] = 100
    assembly = whole(table)
    state = states(assembly)[0]
    assert state.una == 1
    assert 6 * MS < state.srtt < 6 * MS + 20 * US
    prompt = line(delayed_ack=0)
    prompt["traffic"]["t"]["size"] = 100
    assert states(whole(prompt))[0].srtt < MS + 20 * US


def one_frame_lost(size: int, at_ps: int, **tcp: Any) -> Table:
    """The link is cut for about one frame's time; which one, equal clocks say."""
    table = line(**tcp) | ALIGNED
    table["duration"] = 2 * S
    table["sample_interval"] = 100 * MS
    table["traffic"]["t"]["size"] = size
    table["timeline"] = [{"at": at_ps, "cut": "up"}, {"at": at_ps + 12 * US, "mend": "up"}]
    return table


def test_a_lost_segment_is_sent_again_without_waiting_for_the_timer() -> None:
    assembly = whole(one_frame_lost(400 * 1430, 3100 * US))
    state = states(assembly)[0]
    assert state.timeouts == 0
    assert state.lost in (1, 2)
    assert done_ps(assembly) < 12 * MS


def driven(**params: Any) -> KernelDriver:
    """A connection that has sent 100 segments with a window of as many, past slow start."""
    driver = KernelDriver(TCP)
    driver.written[:] = 0
    driver.params[0] = Tcp(**params).record()[0]
    driver.entity["available"] = 10**6
    driver.entity["ack_timer"] = NEVER
    driver.call("send", 0)
    driver.state["window"] = 100_000
    driver.state["threshold"] = 0
    while driver.call("send", 0):
        pass
    assert driver.state["nxt"][0] == 100
    return driver


def acknowledge(driver: KernelDriver, sequence: int, block: tuple[int, int], now: int) -> None:
    driver.frame["sequence"] = sequence
    driver.frame["offset"], driver.frame["delta"] = block
    driver.call("acknowledged", now)


@pytest.mark.parametrize(("congestion", "left"), [("cubic", 70_000), ("newreno", 50_000)])
def test_a_loss_reduces_the_window_by_the_algorithm(congestion: str, left: int) -> None:
    driver = driven(congestion=congestion)
    for end in (2, 3, 4):
        assert driver.state["recovering"][0] == 0
        acknowledge(driver, 0, (1, end), MS)
    assert driver.state["recovering"][0] == 1
    assert driver.state["window"][0] == driver.state["threshold"][0] == left
    assert driver.call("send", MS) == 1
    assert driver.message["sequence"][0] == 0  # the one that is missing, at once
    assert driver.call("send", MS) == 0  # more is under way than the window allows
    assert driver.state["pipe"][0] == 100 - 3  # three arrived, one was lost and sent again


def test_what_is_lost_at_the_end_waits_for_the_timer() -> None:
    table = line()
    table["duration"] = S
    table["sample_interval"] = 100 * MS
    table["traffic"]["t"]["size"] = 10 * 1430
    table["timeline"] = [{"at": 100 * US, "cut": "up"}, {"at": 900 * US, "mend": "up"}]
    assembly = whole(table)
    state = states(assembly)[0]
    assert state.timeouts == 1
    assert 200 * MS < done_ps(assembly) < 244 * MS  # one delayed acknowledgement in it


def test_what_closes_a_gap_after_a_timeout_opens_the_window_by_one_segment() -> None:
    """Many segments are told of at once that have long left the network (RFC 3465)."""
    driver = driven(congestion="cubic")
    driver.call("send", S)  # the timer: one segment, and the first goes out again
    assert (driver.state["window"][0], driver.state["threshold"][0]) == (1_000, 70_000)
    acknowledge(driver, 90, (0, 0), S + MS)
    assert driver.state["window"][0] == 2_000
    acknowledge(driver, 100, (0, 0), S + 2 * MS)  # the timeout is over: two at the most
    assert driver.state["window"][0] <= 4_000


@pytest.mark.parametrize("congestion", ["newreno", "cubic"])
def test_a_chance_of_loss_that_follows_the_delay_settles(congestion: str) -> None:
    """A sender that bursts after timeouts keeps PIE at a loss of one half."""
    table = line(congestion=congestion)
    table |= {"duration": 15 * S, "sample_interval": 10 * MS}
    table["nodes"]["switch"] |= {"service_rate": 100_000_000, "buffer": 2_000_000}
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "pie"}
    for link in table["links"].values():
        link["delay"] = 10 * MS
    del table["traffic"]["t"]["size"]
    table["traffic"]["t"] |= {"plugin": "bulk", "flows": 8}
    recording = recorded(table)
    late = recording.times_ps > 10 * S
    chance = recording.column("switch.sink", "drop_probability")[late] / 10**12
    assert chance.max() < 0.05
    dropped = recording.column("switch.sink", "frames_dropped_early")[late]
    sent = recording.column("switch.sink", "frames_in")[late]
    assert 0 < dropped[-1] - dropped[0] < 0.01 * (sent[-1] - sent[0])


def test_a_dead_path_is_tried_ever_more_rarely() -> None:
    table = line(min_rto=10 * MS)
    table["traffic"]["t"]["size"] = 10**7
    table["duration"] = 60 * S
    table["sample_interval"] = S
    table["timeline"] = [{"at": 3 * MS, "cut": "up"}]
    state = states(whole(table))[0]
    assert state.timeouts == 12  # 10 ms, 20 ms, ...: the sum of twelve is 41 s
    assert state.backoff == 12


@pytest.mark.parametrize("congestion", ["newreno", "cubic"])
def test_a_bulk_transfer_fills_a_slow_port_with_few_losses(congestion: str) -> None:
    table = line(congestion=congestion)
    table["duration"] = 3 * S
    table["sample_interval"] = 10 * MS
    table["nodes"]["switch"] |= {"service_rate": 100_000_000, "buffer": 60_000}
    del table["traffic"]["t"]["size"]
    table["traffic"]["t"] |= {"plugin": "bulk", "flows": 2}
    assembly = assembled(table)
    for _ in run_in_steps(assembly, 6):
        Audit(assembly.world)  # every descriptor is in one place
    received = assembly.world.flows["bytes_received"]
    assert received.sum() * 8 / 3 > 0.97 * 100e6
    assert received.min() > 0.2 * received.sum()
    dropped = assembly.world.queues["frames_dropped"].sum()
    assert 0 < dropped < 0.02 * assembly.world.queues["frames_in"].sum()
    assert sum(int(state.timeouts) for state in states(assembly)) <= 4


def test_a_receiver_without_a_gap_got_every_segment_once_in_order() -> None:
    table = line()
    table["duration"] = 4 * S
    table["sample_interval"] = 10 * MS
    table["nodes"]["switch"] |= {"service_rate": 50_000_000, "buffer": 15_000}
    table["traffic"]["t"] |= {"size": 2_000_000, "flows": 3}
    assembly = whole(table)
    assert assembly.world.queues["frames_dropped"].sum() > 10
    assert (assembly.world.messages["done"] < 4 * S).all()
    for state in states(assembly):
        assert state.expected == state.una == state.nxt == 1399
        assert state.pipe == 0
        assert not state.there.any()
        assert not state.sacked.any()
        assert not state.again.any()


def test_cube_roots_are_exact() -> None:
    for value in (0, 1, 7, 8, 26, 27, 10**18, 4 * 10**18):
        root = cube_root(value)
        assert root**3 <= value < (root + 1) ** 3


def test_cubic_follows_the_curve_of_the_standard() -> None:
    """A window that came back to `most` K later; the curve between, against RFC 9438, figure 1."""
    driver = driven()
    state = driver.state
    most, round_trip = 400_000, 100 * MS
    state["window"], state["threshold"], state["most"] = most * 7 // 10, 0, most
    state["nxt"], state["una"], state["pipe"] = 100_000, 0, 10**6
    state["srtt"] = round_trip
    reach = (400 * 0.3 / 0.4) ** (1 / 3)
    now, seen = S, []
    while now < 13 * S:
        acks = int(state["window"][0]) // 2000
        for _ in range(acks):
            now += round_trip // acks
            driver.frame["sequence"] = state["una"][0] + 2
            driver.frame["created"] = now - round_trip
            state["nxt"] = state["una"] + 1000
            state["pipe"] = 10**6
            driver.call("acknowledged", now)
        seen.append((now / S - 1, int(state["window"][0]) / 1000))
    for elapsed, window in seen[10:]:
        wanted = 0.4 * (elapsed - reach) ** 3 + 400
        assert window == pytest.approx(wanted, rel=0.03), elapsed
    assert np.diff([window for _, window in seen]).min() >= 0


def test_a_mark_reduces_the_window_once_per_window() -> None:
    driver = driven(ecn=True, congestion="newreno")
    assert driver.message["mark"][0] == 2
    driver.frame["mark"] = 3
    acknowledge(driver, 2, (0, 0), MS)
    halved = int(driver.state["window"][0])
    assert halved == 49_000
    for acked in (4, 98, 99):
        acknowledge(driver, acked, (0, 0), MS)
        assert driver.state["window"][0] == halved
    acknowledge(driver, 100, (0, 0), MS)
    assert driver.state["window"][0] < halved


def test_a_captured_acknowledgement_is_udp_to_other_tools_and_comes_back_whole() -> None:
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether

    frame = empty_descriptors(1)
    frame[0].kind, frame[0].length, frame[0].sequence, frame[0].flow = ACK, 70, 77, 3
    frame[0].source, frame[0].destination, frame[0].created = 9, 3, 5_000_001
    frame[0].offset, frame[0].delta, frame[0].mark = 80, 82, 3
    octets = np.full(128, 255, np.uint8)
    assert encode(frame[0], octets) == 70
    packet = Ether(octets[:70].tobytes())
    assert (packet[IP].src, packet[IP].dst, packet[IP].len) == ("10.0.0.9", "10.0.0.3", 52)
    assert packet[IP].chksum == IP(packet[IP].copy().build()).chksum
    assert (packet[UDP].dport, packet[UDP].len) == (0xC7B2, 32)
    back = empty_descriptors(1)[0]
    assert decode(octets, 70, back) == ACK
    for name in ("sequence", "flow", "source", "destination", "created", "offset", "delta", "mark"):
        assert back[name] == frame[0][name], name


def test_a_transport_carries_messages_only() -> None:
    table = line()
    table["traffic"]["t"] = {
        "plugin": "cbr",
        "from": "nic",
        "to": "sink",
        "transport": {"plugin": "tcp"},
    }
    with pytest.raises(BadInput, match=r"traffic\.t\.transport: .*'cbr' has no messages"):
        Plan(**table).check(Registry.load())


@pytest.mark.software
def test_the_model_runs_on_real_frames(namespaces: None) -> None:
    table = line()
    for link in table["links"].values():
        link["rate"] = 100_000_000
    done = run(Plan(**table), target="software", out=None)
    assert done.recording.messages is not None
    assert 11 * MS < done.recording.messages.done_ps[0] < 100 * MS
    assert done.recording.column("t", "frames_received")[-1] >= 100


def test_the_page_has_its_parameters() -> None:
    assert check_page("traffic.tcp") > 0
