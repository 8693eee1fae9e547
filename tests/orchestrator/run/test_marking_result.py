"""Marking over queue length: what a congestion point saw and marked, in every result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from orchestrator.algorithm import congestion_point
from orchestrator.assembly import assemble, record
from orchestrator.assembly.marking_histograms import MOST_TABLES, marked_queues
from orchestrator.assembly.row_index import Indices
from orchestrator.engine.kernel_answers import FORWARD
from orchestrator.engine.records import CE
from orchestrator.engine.records import record as fields
from orchestrator.plan import Plan
from orchestrator.plan.plugin_catalog import Use
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.marking_result import marking_result
from orchestrator.targets.parallel.parallel_run import ParallelRun
from orchestrator.testbed.wire.recording_codec import unpacked
from tests.orchestrator.testbed.wire.test_recording_codec import parts as sent_parts
from tests.orchestrator.worlds import MS, US, Empty, Table, run_until
from traces.figures.marking_figure import wilson
from traces.report import report
from traces.run_reader import load

GBPS = 10**9
PORT = "s.z"
KB = 1000


def plan_of(point: Table, at_input: bool = False, **more: Any) -> Table:
    """Two NICs whose frames are ECN-capable send more than a port carries, in bursts that sweep
    its queue up and down; the other's are not ECN-capable."""
    nic = {"kind": "nic", "reaction_point": {"plugin": "dctcp"}}
    switch: Table = {"kind": "switch", "buffer": 300 * KB}
    if at_input:
        switch["inputs"] = {"buffer": 300 * KB, "congestion_point": point, "speedup": 1}
    else:
        switch["congestion_point"] = point
    flow = {"plugin": "bulk", "to": "z", "transport": {"plugin": "selective"}}
    return {
        "name": "marking",
        "duration": 30 * MS,
        "sample_interval": 100 * US,
        "nodes": {
            "a": nic,
            "b": nic,
            "c": {"kind": "nic"},
            "s": switch,
            "z": {"kind": "nic"},
        },
        "links": {
            **{f"u{n}": {"ends": [n, "s"], "rate": GBPS, "delay": 40 * US} for n in "abc"},
            "d": {"ends": ["s", "z"], "rate": GBPS, "delay": 40 * US},
        },
        "traffic": {
            "ecn": flow | {"from": ["a", "b"]},
            "no": {"plugin": "cbr", "from": "c", "to": "z", "rate": GBPS // 10},
        },
        "phases": {"late": {"from": 10 * MS, "to": 20 * MS}},
    } | more


RED = {"plugin": "red", "low": "10KB", "high": "80KB", "max_probability": "0.3"}
POINTS: dict[str, tuple[Table, bool, str]] = {
    "red": (RED, False, "frames_in"),
    "red at departures": (RED | {"mark": "departure"}, False, "frames_out"),
    "red at inputs": (RED, True, "frames_in"),
    "pie": ({"plugin": "pie", "ecn": True, "target": "100us", "max_burst": "0us",
             "update_interval": "100us", "alpha": 100, "beta": 100}, False, "frames_in"),
    "codel": ({"plugin": "codel", "ecn": True, "target": "50us", "interval": "1ms"}, False,
              "frames_out"),
}  # fmt: skip
"""Shipped congestion points that mark -> table, whether at inputs, the frames they look at."""


def ran(table: Table) -> tuple[Any, Recording]:
    assembly = assemble(Plan(**table).check(Registry.load()))
    run_until(assembly, table["duration"] + 1)
    nodes = list(assembly.resolved.plan.nodes)
    return assembly.resolved, record("simulated", [(assembly, nodes)], cpu_s=0, wall_s=0)


def last(recording: Recording, entity: str, quantity: str) -> int:
    return int(recording.column(entity, quantity)[-1])


@pytest.mark.parametrize("name", POINTS)
def test_a_table_counts_what_its_congestion_point_saw(name: str) -> None:
    """Every frame that it looked at and every mark is in one bin; the bins hold the queue."""
    point, at_input, seen = POINTS[name]
    resolved, recording = ran(plan_of(point, at_input))
    found = marking_result(resolved, recording)
    queues = {f"s.{n}/in" for n in "abc"} if at_input else {PORT}
    assert queues <= found.keys()
    for queue in queues & {"s.a/in", PORT}:
        low, high, frames, ect, marked = np.array(found[queue]["rows"]).T
        drops = last(recording, queue, "frames_dropped") if at_input else 0
        if name == "codel":
            drops = last(recording, queue, "frames_dropped_early")
        assert frames.sum() == pytest.approx(last(recording, queue, seen) + drops, abs=1)
        assert marked.sum() == last(recording, queue, "frames_marked") > 10
        assert (marked <= ect).all()
        assert (ect <= frames).all()
        assert low.max() <= last(recording, queue, "queue_max_bytes")
        assert (low < high).all()
        assert (low[1:] >= high[:-1]).all()
    if not at_input:
        assert 0 < frames.sum() - ect.sum() < frames.sum(), "c's frames are not ECN-capable"


@pytest.mark.parametrize("mark", ["arrival", "departure"])
def test_red_marks_by_its_curve(mark: str) -> None:
    """The share of each bin is the configured chance, within what chance allows; a chance that is
    a third off is seen."""
    resolved, recording = ran(plan_of(RED | {"mark": mark}, duration=200 * MS))
    found = marking_result(resolved, recording)[PORT]
    points = np.array(found["curve"])
    assert points.tolist() == [[0, 0], [10_000, 0], [80_000, 0.3], [80_000, 1]]
    low, high, _, ect, marked = np.array(found["rows"]).T
    x = np.append(points[:, 0], 10**9)
    chance = np.interp((low + high - 1) / 2, x, np.append(points[:, 1], 1.0))
    inside = (low >= 10_000) & (high <= 80_000) & (ect > 0)
    expected, got = (chance * ect)[inside], marked[inside]
    assert got.sum() > 300
    deviation = np.sqrt((chance * (1 - chance) * ect)[inside].sum())
    assert abs(got.sum() - expected.sum()) < 4 * deviation
    assert abs(got.sum() - expected.sum() * 4 / 3) > 4 * deviation
    assert marked[high <= 10_000].sum() == 0
    least, most = wilson(got, ect[inside])
    held = (least <= chance[inside]) & (chance[inside] <= most)
    assert held.mean() >= 0.8


def step(state, params, queue, frame, now, message):
    """Marks every ECN-capable frame that finds 32 768 octets or more (a step, as DCTCP's)."""
    if queue.bytes >= 32_768 and frame.mark & CE != 0:
        frame.mark |= CE
    return FORWARD


class Step(Empty):
    """Of a step."""

    def marks(self) -> bool:
        """Always true."""
        return True


def test_a_step_of_a_third_party_is_a_step() -> None:
    table = plan_of(RED)
    resolved = Plan(**table).check(Registry.load())
    point = congestion_point("step", "", Step, fields("x"), arrival=step)
    uses = {**resolved.uses, "congestion_point": {PORT: Use(point, Step())}}
    assembly = assemble(replace(resolved, uses=uses))
    run_until(assembly, table["duration"] + 1)
    nodes = list(table["nodes"])
    recording = record("simulated", [(assembly, nodes)], cpu_s=0, wall_s=0)
    found = marking_result(assembly.resolved, recording)[PORT]
    low, high, _, ect, marked = np.array(found["rows"]).T
    assert found["curve"] is None
    assert np.array_equal(marked, np.where(low >= 32_768, ect, 0)), "2^15 is a bin's edge"
    assert marked.sum() > 0 < ect[high <= 32_768].sum()


def test_files_of_a_run_hold_it(tmp_path: Path) -> None:
    """`--json` and `result.json` the whole run, `marking.parquet` every phase, the report a panel;
    a plan without marks has none of them."""
    done = run(Plan(**plan_of(RED)), out=tmp_path, report=False)
    assert done.folder is not None
    kept = json.loads((done.folder / "result.json").read_text())["marking"]
    assert kept == done.result["marking"]
    assert kept[PORT]["columns"] == ["low_bytes", "high_bytes", "frames", "ect", "marked"]
    table = pq.read_table(done.folder / "marking.parquet").to_pydict()
    until = np.array(table["until_ps"])
    mine = np.array(table["entity"]) == PORT
    for at in (10 * MS, 20 * MS, 30 * MS):
        row = int(np.searchsorted(done.recording.times_ps, at))
        rows = mine & (until == at)
        for column, quantity in (("frames", "frames_in"), ("marked", "frames_marked")):
            counted = int(np.array(table[column])[rows].sum())
            assert counted == done.recording.column(PORT, quantity)[row]
    page = report(load(done.folder))
    assert "Share of frames marked over the length of the queue" in page
    assert "marking.parquet" in page
    calm = run(Plan(**plan_of({"plugin": "qcn-cp"})), out=tmp_path, report=False)
    assert calm.folder is not None
    assert "marking" not in calm.result
    assert not (calm.folder / "marking.parquet").exists()
    assert "Share of frames marked" not in report(load(calm.folder))


def test_it_is_the_same_on_two_cores_and_from_afar() -> None:
    table = plan_of(RED)
    resolved, whole = ran(table)
    several = ParallelRun(resolved, [["a", "c", "s"], ["b", "z"]])
    several.run(lambda _: None)
    shares = list(zip(several.assemblies, several.nodes, strict=True))
    parts = record("simulated", shares, cpu_s=0.0, wall_s=0.0)
    afar, _ = unpacked(resolved, "simulated", *sent_parts(resolved, whole))
    for other in (parts, afar):
        assert other.marking.keys() == whole.marking.keys() >= {PORT}
        for queue, table in whole.marking.items():
            assert np.array_equal(other.marking[queue], table)


def test_many_queues_share_a_table_by_their_parameters() -> None:
    """As many as have one each; beyond that one for all that are set alike."""
    hosts = [f"h{n}" for n in range(MOST_TABLES)]
    nodes: Table = {name: {"kind": "nic"} for name in hosts}
    for switch, low in (("s", "10KB"), ("t", "20KB")):
        nodes[switch] = {"kind": "switch", "congestion_point": RED | {"low": low}}
    links = {name: {"ends": [name, "s"], "rate": GBPS} for name in hosts}
    links["on"] = {"ends": ["s", "t"], "rate": GBPS}
    traffic = {"x": {"plugin": "cbr", "from": "h0", "to": "h1", "rate": GBPS}}
    table = {"name": "many", "duration": MS, "nodes": nodes, "links": links, "traffic": traffic}
    resolved = Plan(**table).check(Registry.load())
    queues = marked_queues(resolved, Indices(resolved.plan))
    assert len(queues) == MOST_TABLES + 2
    assert {q.table for q in queues if q.queue.startswith("s.")} == {"red"}
    assert {q.table for q in queues if q.queue.startswith("t.")} == {"red 2"}
    links.pop("on")
    nodes.pop("t")
    resolved = Plan(**table).check(Registry.load())
    queues = marked_queues(resolved, Indices(resolved.plan))
    assert [q.table for q in queues] == [f"s.{name}" for name in hosts]
    _, recording = ran(table)
    found = marking_result(resolved, recording)
    assert found.keys() == {"s.h1"}, "queues that no frame came to have no table"
