"""Which machines a run gets, and the threads and cores there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.errors import Refused
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.testbed.agent.agent_messages import Offer
from orchestrator.testbed.controller.deployment import shares
from orchestrator.testbed.controller.distributed_run import DistributedRun
from orchestrator.testbed.controller.node_placement import Mapping
from orchestrator.testbed.controller.run_lifecycle import RunEnded
from orchestrator.testbed.inventory import Testbed
from tests.trials import plans


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.load(Registry.load().plans()["netfpga-fig11"])


def offer(machine: str, kernel: str, cores: int) -> Offer:
    return Offer(
        machine=machine,
        version="1",
        boot="ab" * 8,
        kernel=kernel,
        time_namespace="",
        system="Linux",
        cores=cores,
        nics=[],
        may={},
        privileges=[],
    )


def test_machines_of_one_kernel_share_its_cores_as_nodes_of_one_machine_would(plan: Plan):
    where = {"nic1": "one", "nic2": "two", "switch": "mid", "sink": "end"}
    offers = {machine: offer(machine, "k", 2) for machine in where.values()}
    found = {share.machine: share for share in shares(plan, Mapping(where, {}, {}), offers)}
    cores = {machine: share.pace.core for machine, share in found.items()}
    assert cores == {"mid": 0, "one": 1, "two": 1, "end": 1}
    assert sorted(share.pace.first for share in found.values()) == [0, 1, 2, 3]
    assert all(s.threads == 1 and s.pace.crowded and s.pace.holds for s in found.values())


def test_machines_with_kernels_of_their_own_have_as_many_threads_as_there_is_to_share(plan: Plan):
    where = {"nic1": "left", "nic2": "left", "switch": "left", "sink": "right"}
    offers = {"left": offer("left", "k", 4), "right": offer("right", "l", 4)}
    found = {share.machine: share for share in shares(plan, Mapping(where, {}, {}), offers)}
    assert {machine: share.threads for machine, share in found.items()} == {"left": 2, "right": 1}
    assert not any(share.pace.crowded or share.pace.holds for share in found.values())
    one_core = {name: one.model_copy(update={"cores": 1}) for name, one in offers.items()}
    assert all(s.threads == 1 for s in shares(plan, Mapping(where, {}, {}), one_core))


@pytest.mark.parametrize(("pace", "tenth_s"), [(1.0, 0.1), (0.1, 1.0), (4.0, 0.025)])
def test_a_run_has_its_own_time_and_machines_theirs(pace: float, tenth_s: float):
    """`tenth_s` of real time is a tenth of a second of the run."""
    text = plans.short("0.4s", 'at = "0.1s"\ndelay_control = "sink"\nto = "300ms"')
    run = DistributedRun("ab" * 8, Plan.load(text).check(Registry.load()), Testbed(), {}, pace)
    run.mapping = Mapping({"nic": "left", "switch": "left", "sink": "right"}, {}, {})
    run.start_ns = 10**9
    fault = run._faults("right")[0]
    assert (fault.after_ns, fault.delay_ms) == (round(tenth_s * 1e9), 300)
    run._happened("right", run.start_ns + fault.after_ns, "it came about")
    assert run.events == [(10**11, "right", "it came about")]


@pytest.mark.parametrize(
    ("nodes", "raised", "words"),
    [
        (["*"], RunEnded, "node nic1 belongs on left, where no agent answers"),
        (["switch"], Refused, "no machine of the testbed is for node nic1"),
    ],
)
def test_an_agent_that_is_gone_makes_a_run_invalid_and_a_plan_that_does_not_fit_is_refused(
    plan: Plan, tmp_path: Path, nodes: list[str], raised: type[Exception], words: str
):
    entry = {"address": "tcp://127.0.0.1:1", "key": "0" * 40, "nodes": nodes}
    bed = Testbed.model_validate({"machines": {"left": entry}, "cables": {}})
    peers = {"left": SimpleNamespace(state="gone", why="its connection was closed")}
    run = DistributedRun("ab" * 8, plan.check(Registry.load()), bed, peers)  # type: ignore[arg-type]
    with pytest.raises(raised, match=words):
        asyncio.run(run.carry_out(tmp_path))
