"""Other headers on real frames: the octets of both targets are equal, and tshark finds no error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.engine.frames import FOREIGN, decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import DATA, FRAME
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.traces.capture.tshark import needs_tshark, rows

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

PLAN = """
name = "headers"
duration = "400ms"
sample_interval = "10ms"
priorities = "separate"
[headers]
{headers}
[nodes."h{{1..2}}"]
kind = "nic"
[nodes.near]
kind = "switch"
forwards_by = "ip"
[nodes.far]
kind = "switch"
{far}
[nodes.d]
kind = "nic"
[links."up{{1..2}}"]
ends = ["h{{}}", "near"]
rate = "20Mb/s"
delay = "100us"
[links.on]
ends = ["near", "far"]
rate = "50Mb/s"
delay = "100us"
[links.down]
ends = ["far", "d"]
rate = "50Mb/s"
delay = "100us"
[traffic.t]
plugin = "messages"
from = "h{{1..2}}"
to = "d"
size = "100KB"
count = 1
frame = "1400B"
priority = {priority}
transport = {{ plugin = "go-back-n", timeout = "300ms" }}
[capture]
ports = ["h1.near", "near.far", "far.d"]
snap = "1500B"
"""
CASES = {
    "dscp": 'tagged = false\npriority = "dscp"',
    "vlan": "vlan = 300",
    "ipv6": 'ip = 6\ntagged = false\npriority = "dscp"',
    "qinq": "vlan = 300\nouter_vlan = 7\nip = 6",
}
TIMES = ("created",)


def frames(captures: Any) -> dict[tuple[str, int, int, int], dict[str, int]]:
    """Data frames and acknowledgements of each port by kind, flow, sequence: what they say, but for
    the time in them."""
    found = {}
    for capture in captures:
        for length, octets in zip(capture.lengths, capture.octets, strict=True):
            frame = empty_descriptors(1)[0]
            kind = decode(octets, int(length), frame)
            assert kind != FOREIGN
            values = {name: int(frame[name]) for name in FRAME.names if name not in TIMES}
            shape = int(octets[12:24].tobytes().hex(), 16)
            key = (f"{capture.node}.{capture.port}", kind, int(frame.flow), int(frame.sequence))
            found[key] = values | {"shape": shape}
    return found


@needs_tshark
@pytest.mark.parametrize("case", CASES)
def test_real_frames_are_those_of_the_simulator(case: str, tmp_path: Path) -> None:
    by_dscp = "dscp" in CASES[case]
    far = "dscp_to_tc = { 3 = 5 }" if by_dscp else ""
    text = PLAN.format(headers=CASES[case], far=far, priority=3)
    seen = {}
    for target in ("simulated", "software"):
        done = run(Plan.load(text), target=target, out=tmp_path / target, report=False)
        assert done.folder is not None
        lane = "p5" if by_dscp else "p3"
        column = done.recording.column(f"far.d/{lane}", "frames_out")
        seen[target] = frames(done.recording.captures)
        data = [key for key in seen[target] if key[1] == DATA and key[0] == "far.d"]
        assert int(column[-1]) == len(data) > 100
        for path in (done.folder / "captures").iterdir():
            fields = ["ip.checksum.status", "udp.checksum.status", "_ws.expert.severity", "ip.ttl"]
            fields += ["ipv6.hlim"]
            checks = ("ip.check_checksum:TRUE", "udp.check_checksum:TRUE")
            found = rows(path, fields, preferences=checks)
            assert len(found) > 100
            hops = {int(row["ip.ttl"] or row["ipv6.hlim"]) for row in found}
            assert hops == {63, 64}, "one router"
            for row in found:
                assert int(row["_ws.expert.severity"] or 0) < 0x600000, row
                status = "udp.checksum.status" if "ip = 6" in text else "ip.checksum.status"
                assert row[status] == "1"
        if target == "software":
            kinds = [link["kinds"] for link in done.result["fidelity"]["links"].values()]
            assert any(one["data"]["received"] > 50 for one in kinds if "data" in one)
            assert all(count["changed"] == 0 for one in kinds for count in one.values())
    wrong = [key for key, frame in seen["software"].items() if seen["simulated"].get(key) != frame]
    assert wrong == []
    assert len(seen["software"]) == len(seen["simulated"])
