"""Schedulers of lanes: shares by their formulas, at switches and at NICs, refusals, mistakes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.algorithm import Algorithm
from orchestrator.capability import Capability
from orchestrator.errors import BadInput
from orchestrator.fuzz.cross_target import CoreComparison, EagerComparison, unequal
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from plugins.deficit_round_robin import DRR
from plugins.ets import Ets
from plugins.strict_priority import STRICT
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import MS, US, Empty, Table, at, recorded
from tests.plugins.described import check_page

QUICK = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
RATE = 10**9


def checked(table: Table) -> ResolvedPlan:
    return Plan(**table).check(Registry.load())


def port_plan(scheduler: Table | None, frames: dict[int, int], **changes: Any) -> Table:
    """A host per priority into one port of the same rate; `frames`: priority -> length."""
    table: Table = {
        "name": "port",
        "duration": 20 * MS,
        "sample_interval": MS,
        "priorities": "separate",
        "nodes": {f"h{p}": {"kind": "nic"} for p in frames},
        "links": {f"l{p}": {"ends": [f"h{p}", "s"], "rate": RATE} for p in frames},
        "traffic": {
            f"t{p}": {
                "plugin": "cbr", "from": f"h{p}", "to": "d", "priority": p, "frame": length,
                "rate": RATE,
            }
            for p, length in frames.items()
        },
    }  # fmt: skip
    table["nodes"] |= {"s": {"kind": "switch", "buffer": 60_000}, "d": {"kind": "sink"}}
    table["links"]["down"] = {"ends": ["s", "d"], "rate": RATE}
    if scheduler is not None:
        table["nodes"]["s"]["scheduler"] = scheduler
    return table | changes


def nic_plan(scheduler: Table | None, frames: dict[int, int]) -> Table:
    """The flows of all priorities at one host, whose link they overload."""
    table = port_plan(None, frames)
    table["nodes"] = {"h": {"kind": "nic"}, "d": {"kind": "sink"}}
    table["links"] = {"l": {"ends": ["h", "d"], "rate": RATE}}
    table["traffic"] = {name: entry | {"from": "h"} for name, entry in table["traffic"].items()}
    if scheduler is not None:
        table["nodes"]["h"]["scheduler"] = scheduler
    return table


def received(table: Table, begin: int = 5 * MS) -> dict[int, int]:
    """Octets that arrive of each priority from `begin` on."""
    recording, end = recorded(table), table["duration"]
    return {
        int(name[1:]): at(recording, name, "bytes_received", end)
        - at(recording, name, "bytes_received", begin)
        for name in table["traffic"]
    }


@QUICK
@given(
    quanta=st.dictionaries(st.integers(0, 7), st.integers(64, 6_000), min_size=2, max_size=4),
    lengths=st.lists(st.integers(100, 1_500), min_size=4, max_size=4),
    build=st.sampled_from([port_plan, nic_plan]),
)
def test_deficit_round_robin_shares_by_quanta_within_its_bound(
    quanta: dict[int, int], lengths: list[int], build: Any
) -> None:
    """Lemma 2 of the paper: octets are off by less than a quantum and a longest frame."""
    frames = dict(zip(sorted(quanta), lengths, strict=False))
    options = {f"quantum_{p}": value for p, value in quanta.items()}
    table = build({"plugin": "deficit-round-robin"} | options, frames)
    if build is nic_plan:  # a host keeps its lanes filled: its queues hold several frames
        table["nodes"]["h"]["host_queue"] = 64_000
    got = received(table)
    total, whole = sum(got.values()), sum(quanta.values())
    for priority, octets in got.items():
        share = total * quanta[priority] // whole
        # both ends of the phase cut a round, and what is on the link is not counted
        slack = 2 * (quanta[priority] + max(frames.values())) + 3_000
        assert abs(octets - share) <= slack, (got, quanta, frames)


@pytest.mark.parametrize("build", [port_plan, nic_plan])
def test_strict_priority_leaves_nothing_to_lower_ones(build: Any) -> None:
    got = received(build({"plugin": "strict-priority"}, {1: 1500, 4: 700, 6: 300}))
    assert got[1] == got[4] == 0
    assert got[6] > 0.99 * 15 * MS * RATE / 8 / 10**12


def test_strict_priority_sends_what_the_high_one_leaves() -> None:
    table = port_plan({"plugin": "strict-priority"}, {1: 1500, 6: 1500})
    table["traffic"]["t6"]["rate"] = RATE // 4
    got = received(table)
    assert got[6] == pytest.approx(got[1] / 3, rel=0.01)


def test_a_held_priority_does_not_hold_the_lower_ones() -> None:
    """PFC of the next switch holds priority 6, which it serves slowly: 1 has the rest."""
    table = port_plan({"plugin": "strict-priority"}, {1: 1500, 6: 1500})
    pfc = {"plugin": "pfc", "low": 10_000, "high": 20_000}
    nodes = {"last": {"kind": "switch", "pause": pfc, "pause_priorities": [6]}}
    table["nodes"] |= nodes | {"e": {"kind": "sink"}}
    table["links"]["down"] = {"ends": ["s", "last"], "rate": RATE}
    table["links"] |= {
        "out": {"ends": ["last", "d"], "rate": RATE},
        "slow": {"ends": ["last", "e"], "rate": RATE // 5},
    }
    table["traffic"]["t6"]["to"] = "e"
    got = received(table)
    assert got[6] == pytest.approx(15 * MS * RATE / 40 / 10**12, rel=0.03)
    assert got[1] == pytest.approx(4 * got[6], rel=0.03)


@QUICK
@given(
    shares=st.sampled_from([(100,), (50, 50), (1, 99), (20, 30, 50), (10, 20, 30, 40)]),
    strict=st.sampled_from([None, 300, 1_500]),
    build=st.sampled_from([port_plan, nic_plan]),
)
def test_ets_shares_what_the_strict_class_leaves(
    shares: tuple[int, ...], strict: int | None, build: Any
) -> None:
    frames = {priority: (1500, 300, 700, 1000)[priority] for priority in range(len(shares))}
    frames |= {7: strict} if strict else {}
    options = {f"share_{p}": share for p, share in enumerate(shares)}
    table = build({"plugin": "ets"} | options, frames)
    if strict:
        table["traffic"]["t7"]["rate"] = RATE // 5
    got = received(table, 10 * MS) if build is nic_plan else received(table)
    high = got.pop(7, 0)
    if strict:
        assert high == pytest.approx((high + sum(got.values())) / 5, rel=0.01)
    for priority, octets in got.items():
        expected = sum(got.values()) * shares[priority] / 100
        slack = 2 * 150 * shares[priority] + 6_000
        assert octets == pytest.approx(expected, abs=slack)


@settings(QUICK, max_examples=8)
@given(plan=plans())
def test_round_robin_measures_what_ports_without_a_scheduler_do(plan: Table) -> None:
    plan = plan | {"priorities": "separate"}
    nodes = {
        name: node | ({} if node["kind"] == "sink" else {"scheduler": {"plugin": "round-robin"}})
        for name, node in plan["nodes"].items()
    }
    finding = unequal("round-robin", recorded(plan), recorded(plan | {"nodes": nodes}))
    assert finding is None, finding


@settings(QUICK, max_examples=6)
@given(plan=plans(), name=st.sampled_from(["strict-priority", "deficit-round-robin", "ets"]))
def test_schedulers_measure_the_same_without_deferral_and_on_two_cores(
    plan: Table, name: str
) -> None:
    plan = plan | {"priorities": "separate"}
    for node in plan["nodes"].values():
        if node["kind"] != "sink":
            node["scheduler"] = {"plugin": name}
    recording, resolved = recorded(plan), checked(plan)
    for check in (EagerComparison(), CoreComparison()):
        assert check(resolved, recording) is None


def test_a_port_has_its_own_scheduler() -> None:
    table = port_plan({"plugin": "round-robin"}, {1: 1500, 6: 1500})
    table["nodes"]["s"]["ports"] = {"d": {"scheduler": {"plugin": "strict-priority"}}}
    assert received(table)[1] == 0


def refusal(table: Table) -> str:
    with pytest.raises(BadInput) as refused:
        checked(table)
    return str(refused.value)


def test_what_cannot_be_is_refused_with_its_remedy() -> None:
    shared = port_plan({"plugin": "ets"}, {0: 1500}, priorities="shared")
    assert 'priorities = "separate" is expected' in refusal(shared)
    odd = port_plan({"plugin": "ets", "share_0": 40}, {0: 1500})
    assert "the shares come to 40 %" in refusal(odd)
    without = port_plan({"plugin": "ets", "share_0": 40, "share_3": 60}, {0: 1500, 1: 1500})
    assert "share_3 is of a priority without a lane" in refusal(without)
    assert "deficit-round-robin" in refusal(port_plan({"plugin": "deficit"}, {0: 1500}))
    assert Ets(share_0=100).unfit_for((0, 1)) is None


def test_gateware_refuses_a_scheduler_by_name() -> None:
    target = Registry.load().target("gateware")
    assert Capability.SCHEDULERS not in target.capabilities
    for algorithm in Registry.load().algorithms:
        if algorithm.kind == "scheduler":
            assert "schedulers" in algorithm.lacks(target.capabilities)


def lowest(state: Any, params: Any, scheduler: Any, frame: Any, now: int, message: Any) -> int:
    """Answers priority 0, ready or not."""
    return 0


class _Wrong:
    """The registry with a scheduler that answers priority 0 always."""

    def __init__(self) -> None:
        self.wrong = Algorithm(
            "wrong", "scheduler", "", Empty, np.dtype([("x", np.int64)]), {"choose": lowest}
        )

    def find(self, kind: str, name: str) -> Any:
        return self.wrong if name == "wrong" else Registry.load().find(kind, name)


def refused_choice(table: Table) -> str:
    """Why a run is refused whose scheduler chooses what cannot send."""
    from orchestrator.assembly import assemble, record
    from orchestrator.engine.node.event_loop import simulate

    table["traffic"]["t0"]["rate"] = RATE // 4
    assembly = assemble(Plan(**table).check(_Wrong()))  # type: ignore[arg-type]
    simulate(assembly.world, MS + 1, 10**6)
    shares = [(assembly, list(assembly.resolved.plan.nodes))]
    with pytest.raises(BadInput) as caught:
        record("simulated", shares, cpu_s=0.0, wall_s=0.0)
    return str(caught.value)


def test_a_choice_that_cannot_send_is_a_mistake_of_the_scheduler() -> None:
    table = port_plan(
        {"plugin": "wrong"}, {0: 1500, 5: 1500}, duration=MS, sample_interval=100 * US
    )
    assert re.search(r"'wrong' at s\.\w+.*could not send", refused_choice(table))


def test_a_scheduler_needs_its_kernel() -> None:
    with pytest.raises(ValueError, match="needs a kernel 'choose'"):
        Algorithm("none", "scheduler", "", Empty, STRICT.state, {"sent": DRR.kernels["sent"]})


@pytest.mark.parametrize("module", ["plugins.deficit_round_robin", "plugins.ets"])
def test_the_page_has_the_parameters_of(module: str) -> None:
    assert check_page(module) > 0
