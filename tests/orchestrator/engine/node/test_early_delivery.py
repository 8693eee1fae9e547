"""Frames that are only counted where they arrive: ahead, if no sample is taken before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.node.early_delivery import is_count_only
from orchestrator.engine.records import (
    CNM,
    DATA,
    FRAMES,
    HOST,
    MESSAGES,
    NONE,
    PROGRAMS,
    TRANSPORT,
    TRIMMED,
)
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import audit
from orchestrator.targets.parallel.parallel_run import ParallelRun
from tests.orchestrator.worlds import MS, US, Table, assembled, line_of_three, run_until

FRAME_PS = 12 * US
"""Of a full frame at 1 Gb/s."""


def ahead(assembly: Assembly) -> list[str]:
    """The ports whose frames may be counted before they arrive."""
    ports = assembly.world.ports
    return [name for name, row in assembly.indices.port_rows.items() if ports[row].ahead]


def column(assembly: Assembly, entity: str, quantity: str) -> list[int]:
    """A sampled quantity in all rows."""
    told = [(probe.column.entity, probe.column.quantity) for probe in assembly.probes]
    rows = assembly.world.rows[: assembly.world.clock[0].row]
    return [int(value) for value in rows[:, told.index((entity, quantity))]]


def in_time(table: Table) -> Assembly:
    """A plan whose ports have an event for every frame that leaves."""
    assembly = assembled(table)
    assembly.world.ports["late"] = 0
    return assembly


def both(table: Table) -> tuple[Assembly, Assembly]:
    """A plan run with and without counting ahead; what they measured is the same.

    Ports that are late (`test_late.py`) need lines that count ahead, so none is here.
    """
    counted, prompt = in_time(table), in_time(table)
    prompt.world.ports["ahead"] = 0
    for assembly in (counted, prompt):
        assembly.world.ports["patience"] = 0
        run_until(assembly, table["duration"] + 1)
        audit(assembly.world)
    for name in ("row_times", "rows", "latency_marks"):
        assert np.array_equal(getattr(counted.world, name), getattr(prompt.world, name)), name
    return counted, prompt


def test_frames_that_arrive_before_a_sample_need_no_event_of_their_own() -> None:
    counted, prompt = both(line_of_three(sample_interval=MS))
    frames = column(counted, "gen", "frames_received")[-1]
    assert frames > 150
    saved = prompt.world.clock[0].events - counted.world.clock[0].events
    assert 0.95 * frames < saved <= frames


def test_what_arrives_with_a_sample_or_later_is_not_in_it() -> None:
    counted, _ = both(line_of_three(sample_interval=10 * FRAME_PS, duration=20 * FRAME_PS))
    at = [int(time) for time in counted.world.row_times[: counted.world.clock[0].row]]
    received = column(counted, "gen", "frames_received")
    # the first frame is there at 24 us, and one every 12 us from then on
    assert dict(zip(at, received, strict=True)) == {0: 0, 10 * FRAME_PS: 8, 20 * FRAME_PS: 18}


def test_a_step_that_looks_at_nothing_bounds_it_as_well() -> None:
    """The next command may be a mark, which takes a row: nobody asks which it is."""
    table = line_of_three(sample_interval=2 * MS)
    table["timeline"] = [
        {"at": at * US, "set": "nodes.switch.buffer", "to": 10**5} for at in range(5, 2000, 5)
    ]
    counted, prompt = both(table)
    saved = prompt.world.clock[0].events - counted.world.clock[0].events
    assert saved == 0  # a frame is sent 12 us before it arrives


def test_frames_in_a_line_are_counted_before_those_that_follow_them() -> None:
    table = line_of_three(sample_interval=300 * US)
    table["links"]["down"]["delay"] = 100 * US
    counted, _ = both(table)
    assert max(column(counted, "gen", "frames_reordered")) == 0
    assert column(counted, "gen", "frames_received")[-1] > 100


def test_a_message_in_the_line_acts_when_it_arrives_and_holds_data_back() -> None:
    """Both NICs send, and both are told to slow down."""
    table = line_of_three(sample_interval=500 * US, duration=5 * MS)
    table["nodes"]["sink"] = {"kind": "nic"}
    for name in ("nic", "sink"):
        point = {"plugin": "qcn-rp", "time_reset": MS, "byte_reset": 15_000}
        table["nodes"][name] |= {"reaction_point": point, "reaction_points": 1}
    point = {"plugin": "qcn-cp", "sample_base": 3_000, "set_point": 3_000}
    table["nodes"]["switch"] |= {"service_rate": 4 * 10**8, "congestion_point": point}
    for name in ("up", "down"):
        table["links"][name]["delay"] = 40 * US
    table["traffic"]["back"] = table["traffic"]["gen"] | {"from": "sink", "to": "nic"}
    counted, prompt = both(table)
    assert (
        min(column(counted, f"{name}.rp0", "feedback_received")[-1] for name in ("nic", "sink")) > 9
    )
    saved = prompt.world.clock[0].events - counted.world.clock[0].events
    assert saved > 0.5 * sum(
        column(counted, name, "frames_received")[-1] for name in ("gen", "back")
    )


def test_a_shorter_delay_does_not_let_a_frame_pass_one_that_was_counted() -> None:
    table = line_of_three(sample_interval=MS)
    counted, prompt = in_time(table), in_time(table)
    prompt.world.ports["ahead"] = 0
    latest = []
    for assembly in (counted, prompt):
        port = assembly.world.ports[assembly.indices.port_rows["switch.sink"]]
        port.delay, port.patience = 90 * US, 0
        run_until(assembly, 30 * US)
        port.delay, port.ahead = 0, 0
        run_until(assembly, 190 * US)
        latest.append([assembly.world.latency.sum(), *np.flatnonzero(assembly.world.latency[0])])
    assert latest[0] == latest[1]


FLOW: dict[str, int] = {"mode": FRAMES, "copies": 0}


@pytest.mark.parametrize(
    ("frame", "flow", "only"),
    [
        ({}, {}, True),
        ({"kind": CNM}, {}, False),
        ({"kind": TRIMMED}, {}, False),
        ({"kind": HOST}, {"mode": PROGRAMS}, False),
        ({"flow": NONE}, {}, False),
        ({}, {"mode": MESSAGES}, False),
        ({}, {"mode": TRANSPORT}, False),
        ({}, {"copies": 2}, False),
    ],
)
def test_only_data_of_a_plain_source_for_one_node_is_just_counted(
    frame: dict[str, int], flow: dict[str, int], only: bool
) -> None:
    world = assembled(line_of_three()).world
    for name, value in (FLOW | flow).items():
        world.flows[0][name] = value
    for name, value in ({"kind": DATA, "flow": 0} | frame).items():
        world.frames[0][name] = value
    assert is_count_only(world, world.frames[0]) == only


def changed(**more: Any) -> Table:
    """The plan with other nodes, links or traffic."""
    table = line_of_three()
    for name, rows in more.items():
        table[name] = table.get(name, {}) | rows if isinstance(rows, dict) else rows
    return table


SECOND = {"ends": ["switch", "sink"], "rate": 10**9}
TO_NIC = {"sink": {"kind": "nic"}}
DOWN = {"ends": ["switch", "sink"], "rate": 10**9}


@pytest.mark.parametrize(
    ("table", "ports"),
    [
        (changed(), ["switch.nic", "switch.sink"]),
        (changed(nodes=TO_NIC), ["switch.nic", "switch.sink"]),
        (changed(links={"more": SECOND}), ["switch.nic"]),
        (changed(capture={"ports": ["switch.sink"]}), ["switch.nic"]),
        (changed(capture={"ports": ["sink.switch"]}), ["switch.nic"]),
        (changed(timeline=[{"at": MS, "cut": "down"}]), ["switch.nic"]),
        (changed(links={"down": DOWN | {"buffer": 18_000}}), ["switch.nic"]),
        (
            changed(links={"down": DOWN | {"delay_line": {"plugin": "jittered-delay"}}}),
            ["switch.nic"],
        ),
    ],
)
def test_who_looks_at_frames_gets_them_when_they_arrive(table: Table, ports: list[str]) -> None:
    assert ahead(assembled(table)) == ports


def test_a_frame_for_a_wire_or_another_core_is_never_counted_here() -> None:
    resolved = Plan(**changed(nodes=TO_NIC, links={"down": DOWN | {"delay": US}})).check(
        Registry.load()
    )
    assert ahead(assemble(resolved, wires=["switch.sink"])) == []
    several = ParallelRun(resolved, [["nic", "switch"], ["sink"]])
    assert ahead(several.assemblies[0]) == ["switch.nic"]
