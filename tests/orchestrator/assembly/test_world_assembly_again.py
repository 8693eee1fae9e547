"""A world in arrays that another seed was run in is the one that is laid out for its seed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly, ReusableWorld, assemble
from orchestrator.assembly.world_builder import SeededField
from orchestrator.engine.lfsr import seed_for
from orchestrator.engine.node.event_loop import simulate
from orchestrator.engine.node.world_arrays import FIELDS
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.recording import PortCapture, Recording
from orchestrator.registry import Registry
from orchestrator.targets.simulated import Simulated

PLANS = (
    "quickstart",
    "netfpga-fig11-scaled",
    "fecn-table2",  # random sources
    "fabric-spray",  # frames that switches spray, and order again
    "ibm-fig5d-random",  # units that are sampled
    "ibm-fabric",  # credits
    "hpcc-incast",  # stamps, and two schemes
    "cubic",  # a transport
    "multicast-inputs",
    "all-reduce",  # messages, which have no random part
    "p4qcn-fig13",
)
LONG_PS = 3 * 10**9


@pytest.mark.parametrize("name", PLANS)
def test_a_world_is_put_back_to_where_it_began(name: str) -> None:
    registry = Registry.load()
    resolved = Plan.load(registry.plans()[name], registry).check(registry)
    again = ReusableWorld()
    for seed in (1, 1 << 40, 7):
        plan = resolved.with_seed(seed, registry)
        laid = again.world(plan)
        assert laid.resolved is plan
        assert _contents(laid) == _contents(assemble(plan))
        simulate(laid.world, 0, 0)
        simulate(laid.world, LONG_PS, 1 << 40)
        assert _contents(laid) != _contents(assemble(plan))


MESSAGES = """
name = "messages-by-chance"
duration = "2ms"
[nodes.h]
kind = "nic"
[nodes.s]
kind = "switch"
[nodes.d]
kind = "sink"
[links.up]
ends = ["h", "s"]
rate = "1Gb/s"
[links.down]
ends = ["s", "d"]
rate = "1Gb/s"
[traffic.t]
plugin = "poisson"
frame = "1500B"
from = "h"
to = "d"
load = "0.5"
sizes = "cdf"
cdf = [["1KB", 0], ["20KB", 1]]
"""


def test_where_seeds_decide_which_messages_there_are_it_is_laid_out_anew() -> None:
    registry = Registry.load()
    resolved = Plan.load(MESSAGES, registry).check(registry)
    again, sizes = ReusableWorld(), []
    for seed in (1, 2, 3):
        plan = resolved.with_seed(seed, registry)
        laid = again.world(plan)
        assert _contents(laid) == _contents(assemble(plan))
        sizes.append(laid.world.messages.tobytes())
        simulate(laid.world, 0, 0)
        simulate(laid.world, LONG_PS, 1 << 40)
    assert len(set(sizes)) == len(sizes)


def test_where_seeds_decide_who_sends_to_whom_it_is_laid_out_anew() -> None:
    registry = Registry.load()
    resolved = Plan.load(registry.plans()["nscc"], registry).check(registry)
    assert any(one.pairing != "listed" for one in resolved.plan.traffic.values())
    again = ReusableWorld()
    for seed in (1, 2):
        plan = resolved.with_seed(seed, registry)
        assert _contents(again.world(plan)) == _contents(assemble(plan))


@pytest.mark.parametrize("name", ["quickstart", "netfpga-fig11-scaled"])
def test_what_is_recorded_is_the_same(name: str) -> None:
    registry = Registry.load()
    plan = Plan.load(registry.plans()[name], registry)
    resolved, again = plan.check(registry), ReusableWorld()
    for seed in (3, 1, 2):
        one = resolved.with_seed(seed, registry)
        _same(Simulated().run_in_world(one, silent, again), Simulated().run(one, silent))


def test_where_the_registers_of_a_seed_begin() -> None:
    assert SeededField("a", 0, "lfsr", "x").values(5) == [seed_for(5, "x")]
    assert SeededField("a", 0, "phase", "x", below=7).values(5) == [seed_for(5, "x") % 7]
    each = SeededField("a", 0, "lfsr", "x", behind=2).values(5)
    assert each == [seed_for(5, "x"), seed_for(5, "x/1"), seed_for(5, "x/2")]
    assert (
        SeededField("a", 0, "lfsr", "x", behind=2, alike=True).values(5) == [seed_for(5, "x")] * 3
    )


def test_what_has_a_register_of_its_own() -> None:
    registry = Registry.load()
    plan = Plan.load(registry.plans()["ibm-fig5d-random"], registry)
    laid = assemble(plan.check(registry).with_seed(9, registry))
    world, names = laid.world, laid.indices
    for name, row in names.nodes.items():
        assert world.nodes[row].lfsr == seed_for(9, f"{name}/spread")
    for name, row in names.queues.items():
        assert world.queues[row].lfsr == seed_for(9, f"{name}/units")
    for name, row in names.limiters.items():
        one = world.limiters[row]
        assert one.phase == seed_for(9, f"{name}/phase") % one.period
        at = laid.built.state_at(name, "lfsr")
        assert world.memory[at] == seed_for(9, name)


def _same(one: Recording, other: Recording) -> None:
    for name in sorted({field.name for field in fields(Recording)} - {"cpu_s", "wall_s"}):
        assert _plain(getattr(one, name)) == _plain(getattr(other, name)), name


def _plain(value: Any) -> Any:
    """What can be compared: arrays as lists, records as tables."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, PortCapture):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _contents(laid: Assembly) -> dict[str, bytes]:
    """Of every array but the samples, of which a run writes each row whole, and but addresses of
    what is in the memory."""
    world, samples = laid.world, ("rows", "row_times")
    found = {name: getattr(world, name).tobytes() for name in FIELDS if name not in samples}
    words = [name for name in world.instances.dtype.names or () if name not in ("state", "params")]
    return found | {"instances": b"".join(world.instances[name].tobytes() for name in words)}
