"""FECN's probes: what an analysis says of them, against dpkt's reading and the run's own counts."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import dpkt
import pyarrow.parquet as pq
import pytest

from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from tests.traces.capture.captures import pcap
from traces.analysis import Findings, probe_statistics, read_captures
from traces.analysis.analysis_files import write
from traces.capture import frames
from traces.plugin import tailback_run_files
from traces.protocols import Probe

PLAN = """
name = "probed"
seed = 3
duration = "30ms"
sample_interval = "1ms"
nodes.a = { kind = "nic", reaction_points = 1, reaction_point = { plugin = "fecn-rp", interval = "1ms" } }
nodes.b = { kind = "nic", reaction_points = 1, reaction_point = { plugin = "fecn-rp", interval = "1ms" } }
nodes.s = { kind = "switch", congestion_point = { plugin = "fecn-cp", interval = "1ms", expected_flows = 2 } }
nodes.sink = { kind = "sink", notification_point = { plugin = "fecn-reflector" } }
links.up = { ends = ["a", "s"], rate = "1Gb/s", delay = "10us" }
links.over = { ends = ["b", "s"], rate = "1Gb/s", delay = "10us" }
links.down = { ends = ["s", "sink"], rate = "1Gb/s", delay = "10us" }
traffic.fa = { plugin = "cbr", from = "a", to = "sink", rate = "1Gb/s" }
traffic.fb = { plugin = "cbr", from = "b", to = "sink", rate = "1Gb/s" }
capture = { ports = ["s.sink", "s.a"], snap = "128B", frames = 20000 }
"""  # noqa: E501


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recording, list[Path]]:
    """Two flows that find their rates by probes; captures before the sink and before a NIC."""
    registry = Registry.load()
    plan = Plan.load(PLAN)
    recording = registry.target("simulated").run(plan.check(registry), silent)
    folder = tmp_path_factory.mktemp("probed")
    tailback_run_files(folder, recording, plan)
    return recording, sorted((folder / "captures").iterdir())


def by_dpkt(path: Path) -> dict[tuple[str, int], list[int]]:
    """(way, flow) to the rates of its probes in order."""
    found = defaultdict(list)
    for frame in frames(path):
        one = dpkt.ethernet.Ethernet(frame.octets).data
        if isinstance(one, Probe):
            found["forward" if one.way == 1 else "back", one.flow].append(one.rate_bps)
    return dict(found)


def test_counts_and_rates_over_time(run, tmp_path: Path) -> None:
    recording, paths = run
    found = read_captures(*paths)
    for path, interface in zip(paths, found.analysis.interfaces, strict=True):
        expected = by_dpkt(path)
        assert {(one.way, one.flow) for one in interface.probes} == set(expected)
        for one in interface.probes:
            rates = expected[one.way, one.flow]
            assert (one.probes, one.lost, one.reordered) == (len(rates), 0, 0)
            assert one.rate_bps["min"] == min(rates)
            assert one.rate_bps["max"] == max(rates)
            assert one.rate_bps["mean"] == pytest.approx(sum(rates) / len(rates))
            assert one.rate_bps["last"] == rates[-1]
        kinds = interface.frames
        assert kinds["probe"] + kinds["echo"] == sum(map(len, expected.values()))
    before, after = found.analysis.interfaces
    assert {one.way for one in before.probes} == {"forward", "back"}
    echoes = sum(one.probes for one in after.probes if one.way == "back")
    assert 0 <= int(recording.column("sink", "echoes_sent")[-1]) - echoes <= 2
    assert echoes > 40
    # past the congestion point a probe carries what the switch grants, which is no more
    sent, granted = (
        next(one for one in side.probes if (one.way, one.flow) == ("forward", 0))
        for side in (before, after)
    )
    assert granted.rate_bps["mean"] < sent.rate_bps["mean"]
    _files(found, paths, tmp_path)


def _files(found: Findings, paths: list[Path], folder: Path) -> None:
    written = write(folder, found)
    table = pq.read_table(folder / "probes.parquet").to_pylist()
    for path, interface in zip(paths, found.analysis.interfaces, strict=True):
        for (way, flow), rates in by_dpkt(path).items():
            mine = [r for r in table if (r["interface"], r["way"]) == (interface.name, way)]
            assert [r["rate_bps"] for r in mine if r["flow"] == flow] == rates
    svgs = [one.read_text() for one in written if one.suffix == ".svg" and "interface" in one.name]
    assert any("probed rate" in text for text in svgs)
    assert '"way": "forward"' in (folder / "analysis.json").read_text()


def test_the_ethertype_alone_is_no_probe(tmp_path: Path) -> None:
    body = bytes.fromhex("88b6 0101") + bytes(56)
    ours = bytes.fromhex("025442000009 025442000007")
    other = ours + bytes.fromhex("88b6 0201") + bytes(56)  # of another version
    sent = [ours + body, bytes.fromhex("020000000009") + ours[6:] + body, other, (ours + body)[:43]]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(1, n, frame, len(frame)) for n, frame in enumerate(sent)]))
    (interface,) = read_captures(path).analysis.interfaces
    assert (interface.frames["probe"], interface.frames["other"]) == (1, 3)
    assert isinstance(dpkt.ethernet.Ethernet(ours + body).data, Probe)
    assert isinstance(dpkt.ethernet.Ethernet(other).data, bytes)


def test_probes_that_are_left_out_are_told(run, monkeypatch: pytest.MonkeyPatch) -> None:
    _, paths = run
    every = read_captures(*paths).analysis
    total = sum(one.probes for interface in every.interfaces for one in interface.probes)
    monkeypatch.setattr(probe_statistics, "MAX_STORED", 10)
    monkeypatch.setattr(probe_statistics, "MOST_PROBED", 2)
    found = read_captures(*paths).analysis
    told = sum(one.probes for interface in found.interfaces for one in interface.probes)
    assert found.more_probes == total - told > 0
    assert found.undrawn_probes == told - 10
    assert f"{told - 10} further probes" in found.left_out()[0]
