"""Names become rows: parallel links, `via`, shortest paths, forwarding, changes in mid-run."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.assembly.world_builder import STATE_OF
from orchestrator.errors import BadInput
from tests.orchestrator.worlds import MS, US, Table, assembled, at, line_of_three, recorded


def parallel(**traffic: object) -> Table:
    """Two links between NIC and switch, the second one slow; two flows towards the sink."""
    plan = line_of_three()
    plan["links"]["up2"] = {"ends": ["nic", "switch"], "rate": 10**8, "delay": 7 * US}
    plan["traffic"]["gen"] |= traffic
    return plan


def test_parallel_links_have_names_of_their_own() -> None:
    recording = recorded(parallel())
    entities = {column.entity for column in recording.columns}
    assert {"up:nic>switch", "up:switch>nic", "up2:nic>switch", "switch.up"} <= entities
    assert not {"nic>switch", "switch.nic", "nic.switch"} & entities
    assert recording.column("up2:nic>switch", "rate")[0] == 10**8


def test_without_via_of_parallel_links_the_first_by_name_is_taken() -> None:
    recording = recorded(parallel())
    assert recording.column("up:nic>switch", "frames_out")[-1] > 100
    assert recording.column("up2:nic>switch", "frames_out")[-1] == 0


def test_via_chooses_the_way_there_and_the_way_back() -> None:
    plan = parallel(via="up2")
    plan["nodes"]["nic"]["reaction_point"] = {"plugin": "qcn-rp"}
    plan["nodes"]["switch"]["service_rate"] = 10**7
    point = {"plugin": "qcn-cp", "sample_base": 1500, "set_point": 3000}
    plan["nodes"]["switch"]["congestion_point"] = point
    recording = recorded(plan)
    assert recording.column("up:nic>switch", "frames_out")[-1] == 0
    assert recording.column("up:switch>nic", "frames_out")[-1] == 0
    sent = recording.column("switch.sink", "feedback_sent")[-1]
    assert sent > 0
    assert 0 <= sent - recording.column("up2:switch>nic", "frames_out")[-1] <= 1
    assert recording.column("nic.rp0", "feedback_received")[-1] > 0


def test_the_shortest_way_over_switches_is_taken() -> None:
    plan = line_of_three()
    plan["nodes"] |= {"detour1": {"kind": "switch"}, "detour2": {"kind": "switch"}}
    ends = [["switch", "detour1"], ["detour1", "detour2"], ["detour2", "sink"]]
    long_way = {f"long{n}": {"ends": pair, "rate": 10**9} for n, pair in enumerate(ends)}
    plan["links"] = long_way | plan["links"]
    recording = recorded(plan)
    assert recording.column("switch>detour1", "frames_out")[-1] == 0
    assert recording.column("gen", "frames_received")[-1] > 100

    plan["nodes"]["switch"]["forwarding"] = {"sink": "detour1"}
    plan["nodes"]["detour1"]["forwarding"] = {"sink": "detour2"}
    recording = recorded(plan)
    assert recording.column("switch>sink", "frames_out")[-1] == 0
    assert recording.column("detour2>sink", "frames_out")[-1] > 100
    assert recording.column("gen", "frames_received")[-1] > 100


def test_changes_reach_what_they_name_and_nothing_else() -> None:
    plan = line_of_three(
        timeline=[
            {"at": MS, "set": "nodes.switch.service_rate", "to": 3 * 10**8},
            {"at": MS, "set": "nodes.switch.ports.sink.service_rate", "to": 2 * 10**8},
            {"at": MS, "set": "links.up.rate", "to": 10**8},
        ]
    )
    recording = recorded(plan)
    expected = {
        ("switch.sink", "service_rate"): (10**9, 2 * 10**8),
        ("switch.nic", "service_rate"): (10**9, 3 * 10**8),
        ("nic>switch", "rate"): (10**9, 10**8),
        ("switch>nic", "rate"): (10**9, 10**8),
        ("switch>sink", "rate"): (10**9, 10**9),
    }
    for (entity, quantity), (before, after) in expected.items():
        assert at(recording, entity, quantity, MS - 100 * US) == before
        assert at(recording, entity, quantity, MS + 100 * US) == after


def test_rows_lie_on_the_grid_and_on_every_boundary_once() -> None:
    spans = {"a": {"from": 333 * US, "to": 700 * US}, "b": {"from": 700 * US, "to": 1999 * US}}
    recording = recorded(line_of_three(phases=spans))
    grid = set(range(0, 2 * MS + 1, 100 * US))
    assert recording.times_ps.tolist() == sorted(grid | {333 * US, 1999 * US})
    assert recording.latency_marks_ps.tolist() == [0, 333 * US, 700 * US, 1999 * US, 2 * MS]


def test_a_seed_reaches_every_instance_differently() -> None:
    plan = line_of_three(seed=5)
    plan["links"]["up"]["delay_line"] = {"plugin": "jittered-delay", "jitter": US}
    plan["nodes"]["switch"]["congestion_point"] = {"plugin": "qcn-cp"}
    assembly = assembled(plan)
    seeds = assembly.built.offsets  # type: ignore[attr-defined]
    drawn = [
        int(assembly.world.memory[offset])
        for (array, _, name), offset in seeds.items()
        if name == "lfsr" and not array.startswith(STATE_OF)
    ]
    assert len(drawn) == 9, "two of the delay line, one of each congestion point, queue and node"
    assert len(set(drawn)) == 9
    assert all(0 < value < 1 << 32 for value in drawn)


def test_a_bucket_too_small_for_its_link_is_refused_with_the_size_it_needs() -> None:
    plan = line_of_three()
    plan["nodes"]["nic"] |= {
        "reaction_point": {"plugin": "qcn-rp"},
        "limiter": {"depth": 1999, "period": 16 * US},
    }
    with pytest.raises(BadInput, match=r"nodes\.nic\.limiter\.depth: '1999B' .* at least 2KB"):
        assembled(plan)
    plan["nodes"]["nic"]["limiter"]["depth"] = 2000
    assert np.all(assembled(plan).world.limiters["depth"] == 2000 * 8 * 10**12)
