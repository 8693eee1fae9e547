"""Links: serialisation, order, delay, loss by a cut or a full delay line. Flows start and stop."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.algorithm import delay_line
from orchestrator.assembly import assemble
from orchestrator.assembly import record as record_run
from orchestrator.engine.node.transmitter import AT_ONCE, LONGEST_PS, wire_time
from orchestrator.engine.records import NEVER, record
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params
from orchestrator.plan.plugin_catalog import Use
from orchestrator.recording import PortCapture
from orchestrator.registry import Registry
from tests.orchestrator.random_plans import DELAYS, RATES
from tests.orchestrator.worlds import (
    ALIGNED,
    MS,
    US,
    Table,
    at,
    line_of_three,
    recorded,
    run_until,
)

BIG = {"host_queue": 100_000}


SIZES = st.one_of(
    st.integers(0, 10_216),
    st.sampled_from([AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 10**9, 10**12]),
    st.integers(0, 10**12),
)
"""Frames, and what the sizes of a plan may be: a sample base to 1 GB, a message to 1 TB."""


@given(octets=SIZES, rate=st.one_of(st.integers(1, 10**13), st.integers(1, 10**6)))
def test_wire_time_is_rounded_up_for_every_size_and_rate_of_a_plan(octets: int, rate: int) -> None:
    exact = ceil(Fraction(octets * 8 * 10**12, rate))
    assert wire_time(octets, rate) == min(exact, LONGEST_PS)


def test_a_time_on_the_wire_is_never_never() -> None:
    an_hour = 3600 * 10**12
    assert an_hour + 2 * wire_time(10**12, 1) < NEVER


def captured(plan: Table) -> PortCapture:
    """What passes the NIC's end of its link."""
    capture = {"ports": ["nic.switch"], "frames": 5000, "snap": 64}
    return recorded(plan | {"capture": capture} | ALIGNED).captures[0]


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    rate=RATES,
    overhead=st.sampled_from([0, 20]),
    delay=DELAYS,
    lengths=st.lists(st.integers(70, 1500), min_size=1, max_size=4),
    jitter=st.one_of(st.none(), DELAYS),
)
def test_frames_follow_each_other_by_their_time_on_the_wire(
    rate: int, overhead: int, delay: int, lengths: list[int], jitter: int | None
) -> None:
    plan = line_of_three()
    plan["links"]["up"] |= {"rate": rate, "overhead": overhead, "delay": delay}
    if jitter is not None:
        plan["links"]["up"]["delay_line"] = {"plugin": "jittered-delay", "jitter": jitter}
    plan["traffic"] = {
        f"gen{n}": plan["traffic"]["gen"] | {"frame": length, "flows": 2}
        for n, length in enumerate(lengths)
    }
    seen = captured(plan)
    assert seen.outgoing.all()
    assert set(np.unique(seen.lengths)) <= set(lengths)
    assert (np.diff(seen.times_ps) >= 0).all()
    wire = np.array([wire_time(int(length) + overhead, rate) for length in seen.lengths])
    if jitter is None:
        # Every source keeps the port busy from 0 on: no gap, no overlap.
        assert np.array_equal(seen.times_ps, np.cumsum(wire) + delay)
    else:
        late = seen.times_ps - np.cumsum(wire) - delay
        assert (late >= 0).all()
        assert (late <= jitter).all()


class ByLength(Params):
    """Parameters of a delay that depends on a frame's length."""

    slope: int = 0
    """ps for each octet that a frame has, or, below 0, that it lacks of 1500."""


def by_length(state, params, port, frame, now, message):
    """Long frames take longer, or short ones."""
    octets = frame.length if params.slope >= 0 else frame.length - 1500
    return port.delay + params.slope * octets


BY_LENGTH = delay_line("by-length", "for a test", ByLength, record("unused"), delay=by_length)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rate=RATES,
    delay=DELAYS,
    lengths=st.lists(st.integers(70, 1500), min_size=1, max_size=5),
    slope=st.integers(-50_000, 50_000),
)
def test_a_delay_by_length_keeps_the_order_of_frames(
    rate: int, delay: int, lengths: list[int], slope: int
) -> None:
    """A frame arrives after its own delay, and no earlier than the one before it."""
    plan = line_of_three(capture={"ports": ["nic.switch"], "frames": 500, "snap": 64}, **ALIGNED)
    plan["links"]["up"] |= {"rate": rate, "delay": delay, "buffer": 10**7}
    plan["links"]["up"]["delay_line"] = {"plugin": "jittered-delay", "jitter": 75 * US}
    plan["traffic"] = {
        f"gen{n}": plan["traffic"]["gen"] | {"frame": length} for n, length in enumerate(lengths)
    }
    resolved = Plan(**plan).check(Registry.load())
    mine = {"up": Use(BY_LENGTH, ByLength(slope=slope))}
    assembly = assemble(replace(resolved, uses={**resolved.uses, "delay_line": mine}))
    run_until(assembly, assembly.resolved.plan.duration + 1)
    shares = [(assembly, list(plan["nodes"]))]
    seen = record_run("simulated", shares, cpu_s=0.0, wall_s=0.0).captures[0]
    sent = arrival = 0
    for length, came in zip(seen.lengths.tolist(), seen.times_ps.tolist(), strict=True):
        sent += ceil(Fraction(length * 8 * 10**12, rate))
        own = abs(slope) * (length if slope >= 0 else 1500 - length)
        arrival = max(arrival, sent + delay + own)
        assert came == arrival
    assert len(seen.lengths) > 0 or rate < 10**8


def test_a_jittered_line_uses_all_of_its_jitter() -> None:
    """Frames far enough apart to be late by their own draw alone: uniform from 0 to the jitter."""
    jitter, delay = 400 * US, 100 * US
    plan = line_of_three(duration=300 * MS, sample_interval=MS)
    plan["links"]["up"] |= {"delay": delay}
    plan["links"]["up"]["delay_line"] = {"plugin": "jittered-delay", "jitter": jitter}
    plan["traffic"]["gen"] |= {"rate": 20 * 10**6}  # a frame every 600 us, 12 us on the wire
    came = captured(plan).times_ps
    late = came - np.arange(len(came)) * 600 * US - 12 * US - delay
    assert (late >= 0).all()
    assert (late <= jitter).all()
    assert len(late) > 400
    shares = np.histogram(late, bins=4, range=(0, jitter))[0] / len(late)
    assert (abs(shares - 0.25) < 0.1).all(), "a tenth is 4.6 standard deviations of a quarter"
    assert len(set(late.tolist())) > len(late) * 0.95


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(lengths=st.lists(st.integers(70, 1500), min_size=1, max_size=4, unique=True))
def test_octets_are_counted_as_the_frames_have_them(lengths: list[int]) -> None:
    """On links and queues, by flow and in the capture: the same octets, every one of them."""
    plan = line_of_three(capture={"ports": ["switch.sink"], "frames": 5000, "snap": 64})
    gen = plan["traffic"]["gen"] | {"rate": 10**8, "stop": MS}
    plan["traffic"] = {f"gen{n}": gen | {"frame": length} for n, length in enumerate(lengths)}
    recording = recorded(plan)
    (seen,) = recording.captures
    octets = int(seen.lengths[seen.outgoing].sum())
    assert octets > 0
    for entity in ("nic>switch", "switch.sink", "switch>sink"):
        assert recording.column(entity, "bytes_out")[-1] == octets, entity
    for n, length in enumerate(lengths):
        frames = int((seen.lengths[seen.outgoing] == length).sum())
        assert recording.column(f"gen{n}", "bytes_sent")[-1] == frames * length
        assert recording.column(f"gen{n}", "bytes_received")[-1] == frames * length
        assert recording.column(f"gen{n}", "frames_received")[-1] == frames


def test_flows_take_turns_on_their_port() -> None:
    plan = line_of_three()
    plan["traffic"]["gen"]["flows"] = 3
    recording = recorded(plan)
    sent = [recording.column(f"gen.{n}", "frames_sent")[-1] for n in range(3)]
    assert max(sent) - min(sent) <= 1
    assert sum(sent) == -(-2 * MS // (1500 * 8000)) + (2 * MS % (1500 * 8000) == 0)


def test_a_shorter_delay_does_not_reorder() -> None:
    plan = line_of_three(timeline=[{"at": 500 * US, "set": "links.up.delay", "to": 0}])
    plan["links"]["up"]["delay"] = 300 * US
    seen = captured(plan)
    assert (np.diff(seen.times_ps) >= 0).all()
    assert (np.diff(seen.times_ps) == 0).sum() > 20, "those under way hold the quick ones back"


@settings(max_examples=25)
@given(cut=st.integers(0, 900 * US), gap=st.integers(1, 1000 * US))
def test_a_cut_link_loses_what_is_sent_meanwhile_and_counts_it(cut: int, gap: int) -> None:
    mend = cut + gap
    plan = line_of_three(
        timeline=[{"at": cut, "cut": "up"}, {"at": mend, "mend": "up"}],
        phases={"cut": {"from": cut, "to": mend}},
    )
    recording = recorded(plan)
    way = "nic>switch"
    sent = at(recording, way, "frames_out", mend) - at(recording, way, "frames_out", cut)
    lost = recording.column(way, "frames_dropped")[-1]
    assert lost == at(recording, way, "frames_dropped", mend)
    # On the grid a row is taken after the step of that instant, off it before: one frame at most.
    assert abs(int(lost) - sent) <= 1
    first, last = -(-cut // (12 * US)), -(-mend // (12 * US))
    assert abs(int(lost) - (last - first)) <= 1
    received = recording.column("gen", "frames_received")[-1]
    under_way = recording.column("gen", "frames_sent")[-1] - received - lost
    assert 0 <= under_way <= 3


def test_what_is_under_way_when_a_link_is_cut_still_arrives() -> None:
    plan = line_of_three(timeline=[{"at": MS, "cut": "up"}], duration=2 * MS)
    plan["links"]["up"]["delay"] = 600 * US
    recording = recorded(plan)
    sent = recording.column("gen", "frames_sent")
    lost = recording.column("nic>switch", "frames_dropped")
    assert recording.column("gen", "frames_received")[-1] == sent[-1] - lost[-1]
    assert at(recording, "gen", "frames_received", 1500 * US) > at(
        recording, "gen", "frames_received", MS
    )


def test_a_full_delay_line_drops_and_counts() -> None:
    plan = line_of_three()
    plan["links"]["up"] |= {"delay": 300 * US, "buffer": 6_000}
    recording = recorded(plan)
    row = {
        name: recording.column("nic>switch", name)[-1] for name in ("frames_out", "frames_dropped")
    }
    # Four frames fit; one is under way for 312 us, in which 26 are sent.
    passed = row["frames_out"] - row["frames_dropped"]
    assert row["frames_dropped"] > 0
    assert abs(int(passed) - 4 * 2 * MS / (312 * US)) <= 4


def test_flows_start_and_stop_by_entry_and_by_flow() -> None:
    entry: dict[str, Any] = {"flows": 2, "rate": 12 * 10**6, "start": MS, "stop": 9 * MS}
    plan = line_of_three(
        duration=20 * MS,
        timeline=[
            {"at": 3 * MS + US, "stop": "gen.1"},
            {"at": 5 * MS, "stop": "gen"},
            {"at": 7 * MS, "start": "gen"},
            {"at": 12 * MS, "start": "gen.1"},
        ],
    )
    plan["traffic"]["gen"] |= entry
    recording = recorded(plan | ALIGNED)

    def counts(flow: str) -> dict[int, int]:
        times = [n * MS - 100 * US for n in range(1, 21)]
        return {t // MS: at(recording, flow, "frames_sent", t) for t in times}

    first, second = counts("gen.0"), counts("gen.1")
    # One frame a millisecond, the first at the start itself; index n: within [n ms, n + 0.9 ms].
    assert [first[n] for n in range(20)] == [0, 1, 2, 3, 4, 4, 4, 5, 6] + [6] * 11
    assert [second[n] for n in range(20)] == (
        [0, 1, 2, 3, 3, 3, 3, 4, 5, 5, 5, 5, 6, 7, 8, 9, 10, 11, 12, 13]
    )
