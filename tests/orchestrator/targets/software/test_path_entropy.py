"""Path entropy on real frames: each value takes the path that it takes in the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import DATA, NONE
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

PLAN = """
name = "paths"
duration = "1s"
sample_interval = "1ms"
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 3
hosts = 1
rate = "40Mb/s"
delay = "100us"
[nodes."h{1..2}"]
reaction_point = { plugin = "nscc", base_rtt = "4ms", target = "3ms", entropy_bits = 4 }
[traffic.t]
plugin = "messages"
from = "h1"
to = "h2"
size = "1MB"
transport = { plugin = "selective", reordering = 100 }
[capture]
ports = ["leaf1.spine1", "leaf1.spine2", "leaf1.spine3"]
"""


def test_values_take_their_paths(tmp_path: Path) -> None:
    found = {}
    frame = empty_descriptors(1)[0]
    for target in ("simulated", "software"):
        done = run(Plan.load(PLAN), target=target, out=tmp_path / target, report=False)
        taken: dict[int, set[str]] = {}
        for capture in done.recording.captures:
            for length, octets in zip(capture.lengths, capture.octets, strict=True):
                if decode(octets, int(length), frame) == DATA:
                    taken.setdefault(int(frame.inner), set()).add(capture.port)
        assert set(taken) == set(range(16)), "and none without"
        assert NONE not in taken
        assert all(len(ports) == 1 for ports in taken.values())
        found[target] = taken
    assert found["software"] == found["simulated"]
    assert len(set.union(*found["software"].values())) == 3
