"""Stamps of hops: what an analysis says of them, against what dpkt reads frame by frame."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from orchestrator.engine.frames import type_table
from orchestrator.engine.frames.address_index import mac_of
from orchestrator.engine.frames.telemetry_header import MOST_STAMPS, STAMP_OCTETS
from orchestrator.engine.records import DATA
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from tests.traces.capture.captures import pcap
from tests.traces.dissect.test_control_fields import read as written
from tests.traces.protocols.test_hop_stamps import framed
from traces.analysis import read_captures, stamp_statistics
from traces.analysis.analysis_result import Analysis
from traces.analysis.flow_labels import mac_text
from traces.capture import frames
from traces.plugin import tailback_run_files
from traces.protocols import stamps as read

PLAN = """
name = "stamped"
duration = "5ms"
sample_interval = "100us"
nodes.a = { kind = "nic", reaction_point = { plugin = "hpcc", hops = 3 } }
nodes.s = { kind = "switch", congestion_point = { plugin = "int" } }
nodes.t = { kind = "switch", congestion_point = { plugin = "int" } }
nodes.sink = { kind = "sink" }
links.up = { ends = ["a", "s"], rate = "1Gb/s", delay = "10us" }
links.on = { ends = ["s", "t"], rate = "500Mb/s", delay = "10us" }
links.down = { ends = ["t", "sink"], rate = "1Gb/s", delay = "10us" }
capture = { ports = ["t.sink", "a.s"], snap = "256B", frames = 20000 }
[traffic.f]
plugin = "bulk"
from = "a"
to = "sink"
transport = { plugin = "go-back-n" }
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of one flow over two ports that stamp: at the NIC, and behind both."""
    registry = Registry.load()
    plan = Plan.load(PLAN)
    recording = registry.target("simulated").run(plan.check(registry), silent)
    folder = tmp_path_factory.mktemp("stamped")
    tailback_run_files(folder, recording, plan)
    return sorted((folder / "captures").iterdir())


def by_dpkt(path: Path) -> dict[tuple[str, int], list[tuple[int, int, int]]]:
    """(way, port) to (place, queued, rate) of its stamps in order."""
    found = defaultdict(list)
    for frame in frames(path):
        said = read(frame.octets, frame.length)
        way = "back" if frame.octets[40:42].hex() == "c7b2" else "forward"
        for place, one in enumerate(said.stamps if said else (), start=1):
            found[way, one.port].append((place, one.queued, one.rate_bps))
    return dict(found)


def test_stamps_of_a_capture_that_has_nothing_but_sacks(tmp_path: Path) -> None:
    registry = Registry.load()
    plan = Plan.load(PLAN.replace("go-back-n", "selective"))
    tailback_run_files(
        tmp_path, registry.target("simulated").run(plan.check(registry), silent), plan
    )
    (path,) = (tmp_path / "captures").glob("*t-sink*")
    sacks = [each.octets for each in frames(path) if each.octets[40:42].hex() == "c7b2"]
    alone = tmp_path / "sacks.pcap"
    written(alone, [bytes(each) for each in sacks])
    (seen,) = read_captures(alone).analysis.interfaces
    assert {name: count for name, count in seen.frames.items() if count} == {"sack": len(sacks)}
    expected = by_dpkt(alone)
    assert expected
    assert sum(one.stamps for one in seen.stamps) == sum(map(len, expected.values()))


def test_sums_by_port_and_way(captures: list[Path]) -> None:
    analysis = read_captures(*captures).analysis
    near, behind = analysis.interfaces
    for path, interface in zip(captures, analysis.interfaces, strict=True):
        expected = by_dpkt(path)
        assert len(interface.stamps) == len(expected)
        for (way, port), said in expected.items():
            address = mac_text(int(mac_of(port)))
            (one,) = [s for s in interface.stamps if (s.way, s.port) == (way, address)]
            places, queued = {s[0] for s in said}, [s[1] for s in said]
            assert (one.stamps, set(one.places)) == (len(said), places)
            assert one.queued["min"] == min(queued)
            assert one.queued["max"] == max(queued)
            assert one.queued["mean"] == pytest.approx(sum(queued) / len(queued))
            assert one.rate_bps == said[-1][2]
    assert {one.way for one in near.stamps} == {"back"}, "at its source a frame has none yet"
    assert {(one.way, tuple(one.places)) for one in behind.stamps} == {
        (way, (place, place)) for way in ("forward", "back") for place in (1, 2)
    }
    assert {one.rate_bps for one in behind.stamps} == {5 * 10**8, 10**9}
    assert sum(one.stamps for one in behind.stamps) > 100


def test_ports_that_are_left_out_are_told(
    captures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(analysis: Analysis) -> int:
        return sum(one.stamps for each in analysis.interfaces for one in each.stamps)

    every = told(read_captures(*captures).analysis)
    monkeypatch.setattr(stamp_statistics, "MOST_STAMPING", 3)
    found = read_captures(*captures).analysis
    assert found.more_stamps == every - told(found) > 0


def test_what_only_looks_like_stamps_is_none(tmp_path: Path) -> None:
    """Other frames with octets there, and frames that are cut off within their room."""
    whole = framed(0, 3, [(1, 2, 3, 4, 5)])
    other = whole[:46] + b"\0\0\0\0" + whole[50:]
    path = tmp_path / "a.pcap"
    crowded = bytearray(whole + bytes(STAMP_OCTETS * (MOST_STAMPS + 1)))
    crowded[type_table()[DATA].stamps] = MOST_STAMPS + 1
    sent = [whole, other, whole[:100], framed(0, 0, []), bytes(crowded)]
    path.write_bytes(pcap([(1, n, one, max(len(one), len(whole))) for n, one in enumerate(sent)]))
    (interface,) = read_captures(path).analysis.interfaces
    assert [(one.port, one.stamps, one.queued["max"]) for one in interface.stamps] == [
        (mac_text(int(mac_of(5))), 1, 1.0)
    ]
