"""Fabrics on real frames: spread over two spines, put in order again, copied for a group."""

from __future__ import annotations

import pytest

from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run.execute_run import run

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

FABRIC = """
name = "short-fabric"
duration = "0.3s"
sample_interval = "5ms"

[groups]
all = ["h3", "h4"]

[nodes."h{1..4}"]
kind = "nic"
reaction_points = 0

[nodes."leaf{1..2}"]
kind = "switch"
spread = "frames"
reassembly = { buffer = "200KB", timeout = "50ms" }
inputs = { buffer = "100KB" }

[nodes."spine{1..2}"]
kind = "switch"
inputs = { buffer = "100KB" }

[links."near{1..2}"]
ends = ["h{}", "leaf1"]
rate = "100Mb/s"
delay = "50us"

[links."far{3..4}"]
ends = ["h{}", "leaf2"]
rate = "100Mb/s"
delay = "50us"

[links.up1]
ends = ["leaf1", "spine1"]
rate = "100Mb/s"
delay = "100us"

[links.up2]
ends = ["leaf1", "spine2"]
rate = "100Mb/s"
delay = "900us"

[links."down{1..2}"]
ends = ["leaf2", "spine{}"]
rate = "100Mb/s"
delay = "100us"

[traffic.single]
plugin = "cbr"
from = "h1"
to = "h3"
rate = "40Mb/s"
stop = "0.25s"

[traffic.wide]
plugin = "cbr"
from = "h2"
to = "all"
rate = "20Mb/s"
stop = "0.25s"
"""


@pytest.fixture(scope="module")
def fabric() -> Recording:
    return run(Plan.load(FABRIC), target="software", out=None).recording


def last(recording: Recording, entity: str, quantity: str) -> int:
    return int(recording.column(entity, quantity)[-1])


def test_sprayed_frames_arrive_in_order_over_both_spines(fabric: Recording) -> None:
    sent = last(fabric, "single", "frames_sent")
    assert sent > 700
    assert last(fabric, "single", "frames_received") == sent
    assert last(fabric, "single", "frames_reordered") == 0
    assert last(fabric, "leaf2", "reassembly_gaps") == 0
    assert int(fabric.column("leaf2", "reassembly_bytes").max()) > 1500
    ways = [last(fabric, f"spine{n}.leaf2", "frames_out") for n in (1, 2)]
    assert min(ways) > 0.3 * sum(ways)


def test_every_member_gets_every_frame_once(fabric: Recording) -> None:
    sent = last(fabric, "wide", "frames_sent")
    assert sent > 350
    for member in ("h3", "h4"):
        assert last(fabric, f"wide@{member}", "frames_received") == sent
    crossed = sum(last(fabric, f"leaf1.spine{n}/in", "frames_in") for n in (1, 2))
    assert crossed == 0, "copies are made where the ways part, and none comes back"
