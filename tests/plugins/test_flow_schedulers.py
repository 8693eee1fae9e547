"""Schedulers among the flows of a NIC: shares by their formulas, order, refusals, mistakes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.algorithm import Algorithm
from orchestrator.assembly import assemble
from orchestrator.engine.node.event_loop import simulate
from orchestrator.errors import Refused
from orchestrator.fuzz.cross_target import CoreComparison, EagerComparison, unequal
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import refuse_missing_capabilities
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import MS, US, Empty, Table, assembled, recorded
from tests.plugins.test_schedulers import RATE, _Wrong, checked, received, refusal, refused_choice

QUICK = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
NAMES = ["round-robin", "strict-priority", "deficit-round-robin", "ets"]
LINK = RATE / 8 / 10**12
"""Octets per ps."""


def host(scheduler: Table | None, flows: list[Table], **changes: Any) -> Table:
    """A host whose link is overloaded by entries t0, t1, ..., behind a switch that is not."""
    table: Table = {
        "name": "host",
        "duration": 20 * MS,
        "sample_interval": MS,
        "nodes": {"h": {"kind": "nic"}, "s": {"kind": "switch"}, "d": {"kind": "sink"}},
        "links": {
            "up": {"ends": ["h", "s"], "rate": RATE},
            "down": {"ends": ["s", "d"], "rate": 2 * RATE},
        },
        "traffic": {
            f"t{n}": {"plugin": "cbr", "from": "h", "to": "d", "rate": RATE} | own
            for n, own in enumerate(flows)
        },
    }
    if scheduler is not None:
        table["nodes"]["h"]["flow_scheduler"] = scheduler
    return table | changes


def classes(*lengths: int, **own: Any) -> list[Table]:
    """An entry of each class from 0 on, with frames of these lengths."""
    return [{"flow_class": n, "frame": length} | own for n, length in enumerate(lengths)]


def drr(*quanta: int) -> Table:
    return {"plugin": "deficit-round-robin"} | {f"quantum_{n}": q for n, q in enumerate(quanta)}


@QUICK
@given(
    quanta=st.lists(st.integers(64, 6_000), min_size=2, max_size=8),
    lengths=st.lists(st.integers(100, 1_500), min_size=8, max_size=8),
    seed=st.integers(0, 99),
    priorities=st.sampled_from(["shared", "separate"]),
)
def test_deficit_round_robin_shares_a_nic_by_quanta_within_its_bound(
    quanta: list[int], lengths: list[int], seed: int, priorities: str
) -> None:
    """Lemma 2 of the paper: octets are off by less than a quantum and a longest frame."""
    flows = classes(*lengths[: len(quanta)])
    got = received(host(drr(*quanta), flows, seed=seed, priorities=priorities))
    total = sum(got.values())
    # a longest frame that had begun before the phase, and its time on the second link, twice as
    # fast; clocks of 100 ppm
    assert abs(total - 15 * MS * LINK) <= 1.5 * 1_500 + 1e-4 * total
    for n, octets in got.items():
        slack = 2 * (quanta[n] + 1_500) + 6_000  # both ends of the phase; what is under way
        assert abs(octets - total * quanta[n] / sum(quanta)) <= slack, (got, quanta, lengths)


@pytest.mark.parametrize("seed", range(1, 9))
def test_weights_of_three_to_one_are_kept_within_a_percent_for_each_seed(seed: int) -> None:
    got = received(host(drr(1500, 4500), classes(1500, 300), seed=seed))
    assert got[1] == pytest.approx(3 * got[0], rel=0.01)


def test_strict_priority_leaves_the_low_class_what_the_high_one_does_not_use() -> None:
    flows = classes(1500, 700)
    assert received(host({"plugin": "strict-priority"}, flows))[0] == 0
    flows[1]["rate"] = 3 * RATE // 5
    got = received(host({"plugin": "strict-priority"}, flows))
    assert got[1] == pytest.approx(0.6 * 15 * MS * LINK, rel=0.01)
    assert got[0] == pytest.approx(0.4 * 15 * MS * LINK, rel=0.01)


@QUICK
@given(
    shares=st.sampled_from([(100,), (50, 50), (1, 99), (20, 30, 50), (10, 20, 30, 40)]),
    strict=st.sampled_from([None, 300, 1_500]),
)
def test_ets_shares_what_the_strict_class_leaves(
    shares: tuple[int, ...], strict: int | None
) -> None:
    flows = classes(*(1500, 300, 700, 1000)[: len(shares)])
    if strict:
        flows.append({"flow_class": 7, "frame": strict, "rate": RATE // 5})
    options = {f"share_{n}": share for n, share in enumerate(shares)}
    got = received(host({"plugin": "ets"} | options, flows), 10 * MS)
    if strict:
        high = got.pop(len(shares))
        assert high == pytest.approx((high + sum(got.values())) / 5, rel=0.01)
    for n, octets in got.items():
        slack = 2 * 150 * shares[n] + 6_000
        assert octets == pytest.approx(sum(got.values()) * shares[n] / 100, abs=slack)


def test_flows_of_one_class_take_turns() -> None:
    """Three flows of class 0 with a quarter of the link, two of class 1 with the rest."""
    flows = [{"flow_class": 0}] * 3 + [{"flow_class": 1, "frame": 500}] * 2
    got = received(host(drr(1500, 4500), flows))
    total = sum(got.values())
    for n, octets in got.items():
        assert octets == pytest.approx(total / 12 if n < 3 else 3 * total / 8, rel=0.01)


def test_the_class_is_the_priority_by_default() -> None:
    flows: list[Table] = [{"priority": 5, "frame": 300}, {"priority": 1}]
    got = received(host({"plugin": "strict-priority"}, flows))
    assert got[1] == 0
    flows[0]["flow_class"] = 0
    assert received(host({"plugin": "strict-priority"}, flows))[0] == 0


def test_each_lane_has_a_scheduler_of_its_own_and_lanes_take_turns() -> None:
    """Of two lanes with frames of one length each gets half, and shares it by its own weights."""
    flows = [{"flow_class": n, "priority": priority} for priority in (0, 5) for n in (0, 1)]
    got = received(host(drr(1500, 4500), flows, priorities="separate"))
    total = sum(got.values())
    for n, octets in got.items():
        assert octets == pytest.approx(total * (1, 3)[n % 2] / 8, rel=0.01)


def test_a_flow_that_waits_for_its_next_frame_keeps_no_deficit() -> None:
    """Class 1 sends 1 % of the link in frames that are far apart: what it leaves of its quantum is
    not saved up. Each of its frames is sent alone, and class 0 has the rest."""
    flows = classes(1500, 100)
    flows[1]["rate"] = RATE // 100
    got = received(host(drr(1500, 1_000_000), flows))
    assert got[1] == pytest.approx(0.01 * 15 * MS * LINK, rel=0.02)
    assert got[0] == pytest.approx(0.99 * 15 * MS * LINK, rel=0.01)


@pytest.mark.parametrize("plugin", ["tcp", "go-back-n"])
def test_segments_of_transports_are_scheduled_by_their_lengths(plugin: str) -> None:
    flows = [
        {
            "plugin": "messages", "size": 20_000_000, "flow_class": n, "frame": length,
            "transport": {"plugin": plugin},
        }
        for n, length in enumerate((1500, 500))
    ]  # fmt: skip
    for entry in flows:
        entry["rate"] = None
    table = host(drr(1500, 4500), flows, duration=40 * MS)
    for entry in table["traffic"].values():
        del entry["rate"]
    got = received(table, 20 * MS)
    assert got[1] == pytest.approx(3 * got[0], rel=0.02), got


def test_frames_of_others_pass_the_scheduler_of_a_host_that_forwards_by() -> None:
    """They take turns with the host's own frames, among which the scheduler chooses, and use up no
    deficit of these."""
    table = host(drr(1500, 4500), classes(1500, 1500))
    table["nodes"] |= {"g": {"kind": "nic"}}
    table["nodes"]["h"]["forwards"] = True
    table["links"]["in"] = {"ends": ["g", "h"], "rate": RATE}
    table["traffic"]["t2"] = {"plugin": "cbr", "from": "g", "to": "d", "rate": RATE}
    got = received(table)
    assert got[0] + got[1] == pytest.approx(got[2], rel=0.01)
    assert got[1] == pytest.approx(3 * got[0], rel=0.01)


def scheduled(plan: Table, name: str, flow_class: int | None = None) -> Table:
    """A drawn plan, all NICs of which have a flow scheduler."""
    plan = plan | {"nodes": {n: dict(node) for n, node in plan["nodes"].items()}}
    for node in plan["nodes"].values():
        if node["kind"] == "nic":
            node["flow_scheduler"] = {"plugin": name}
    own = {} if flow_class is None else {"flow_class": flow_class}
    return plan | {"traffic": {name: entry | own for name, entry in plan["traffic"].items()}}


@settings(QUICK, max_examples=20)
@given(plan=plans(), name=st.sampled_from(NAMES), flow_class=st.integers(0, 7))
def test_with_one_class_a_scheduler_changes_nothing(
    plan: Table, name: str, flow_class: int
) -> None:
    finding = unequal(name, recorded(plan), recorded(scheduled(plan, name, flow_class)))
    assert finding is None, finding


@settings(QUICK, max_examples=20)
@given(plan=plans(), name=st.sampled_from(NAMES))
def test_they_measure_the_same_without_deferral_and_on_two_cores(plan: Table, name: str) -> None:
    plan = scheduled(plan, name)
    recording, resolved = recorded(plan), checked(plan)
    for check in (EagerComparison(), CoreComparison()):
        finding = check(resolved, recording)
        assert finding is None, finding


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limited", [False, True])
def test_a_lazy_nic_may_have_one(name: str, limited: bool) -> None:
    """Its local timers wake port and flows in the order in which the tournament would."""
    table = host({"plugin": name}, classes(1500, 300, 700), duration=3 * MS)
    table["links"]["down"]["rate"] = RATE // 2
    if limited:
        table["nodes"]["h"] |= {"reaction_point": {"plugin": "qcn-rp"}, "reaction_points": 2}
        table["nodes"]["s"]["congestion_point"] = {"plugin": "qcn-cp", "preset": "netfpga"}
    world = assembled(table).world
    assert world.ports.entries.any()
    assert not world.clock[0].direct
    finding = EagerComparison()(checked(table), recorded(table))
    assert finding is None, finding


def test_no_flow_takes_the_shortcut_past_a_scheduler() -> None:
    """One flow at a time has the port to itself: the scheduler is called for each frame all the
    same, so its quantum of this turn is used up."""
    table = host(drr(1500, 1500), classes(1500, 1500))
    for entry in table["traffic"].values():
        entry["rate"] = RATE // 4
    assembly = assembled(table)
    simulate(assembly.world, 20 * MS, 10**6)
    assert assembly.world.schedulers[0].sent == 1500
    assert assembly.world.schedulers[0].backlogged == 0


AUDIT = np.dtype([(name, np.int64) for name in ("offered", "calls", "wrong", "last")])


def audit_offer(state: Any, params: Any, scheduler: Any, frame: Any, now: int, message: Any) -> int:
    """Chooses the ready classes in turn; counts offers that are not as the record promises."""
    chosen = -1
    for place in range(8):
        number = (state.last + 1 + place) & 7
        has_frame = (scheduler.ready >> number) & 1 == 1
        if has_frame != (scheduler.octets[number] > 0):
            state.wrong += 1
        if has_frame and chosen < 0:
            chosen = number
    if scheduler.backlogged != scheduler.ready:
        state.wrong += 1
    state.last = chosen
    state.offered = scheduler.octets[chosen]
    return chosen


def audit_sent(state: Any, params: Any, scheduler: Any, frame: Any, now: int, message: Any) -> int:
    """Holds the octets that were sent to those that were offered."""
    state.calls += 1
    if scheduler.sent != state.offered:
        state.wrong += 1
    return 0


def test_what_is_offered_is_what_is_sent() -> None:
    """Flows of one class whose frames have other lengths, one that stops, one that is slow."""
    kernels = {"choose": audit_offer, "sent": audit_sent}
    registry = _Wrong()
    registry.wrong = Algorithm("wrong", "scheduler", "", Empty, AUDIT, kernels)
    flows = [{"flow_class": n % 3, "frame": 200 * n + 100} for n in range(6)]
    table = host({"plugin": "wrong"}, flows)
    table["traffic"]["t1"]["stop"] = table["traffic"]["t4"]["stop"] = 5 * MS
    table["traffic"]["t2"]["rate"] = table["traffic"]["t5"]["rate"] = RATE // 50
    assembly = assemble(Plan(**table).check(registry))  # type: ignore[arg-type]
    simulate(assembly.world, 20 * MS, 10**6)
    world = assembly.world
    state = world.memory[assembly.built.state_at("h.s/flow-scheduler", "offered") :][:4]
    _, calls, wrong, _ = state
    assert calls == world.ports.frames_out[assembly.indices.port_rows["h.s"]] > 2_000
    assert wrong == 0


def test_what_cannot_be_is_refused_with_its_remedy() -> None:
    shared = host(drr(), classes(1500, 1500))
    shared["nodes"]["h"]["host_queues"] = "shared"
    assert 'host_queues = "per-flow" is expected' in refusal(shared)
    both = host(drr(), classes(1500, 1500), priorities="separate", more_priorities=[3])
    both["nodes"]["h"]["scheduler"] = {"plugin": "round-robin"}
    assert "nodes.h.flow_scheduler" in refusal(both)
    assert "leave one of the two out" in refusal(both)
    ets = {"plugin": "ets", "share_0": 40, "share_3": 60}
    assert "share_3 is of a priority without a lane, or of a class without a flow" in refusal(
        host(ets, classes(1500, 1500))
    )
    assert "share_1" not in refusal(host(ets, classes(1500, 1500)))
    assert "deficit-round-robin" in refusal(host({"plugin": "deficit"}, classes(1500)))
    assert "traffic.t0.flow_class" in refusal(host(drr(), [{"flow_class": 8}]))
    switch = host(None, classes(1500))
    switch["nodes"]["s"]["flow_scheduler"] = {"plugin": "strict-priority"}
    assert "nodes.s.flow_scheduler" in refusal(switch)


def test_gateware_refuses_one_by_name() -> None:
    target = Registry.load().target("gateware")
    resolved = checked(host(drr(), classes(1500, 1500)))
    with pytest.raises(Refused, match=r"deficit-round-robin.*schedulers"):
        refuse_missing_capabilities(target, resolved)


def test_a_choice_that_is_not_ready_is_a_mistake_of_the_scheduler() -> None:
    table = host({"plugin": "wrong"}, classes(1500, 300), duration=MS, sample_interval=100 * US)
    wanted = r"flow scheduler 'wrong' at h\.s.*a class that could not"
    assert re.search(wanted, refused_choice(table))
