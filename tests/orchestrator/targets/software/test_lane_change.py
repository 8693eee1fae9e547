"""Lanes that a congestion point changes on real frames: the tag tells the next switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import DATA
from orchestrator.plan import Plan
from orchestrator.run import buffer_conservation
from orchestrator.run.execute_run import run
from traces.run_reader import load

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

PLAN = """
name = "aside"
duration = "1s"
sample_interval = "1ms"
priorities = "separate"
more_priorities = [6]
[nodes."h{1..2}"]
kind = "nic"
[nodes.near]
kind = "switch"
buffer = "1MB"
congestion_point = { plugin = "priority-demotion", threshold = "9KB", priority = 6 }
[nodes.far]
kind = "switch"
[nodes.sink]
kind = "sink"
[links."up{1..2}"]
ends = ["h{}", "near"]
rate = "20Mb/s"
delay = "100us"
[links.on]
ends = ["near", "far"]
rate = "20Mb/s"
delay = "100us"
[links.down]
ends = ["far", "sink"]
rate = "40Mb/s"
delay = "100us"
[traffic.t]
plugin = "messages"
from = "h{1..2}"
to = "sink"
size = "286KB"
priority = 3
[capture]
ports = ["far.sink"]
"""


def test_frames_that_went_aside_are_in_that_lane_to_their_end(tmp_path: Path) -> None:
    found, moved = {}, {}
    frame = empty_descriptors(1)[0]
    for target in ("simulated", "software"):
        done = run(Plan.load(PLAN), target=target, out=tmp_path / target, report=False)
        assert done.folder is not None
        table = load(done.folder).table
        count = {
            (port, lane): int(table.column(f"{port}/{lane}", "frames_out")[-1])
            for port in ("near.far", "far.sink")
            for lane in ("p3", "p6")
        }
        moved[target] = int(table.column("near.far/p3", "frames_moved")[-1])
        seen = {3: 0, 6: 0}
        (capture,) = done.recording.captures
        for length, octets in zip(capture.lengths, capture.octets, strict=True):
            if decode(octets, int(length), frame) == DATA:
                seen[int(frame.priority)] += 1
        assert count["near.far", "p6"] == count["far.sink", "p6"] == moved[target] == seen[6]
        assert count["near.far", "p3"] == count["far.sink", "p3"] == seen[3]
        assert buffer_conservation.unbalanced_buffers(done.recording) == []
        found[target] = count
    assert sum(found["software"].values()) == sum(found["simulated"].values()) == 800
    assert moved["simulated"] > 50
    assert moved["software"] == pytest.approx(moved["simulated"], rel=0.1)
