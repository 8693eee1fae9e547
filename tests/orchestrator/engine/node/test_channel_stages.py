"""Stages of a link: their order, their draws, what they count, and what becomes of the frames."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.algorithm import Algorithm, delay_line
from orchestrator.assembly import assemble, record
from orchestrator.engine.frames import type_table
from orchestrator.engine.frames.core_frame_types import CORE
from orchestrator.engine.frames.frame_codec import decode, encode
from orchestrator.engine.node.channel_stages import is_last_octet_checked
from orchestrator.engine.node.frame_capture import corrupt_last_octet
from orchestrator.engine.records import CNP, DATA
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import Audit, audit
from orchestrator.run.run_result import judge_recording
from orchestrator.run.world_invariants import broken_in_world
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import (
    ALIGNED,
    MS,
    US,
    Table,
    assembled,
    line_of_three,
    recorded,
    run_in_steps,
    run_until,
)
from traces.pytest_plugin.decoded_frames import Frames

WIRE_PS = 1500 * 8000
"""ps of a full frame on the links of the plan."""
UP = "nic>switch"
QUANTITIES = ("entered", "lost", "corrupted", "duplicated", "reordered")


def loss(rate: str | float = "1/10", **more: Any) -> Table:
    return {"plugin": "lossy-delay", "loss_rate": str(rate), **more}


def duplication(rate: str | float = "1/10", **more: Any) -> Table:
    return {"plugin": "duplication", "duplication_rate": str(rate), **more}


def reordering(rate: str | float = "1/10", **more: Any) -> Table:
    return {"plugin": "reordering", "reordering_rate": str(rate), "hold": 30 * US, **more}


def bit_errors(rate: str = "1/100000", **more: Any) -> Table:
    return {"plugin": "bit-errors", "bit_error_rate": rate, **more}


BURSTS: Table = {"plugin": "gilbert-elliott", "to_bad": "1/20", "to_good": "1/3"}
JITTER: Table = {"plugin": "jittered-delay", "jitter": 3 * US}


def plan(*stages: Table, frames: int = 2000, seed: int = 1, **changes: Any) -> Table:
    """NIC, switch, sink; frames of 1500 B at half the link's rate, over a link with stages."""
    duration = frames * 2 * WIRE_PS + MS
    table = line_of_three(duration=duration, sample_interval=duration, seed=seed, **ALIGNED)
    table["traffic"]["gen"] |= {"rate": 10**9 // 2, "stop": frames * 2 * WIRE_PS - 1}
    if stages:
        table["links"]["up"]["delay_line"] = list(stages)
    return table | changes


def counted(recording: Recording, stage: int, way: str = UP) -> dict[str, int]:
    """What a stage has counted by the end, by name."""
    entity = f"{way}/stage{stage}"
    return {name: int(recording.column(entity, f"frames_{name}")[-1]) for name in QUANTITIES}


def arrivals(*stages: Table, frames: int = 400, **changes: Any) -> list[int]:
    """Sequence numbers in the order in which they reached the switch."""
    table = plan(*stages, frames=frames, **changes)
    table["capture"] = {"ports": ["switch.nic"], "frames": 10_000}
    (seen,) = recorded(table).captures
    fields = Frames.of(seen.times_ps, seen.outgoing, seen.lengths, seen.octets).fields
    return fields["sequence"][fields["kind"] == DATA].tolist()


def within(found: int, mean: float, variance: float) -> bool:
    """True within five standard errors."""
    return abs(found - mean) <= 5 * variance**0.5


@pytest.mark.parametrize("seed", [1, 2])
def test_loss_before_duplication_copies_what_is_left(seed: int) -> None:
    """Of n frames n p are lost, and n (1 - p) q copied; no copy is lost."""
    n, p, q = 4000, 0.2, 0.3
    done = recorded(plan(loss(p), duplication(q), frames=n, seed=seed))
    first, second = counted(done, 1), counted(done, 2)
    assert within(first["lost"], n * p, n * p * (1 - p))
    assert second["entered"] == n - first["lost"]
    assert within(second["duplicated"], second["entered"] * q, n * q * (1 - q))
    assert second["lost"] == first["duplicated"] == 0
    received = int(done.column("gen", "frames_received")[-1])
    assert received == n - first["lost"] + second["duplicated"]


@pytest.mark.parametrize("seed", [1, 2])
def test_duplication_before_loss_loses_copies_too(seed: int) -> None:
    """Of n frames n q are copied, and n (1 + q) p lost; of a pair both arrive with (1 - p)^2."""
    n, p, q = 4000, 0.2, 0.3
    done = recorded(plan(duplication(q), loss(p), frames=n, seed=seed))
    first, second = counted(done, 1), counted(done, 2)
    assert within(first["duplicated"], n * q, n * q * (1 - q))
    assert second["entered"] == n + first["duplicated"]
    assert within(second["lost"], second["entered"] * p, n * (1 + q) * p * (1 - p))
    assert second["duplicated"] == first["lost"] == 0
    twice = Counter(arrivals(duplication(q), loss(p), frames=n, seed=seed)).values()
    pairs = n * q * (1 - p) ** 2
    assert within(sum(times == 2 for times in twice), pairs, pairs)


def test_a_copy_follows_its_frame_and_takes_its_time_on_the_wire() -> None:
    table = plan(duplication(1, copies=2), frames=3)
    table["capture"] = {"ports": ["switch.nic"], "frames": 100}
    (seen,) = recorded(table).captures
    fields = Frames.of(seen.times_ps, seen.outgoing, seen.lengths, seen.octets).fields
    assert fields["sequence"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert set(np.diff(seen.times_ps).tolist()) == {WIRE_PS}


def test_copies_of_copies_pass_the_stages_behind_them() -> None:
    done = recorded(plan(duplication(1), duplication(1), loss(0), frames=5))
    assert [counted(done, n)["entered"] for n in (1, 2, 3)] == [5, 10, 20]
    assert [counted(done, n)["duplicated"] for n in (1, 2, 3)] == [5, 10, 0]
    assert done.column("gen", "frames_received")[-1] == 20
    assert done.column(UP, "frames_duplicated")[-1] == 15
    assert done.column(UP, "frames_out")[-1] == 20


def test_only_frames_that_are_held_back_are_overtaken() -> None:
    """All others keep their order, whatever jitter the stages before have."""
    found = arrivals(JITTER | {"jitter": 90 * US}, reordering("1/20", hold=400 * US))
    at = {sequence: place for place, sequence in enumerate(found)}
    late = {n for n in at if any(at[m] < at[n] for m in range(n + 1, min(n + 40, len(at))))}
    done = recorded(
        plan(JITTER | {"jitter": 90 * US}, reordering("1/20", hold=400 * US), frames=400)
    )
    held = counted(done, 2)["reordered"]
    assert 5 < len(late) <= held
    kept = [n for n in found if n not in late]
    assert kept == sorted(kept)


def test_copies_that_are_held_back_are_overtaken_as_frames_are() -> None:
    """And drag nothing with them: what leaves behind a held copy arrives before it."""
    stages = [duplication(1), reordering("1/20", hold=60 * WIRE_PS)]
    found = arrivals(*stages)
    late = sum(max(found[:place], default=-1) > one for place, one in enumerate(found))
    held = counted(recorded(plan(*stages, frames=400)), 2)["reordered"]
    assert held > 20
    assert 0.9 * held <= late <= held


STAGES = [
    loss(),
    duplication(),
    reordering(),
    bit_errors(),
    bit_errors(fcs="right"),
    BURSTS,
    JITTER,
]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.sampled_from(STAGES), min_size=1, max_size=3),
    st.sampled_from([loss(0.5), duplication(0.5), bit_errors(), JITTER, BURSTS]),
    st.integers(0, 99),
)
def test_a_stage_behind_leaves_the_draws_of_those_before(
    stages: list[Table], more: Table, seed: int
) -> None:
    alone, longer = (
        recorded(plan(*some, frames=300, seed=seed)) for some in (stages, [*stages, more])
    )
    for number in range(1, len(stages) + 1):
        assert counted(alone, number) == counted(longer, number), (stages, number)


@pytest.mark.parametrize("first", [loss(), JITTER])
def test_the_first_stage_draws_as_the_algorithm_alone(first: Table) -> None:
    """So a plan that adds a stage to a delay line keeps what that one does to each frame."""
    alone = plan(frames=300)
    alone["links"]["up"]["delay_line"] = first
    staged = plan(first, {"plugin": "fixed-delay"}, frames=300)
    times = []
    for table in (alone, staged):
        table["capture"] = {"ports": ["switch.nic"], "frames": 1000}
        times.append(recorded(table).captures[0].times_ps.tolist())
    assert times[0] == times[1]


def test_two_stages_of_one_kind_draw_by_themselves() -> None:
    """What the first lets pass the second loses with its own share: registers are not shared."""
    n, p = 6000, 0.5
    done = recorded(plan(loss(p), loss(p), frames=n))
    first, second = counted(done, 1), counted(done, 2)
    assert within(first["lost"], n * p, n * p * (1 - p))
    assert within(second["lost"], second["entered"] * p, second["entered"] * p * (1 - p))
    both = recorded(plan(BURSTS, BURSTS, frames=n))
    found = [int(both.column(f"{UP}/stage{k}", "bursts")[-1]) for k in (1, 2)]
    assert found[0] != found[1]
    assert min(found) > 100


def test_directions_of_a_link_draw_by_themselves() -> None:
    table = plan(loss(), loss())
    table["nodes"]["sink"] = {"kind": "nic"}
    table["traffic"]["back"] = table["traffic"]["gen"] | {"from": "sink", "to": "nic"}
    done = recorded(table)
    there, back = counted(done, 1), counted(done, 1, "switch>nic")
    assert there["entered"] == back["entered"]
    assert there["lost"] != back["lost"]
    assert back["lost"] > 0


def test_counts_are_those_of_the_link_that_is_named() -> None:
    """Of a network whose ports are numbered by node, not by link."""
    stages: Table = {
        "a": [loss(1)],
        "b": [loss(0), duplication(1)],
        "c": [loss(0), bit_errors("1")],
    }
    table = plan(frames=10)
    table["nodes"] |= {name: {"kind": "nic"} for name in stages}
    del table["links"]["up"], table["nodes"]["nic"]
    table["links"] |= {
        f"l-{name}": {"ends": [name, "switch"][:: 1 if name == "b" else -1], "rate": 10**9}
        | {"delay_line": line}
        for name, line in stages.items()
    }
    table["traffic"] = {
        f"t-{name}": table["traffic"]["gen"]
        | {"from": name, "rate": 10**8, "stop": 10 * 20 * WIRE_PS - 1}
        for name in stages
    }
    table["links"]["down"]["rate"] = 10**10
    table |= {"duration": 9 * MS, "sample_interval": 9 * MS}
    done = recorded(table)
    sent = int(done.column("t-a", "frames_sent")[-1])
    assert sent > 5
    assert [counted(done, 1, f"{name}>switch")["lost"] for name in stages] == [sent, 0, 0]
    assert counted(done, 2, "b>switch")["duplicated"] == sent
    assert counted(done, 2, "c>switch")["corrupted"] == sent
    assert counted(done, 1, "switch>a")["entered"] == 0


@pytest.mark.parametrize("fcs", ["wrong", "right"])
def test_a_corrupted_frame_is_dropped_where_its_fcs_shows_it(fcs: str) -> None:
    done = recorded(plan(bit_errors(fcs=fcs)))
    found, sent = counted(done, 1), int(done.column("gen", "frames_sent")[-1])
    assert found["corrupted"] > 100
    dropped = found["corrupted"] if fcs == "wrong" else 0
    assert done.column(UP, "frames_fcs_errors")[-1] == dropped
    assert done.column(UP, "frames_dropped")[-1] == dropped
    assert done.column("gen", "frames_received")[-1] == sent - dropped


def test_a_stage_behind_never_gets_what_one_before_has_lost_but_what_it_corrupted() -> None:
    """The FCS check stands at the end of the link, behind all stages."""
    done = recorded(plan(bit_errors(), loss(), BURSTS))
    entered = [counted(done, n)["entered"] for n in (1, 2, 3)]
    assert entered[0] == entered[1] == entered[2] + counted(done, 2)["lost"]
    lost = sum(counted(done, n)["lost"] for n in (2, 3))
    errors = int(done.column(UP, "frames_fcs_errors")[-1])
    assert 0 < errors < counted(done, 1)["corrupted"]  # some of these are lost behind it
    assert done.column(UP, "frames_dropped")[-1] == lost + errors


def test_copies_are_corrupted_as_frames_are() -> None:
    done = recorded(plan(duplication(1), bit_errors("1"), frames=10))
    assert counted(done, 2)["corrupted"] == 20
    assert done.column(UP, "frames_fcs_errors")[-1] == 20
    assert done.column("gen", "frames_received")[-1] == 0


def test_copies_find_no_room_in_a_full_line() -> None:
    table = plan(duplication(1, copies=9), frames=10)
    table["links"]["up"] |= {"buffer": 4000, "delay": 500 * US}
    assembly = assembled(table)
    for until in range(50 * US, MS, 50 * US):
        run_until(assembly, until)
        assert broken_in_world(assembly.world) == []
    assert assembly.world.ports["frames_lost"].sum() > 0


def test_wrong_outweighs_right_whatever_the_order() -> None:
    for stages in (
        [bit_errors("1"), bit_errors("1", fcs="right")],
        [bit_errors("1", fcs="right"), bit_errors("1")],
    ):
        done = recorded(plan(*stages, frames=10))
        assert done.column(UP, "frames_fcs_errors")[-1] == 10


def test_a_captured_frame_has_its_last_octet_inverted() -> None:
    def octets(*stages: Table) -> np.ndarray:
        table = plan(*stages, frames=5)
        table["capture"] = {"ports": ["nic.switch", "switch.nic"], "frames": 100, "snap": 1500}
        return np.concatenate([seen.octets[:, :1500] for seen in recorded(table).captures])

    plain, altered = octets(loss(0)), octets(bit_errors("1", fcs="right"))
    assert len(altered) == 10
    assert (plain[:, :-1] == altered[:, :-1]).all()
    assert (plain[:, -1] ^ altered[:, -1] == 0xFF).all()


def test_a_congestion_notification_packet_fails_its_icrc() -> None:
    """A DCQCN flow whose CNPs are corrupted with a right FCS slows down no more."""

    def ran(*stages: Table) -> Recording:
        table = line_of_three(duration=2 * MS, **ALIGNED)
        table["nodes"]["nic"] |= {"reaction_point": {"plugin": "dcqcn-rp", "preset": "dcqcn"}}
        table["nodes"]["switch"] |= {
            "congestion_point": {
                "plugin": "red",
                "low": 3000,
                "high": 6000,
                "max_probability": "1",
            },
            "service_rate": 5 * 10**8,
        }
        table["nodes"]["sink"] |= {
            "notification_point": {"plugin": "notification-point", "preset": "dcqcn"}
        }
        table["links"]["down"]["delay_line"] = list(stages)
        return recorded(table)

    right = ran(bit_errors("1", fcs="right"))
    back = "sink>switch"
    sent = int(right.column("sink", "feedback_sent")[-1])
    assert sent > 3
    assert right.column(back, "frames_icrc_errors")[-1] == sent
    assert right.column(back, "frames_dropped")[-1] == sent
    assert right.column("nic.rp0", "feedback_received")[-1] == 0
    assert ran(loss(0)).column("nic.rp0", "feedback_received")[-1] > 3
    assert right.column("switch>sink", "frames_icrc_errors")[-1] == 0


def test_no_receiver_reads_the_last_octet_of_another_type() -> None:
    """So on real frames, where it is inverted, each node sees what it sees on `simulated`."""
    types = type_table()
    checked = [one.kind for one in CORE if is_last_octet_checked(types[one.kind], 1500)]
    assert CNP in checked
    for one in CORE:
        t = types[one.kind]
        for length in {max(int(t.least), 60), 90, 1500}:
            frame = np.zeros(1, assembled(line_of_three()).world.frames.dtype).view(np.recarray)[0]
            frame.kind, frame.length, frame.inner, frame.flow = one.kind, length, -1, 0
            octets = np.zeros(1500, np.uint8)
            known = encode(types, frame, octets)
            if known == 0 or is_last_octet_checked(t, length):
                continue
            right, altered = frame.copy(), frame.copy()
            kind = decode(types, octets, length, right)
            corrupt_last_octet(octets, known, length)
            assert decode(types, octets, length, altered) == kind, one.name
            assert right == altered, one.name


class Rest(Params):
    """No parameters."""


def earlier(state, params, port, frame, now, message):
    """Half of the link's delay."""
    return port.delay // 2


def late(state, params, port, frame, now, message):
    """Longer than any run."""
    return 1 << 62


def many(state, params, port, frame, now, message):
    """As many copies as a stage may add."""
    message.copies = 16
    message.due = 1 << 62
    return port.delay


STATE = np.dtype([("unused", np.int64)])


def own(kernel: Any, **more: Any) -> Algorithm:
    return delay_line(kernel.__name__, "of a third party", Rest, STATE, delay=kernel, **more)


class Catalog:
    """The installed algorithms and some of a third party's."""

    def __init__(self, *mine: Algorithm) -> None:
        self.mine, self.others = {one.name: one for one in mine}, Registry.load()

    def find(self, kind: str, name: str) -> Any:
        return self.mine.get(name) or self.others.find(kind, name)


def run_with(table: Table, *mine: Algorithm) -> Recording:
    assembly = assemble(Plan(**table).check(Catalog(*mine)))
    run_until(assembly, assembly.resolved.plan.duration + 1)
    return record("simulated", [(assembly, list(table["nodes"]))], cpu_s=0.0, wall_s=0.0)


def test_each_stage_adds_what_it_answers_beyond_the_links_delay() -> None:
    """Of a third party, too: one that answers half the delay takes half of it away, once."""

    def first_arrival(*stages: Table) -> int:
        table = plan(*stages, frames=3)
        table["links"]["up"]["delay"] = 40 * US
        table["capture"] = {"ports": ["switch.nic"], "frames": 100}
        return int(run_with(table, own(earlier)).captures[0].times_ps[0])

    half = {"plugin": "earlier"}
    assert first_arrival(loss(0)) == WIRE_PS + 40 * US
    assert first_arrival(half) == first_arrival(half, loss(0)) == WIRE_PS + 20 * US
    assert first_arrival(half, half) == first_arrival(half, half, half) == WIRE_PS


def test_answers_out_of_all_measure_do_no_harm() -> None:
    stages = [{"plugin": "late"}, {"plugin": "late"}, {"plugin": "many"}, {"plugin": "late"}]
    done = run_with(plan(*stages, frames=3), own(late), own(many, alters_frames=True))
    assert counted(done, 3)["duplicated"] == 3 * 16
    assert done.column("gen", "frames_received")[-1] == 0


def test_a_full_line_and_a_cut_link_lose_frames_before_the_stages() -> None:
    table = plan(duplication(1, copies=3), frames=50, duration=9 * MS, sample_interval=9 * MS)
    table["links"]["up"] |= {"buffer": 4000, "delay": 30 * US}
    done = recorded(table)
    lost = int(done.column(UP, "frames_dropped")[-1])
    assert lost > 10
    assert done.column(UP, "frames_out")[-1] == 50 + done.column(UP, "frames_duplicated")[-1]
    received = int(done.column("gen", "frames_received")[-1])
    assert received == int(done.column(UP, "frames_out")[-1]) - lost
    cut = plan(loss(), frames=50, timeline=[{"at": 0, "cut": "up"}])
    assert counted(recorded(cut), 1)["entered"] == 0


@pytest.mark.parametrize("rate", [0, 1])
def test_the_timeline_changes_one_stage_alone(rate: int) -> None:
    step = {"at": MS, "set": "links.up.delay_line[1].loss_rate", "to": rate}
    table = plan(loss(0), loss(1 - rate), loss(0), frames=100, timeline=[step])
    done = recorded(table)
    before = MS // (2 * WIRE_PS)
    lost = counted(done, 2)["lost"]
    assert abs(lost - (before if rate == 0 else 100 - before)) <= 1
    assert counted(done, 1)["lost"] == counted(done, 3)["lost"] == 0


def test_injections_of_the_timeline_follow_the_stages() -> None:
    step = {"at": 0, "drop": "gen", "packet": 5, "packets": 10}
    done = recorded(plan(loss(0.5), frames=100, timeline=[step]))
    dropped = int(done.column(UP, "injected_dropped")[-1])
    lost = counted(done, 1)["lost"]
    assert 0 < dropped < 10  # those that the stage has lost count as passed
    assert done.column(UP, "frames_dropped")[-1] == lost + dropped


def test_a_run_that_copies_frames_is_valid_and_one_that_makes_them_up_is_not() -> None:
    table = plan(duplication(1), frames=100)
    resolved = Plan(**table).check(Registry.load())
    recording = recorded(table)
    judged = judge_recording(Registry.load(), resolved, recording)
    assert judged["fidelity"]["verdict"] == "valid"
    assert judged["metrics"]["run"][f"{UP}/stage1"]["frames.duplicated"] == 100
    recording.column("gen", "frames_sent")[:] -= 1  # as if one more had come than was sent
    judged = judge_recording(Registry.load(), resolved, recording)
    assert judged["fidelity"]["verdict"] == "invalid"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(STAGES), min_size=1, max_size=4),
    st.lists(st.sampled_from(STAGES), max_size=2),
    st.integers(0, 99),
)
def test_every_frame_is_accounted_for(up: list[Table], down: list[Table], seed: int) -> None:
    """Whatever the stages are: descriptors, lines, invariants; and an eager world does the same."""
    table = plan(*up, frames=60, seed=seed)
    if down:
        table["links"]["down"]["delay_line"] = list(down)
    resolved = Plan(**table).check(Registry.load())
    lazy, eager = (assemble(resolved, eager=eager) for eager in (False, True))
    for until in range(100 * US, 2 * MS, 200 * US):
        run_until(eager, until)
        Audit(eager.world).check()
        assert broken_in_world(eager.world) == []
    run_until(lazy, resolved.plan.duration)
    run_until(eager, resolved.plan.duration)
    assert lazy.world.stages.tolist() == eager.world.stages.tolist()
    ports = eager.world.ports
    assert int(ports["frames_lost"].sum()) == int(
        eager.world.stages["lost"].sum()
        + eager.world.injectors["fcs_errors"].sum()
        + eager.world.injectors["icrc_errors"].sum()
    )
    flow = eager.world.flows[0]
    copies = int(eager.world.injectors["copies"].sum())
    assert flow.frames_received == flow.frames_sent + copies - ports["frames_lost"].sum()
    assert lazy.world.flows[0].frames_received == flow.frames_received


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans(), st.data())
def test_every_frame_is_accounted_for_in_any_network(table: Table, data: st.DataObject) -> None:
    """Inputs, groups, PAUSE, limiters: with stages on any link, eager and lazy are equal."""
    for link in table["links"].values():
        if data.draw(st.booleans()):
            link["delay_line"] = data.draw(
                st.lists(st.sampled_from(STAGES), min_size=1, max_size=3)
            )
    assembly = assembled(table)
    for _ in run_in_steps(assembly, 6):
        audit(assembly.world)
    eager = assemble(assembly.resolved, eager=True)
    run_until(eager, assembly.resolved.plan.duration + 1)
    assert eager.world.stages.tolist() == assembly.world.stages.tolist()
    assert eager.world.rows.tolist() == assembly.world.rows.tolist()


def test_stages_of_no_port_cost_no_port_its_laziness() -> None:
    world = assembled(plan(loss())).world
    lazy = [bool(port.late or port.entries or port.patience or port.ahead) for port in world.ports]
    assert [one for one, port in zip(lazy, world.ports, strict=True) if port.injector] == [
        False
    ] * 2
    assert any(one for one, port in zip(lazy, world.ports, strict=True) if not port.injector)
