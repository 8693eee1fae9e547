"""Path entropy: a source gives a frame a number, and switches choose its path by that."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from orchestrator.algorithm import reaction_point
from orchestrator.assembly import Assembly, assemble
from orchestrator.capability import IN_ENGINE, Capability
from orchestrator.engine.frames import decode, encode
from orchestrator.engine.frames.big_endian import get16
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_layout import SOURCE_PORT_BASE, SOURCE_PORT_MASK, UDP
from orchestrator.engine.node.next_hop import output_port
from orchestrator.engine.records import ACK, DATA, MOST_ENTROPY, NONE, SACK, TRIMMED, record
from orchestrator.errors import Refused
from orchestrator.hookspecs import hookimpl
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import MS, Table, run_until

SPINES = 4


class Chooses(Params):
    """Of a reaction point that gives its segments so many values, from `first` on."""

    first: int = Field(0, ge=-1, le=10_000)
    count: int = Field(1, ge=1, le=2_048)


def begin(state, params, limiter, frame, now, message):
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = 20 * 1500
    return 0


def sent(state, params, limiter, frame, now, message):
    frame.inner = params.first + frame.sequence % params.count
    return 0


def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    needs = frozenset({Capability.ENTROPY})
    made = reaction_point(
        "chooses", "", Chooses, record("unused"), needs=needs, start=begin, sent=sent
    )
    point = entry_point(monkeypatch, "chooses", tailback_algorithms=hookimpl(lambda: [made]))
    return Registry([*entry_points(group=GROUP), point])


def table(spread: str = "flows", **params: Any) -> Table:
    """One host sends to one on the other leaf."""
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": SPINES, "hosts": 1, "rate": 10**9}
    return {
        "name": "paths",
        "duration": 10 * MS,
        "fabric": fabric | {"spread": spread},
        "nodes": {"h1": {"reaction_point": {"plugin": "chooses"} | params}},
        "traffic": {
            "t": {"plugin": "bulk", "from": "h1", "to": "h2"}
            | {"transport": {"plugin": "selective", "reordering": 500}}
        },
    }


def paths(monkeypatch: pytest.MonkeyPatch, made: Table) -> tuple[Assembly, list[int]]:
    """The data frames that each spine sent on."""
    assembly = assemble(Plan(**made).check(registry(monkeypatch)))
    run_until(assembly, 10 * MS)
    queues = [assembly.indices.queues[f"leaf1.spine{n}"] for n in range(1, SPINES + 1)]
    return assembly, [int(assembly.world.queues[row].frames_out) for row in queues]


def test_each_value_has_one_path_and_all_paths_have_values(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    for first in range(0, 64, 4):
        _, counts = paths(monkeypatch, table(first=first))
        assert sum(count > 0 for count in counts) == 1
        taken.append(int(np.argmax(counts)))
    assert set(taken) == set(range(SPINES))


def test_many_values_spread_a_flow_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    _, counts = paths(monkeypatch, table(count=64))
    assert sum(counts) > 500
    assert min(counts) > sum(counts) / SPINES * 0.6
    _, counts = paths(monkeypatch, table(count=2_048))
    assert min(counts) > sum(counts) / SPINES * 0.8


def test_what_has_no_entropy_goes_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is the flow's; the largest value is one as any other."""
    for first in (NONE, MOST_ENTROPY):
        _, counts = paths(monkeypatch, table(first=first))
        assert sorted(counts)[:-1] == [0] * (SPINES - 1)
        assert max(counts) > 500


def test_a_switch_that_does_not_hash_takes_no_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    _, counts = paths(monkeypatch, table(spread="none", count=64))
    assert [count > 0 for count in counts] == [True, False, False, False]


def way(assembly: Assembly, node: str, **fields: int) -> int:
    """The port by which a switch sends such a frame on."""
    frame = assembly.world.frames[0]
    for name, value in fields.items():
        frame[name] = value
    return int(output_port(assembly.world, assembly.indices.nodes[node], frame))


def test_a_header_goes_the_way_of_its_frame_and_an_answer_that_of_its_flow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What an acknowledgement says in that field is no entropy."""
    assembly = assemble(Plan(**table()).check(registry(monkeypatch)))
    flow = assembly.world.flows[0]
    there = {"source": int(flow.source), "destination": int(flow.destination)}
    back = {"source": int(flow.destination), "destination": int(flow.source)}
    for entropy in range(64):
        ways = {
            way(assembly, "leaf1", kind=kind, inner=entropy, **there) for kind in (DATA, TRIMMED)
        }
        assert len(ways) == 1
    for kind, count in ((DATA, SPINES), (ACK, 1), (SACK, 1)):
        ways = {way(assembly, "leaf2", kind=kind, inner=number, **back) for number in range(64)}
        assert len(ways) == count


def test_switches_one_behind_the_other_choose_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else half of the paths of a fat tree would have no values."""
    made = table()
    made["fabric"] = {"kind": "fat-tree", "k": 4, "rate": 10**9, "spread": "flows"}
    made["traffic"]["t"]["to"] = "h16"
    assembly = assemble(Plan(**made).check(registry(monkeypatch)))
    flow = assembly.world.flows[0]
    ends = {"source": int(flow.source), "destination": int(flow.destination), "kind": DATA}
    pairs = {
        tuple(way(assembly, node, inner=entropy, **ends) for node in ("edge1", "agg1"))
        for entropy in range(64)
    }
    assert len(pairs) == 4


@given(
    entropy=st.integers(NONE, MOST_ENTROPY),
    flow=st.integers(NONE, 2**31 - 1),
    kind=st.sampled_from([DATA, TRIMMED]),
)
def test_a_source_port_tells_the_entropy(entropy: int, flow: int, kind: int) -> None:
    frame, back = empty_descriptors(2)
    frame.kind, frame.flow, frame.source, frame.destination = kind, flow, 3, 4
    frame.length, frame.inner = 72, entropy
    octets = np.zeros(128, np.uint8)
    assert encode(frame, octets) > 0
    own = SOURCE_PORT_BASE | (flow & SOURCE_PORT_MASK)
    port = int(get16(octets, UDP))
    assert port & ~SOURCE_PORT_MASK == SOURCE_PORT_BASE
    assert (port == own) == (entropy == NONE)
    assert decode(octets, 72, back) == kind
    assert (back.inner, back.flow) == (entropy, flow)


def test_a_target_that_knows_no_entropy_refuses_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    known = registry(monkeypatch)
    simulated = known.target("simulated")
    monkeypatch.setattr(type(simulated), "capabilities", IN_ENGINE - {Capability.ENTROPY})
    with pytest.raises(Refused) as found:
        simulated.check(Plan(**table()).check(known), known.targets)
    assert "lacks entropy. It runs on: software." in str(found.value)
