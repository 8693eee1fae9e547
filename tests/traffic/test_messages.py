"""Messages over simulated networks: when they are complete, and against which time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import MessageTable, Recording
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import (
    ALIGNED,
    MS,
    US,
    Table,
    assembled,
    line_of_three,
    recorded,
    run_in_steps,
)


def with_messages(**traffic: Any) -> Table:
    """The line of three with messages of 100 KB, one by one, instead of its constant rate."""
    plan = line_of_three(duration=20 * MS)
    size = {} if traffic.get("plugin") in ("bulk", "poisson") else {"size": 100_000}
    plan["traffic"] = {"m": {"plugin": "messages", "from": "nic", "to": "sink"} | size | traffic}
    return plan


def table_of(recording: Recording) -> MessageTable:
    assert recording.messages is not None
    return recording.messages


@settings(max_examples=40, deadline=None)
@given(
    size=st.one_of(st.integers(1, 3000), st.integers(1, 200_000)),
    frame=st.sampled_from([150, 700, 1500]),
    rates=st.tuples(*[st.sampled_from([10**8, 999_999_937, 10**9])] * 2),
    service=st.sampled_from([None, 50_000_000, 333_333_333]),
    delay=st.sampled_from([0, 7 * US]),
    overhead=st.sampled_from([0, 20]),
    inputs=st.sampled_from(
        [
            None,
            {"speedup": "8/5", "crossbar_latency": 3 * US},
            {"crossbar_latency": 3 * US, "shared_memory": 500_000},
        ]
    ),
)
def test_a_message_alone_takes_the_ideal_time_to_the_picosecond(
    size: int,
    frame: int,
    rates: tuple[int, int],
    service: int | None,
    delay: int,
    overhead: int,
    inputs: Table | None,
) -> None:
    plan = with_messages(size=size, frame=frame) | ALIGNED
    plan["duration"] = 600 * MS
    plan["sample_interval"] = 100 * MS
    plan["nodes"]["switch"] |= {"buffer": 500_000}
    if service:
        plan["nodes"]["switch"]["service_rate"] = service
    if inputs:
        plan["nodes"]["switch"]["inputs"] = inputs | {"buffer": 500_000}
    for name, rate in zip(("up", "down"), rates, strict=True):
        plan["links"][name] |= {"rate": rate, "delay": delay, "overhead": overhead}
    table = table_of(recorded(plan))
    assert table.done_ps[0] >= 0
    assert table.done_ps[0] - table.start_ps[0] == table.ideal_ps[0]


def test_messages_of_a_connection_go_one_after_another() -> None:
    table = table_of(recorded(with_messages(count=3, interval=100 * US) | ALIGNED))
    assert table.start_ps.tolist() == [0, 100 * US, 200 * US]
    alone = int(table.ideal_ps[0])
    wire = 70 * 1500 * 8000 * 1 + (100_000 - 69 * 1430 + 70 - 1500) * 8000
    assert wire > 0
    gaps = np.diff(table.done_ps)
    assert table.done_ps[0] == alone
    assert (gaps > 0.98 * alone - 20 * US).all()
    assert (gaps < alone).all()


def test_a_message_that_lost_a_frame_is_not_complete() -> None:
    plan = with_messages(flows=3)
    plan["nodes"]["switch"] |= {"buffer": 20_000, "service_rate": 500_000_000}
    recording = recorded(plan)
    dropped = recording.column("switch.sink", "frames_dropped")[-1]
    assert dropped > 0
    table = table_of(recording)
    assert (table.done_ps < 0).any()
    assert np.isnan(table.fct_s()[table.done_ps < 0]).all()


def test_frames_are_never_lost_or_doubled() -> None:
    plan = with_messages(flows=4, count=0, interval=200 * US, size=7_001, pairing="random")
    plan["nodes"]["nic"]["host_queues"] = "shared"
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 10):
        audit(assembly.world)
    assert (assembly.world.messages["done"] < 20 * MS).sum() > 300


def test_a_flow_that_is_stopped_in_a_message_goes_on_with_it() -> None:
    plan = with_messages(size=500_000)
    plan["timeline"] = [{"at": 2 * MS, "stop": "m"}, {"at": 5 * MS, "start": "m"}]
    table = table_of(recorded(plan))
    pause = int(table.done_ps[0] - table.ideal_ps[0])
    assert 3 * MS - 40 * US < pause <= 3 * MS


def test_a_bulk_transfer_has_no_completion_and_fills_the_link() -> None:
    recording = recorded(with_messages(plugin="bulk") | {"sample_interval": MS})
    assert not len(table_of(recording).size)
    assert recording.column("m", "bytes_received")[-1] > 0.99 * 20 * MS // 8000


def test_size_belongs_to_messages_and_bulk_has_none() -> None:
    with pytest.raises(BadInput, match="size"):
        Plan(**with_messages(plugin="bulk", size=5)).check(Registry.load())


def test_a_frame_of_headers_alone_carries_no_message() -> None:
    with pytest.raises(BadInput, match="more than 70B"):
        assembled(with_messages(frame=70))


def test_a_schedule_that_cannot_be_made_is_refused_with_the_cause() -> None:
    with pytest.raises(BadInput, match="'fan_in' 9 is more than the 1 connections"):
        assembled(with_messages(plugin="incast", fan_in=9))
    with pytest.raises(BadInput, match="the table 'cdf' of the traffic is expected"):
        assembled(with_messages(plugin="poisson", sizes="cdf"))


@pytest.mark.parametrize("transport", ["tcp", "go-back-n", "credit"])
def test_a_transport_that_has_nothing_to_send_yet_sleeps(transport: str) -> None:
    plan = with_messages(start=0, count=2, interval=15 * MS, size=3_000, stagger=4 * MS, flows=2)
    plan["nodes"]["sink"]["receiver"] = {"plugin": "receiver-credits"}
    plan["traffic"]["m"]["transport"] = {"plugin": transport}
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 10):
        audit(assembly.world)
    assert (assembly.world.messages["done"] < 20 * MS).all()
    assert assembly.world.clock[0].events < 1000
