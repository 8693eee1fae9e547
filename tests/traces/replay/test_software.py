"""Real frames: the oracle finds nothing, and a capture alone gives the numbers of its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run import run
from orchestrator.targets.software.probe import probe
from traces.analysis import Settings, analyze
from traces.replay.command import lateness
from traces.replay.judge import Settings as Known
from traces.replay.judge import judge
from traces.replay.states import reconstructed, reconstructed_at
from traces.runs import Run, load

pytestmark = pytest.mark.software
DURATION = "0.4s"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run of figure 11 on real frames, all ports of NICs and switch captured."""
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    table: dict[str, Any] = Plan.load(Registry.load().plans()["netfpga-fig11"]).to_table()
    table |= {"duration": DURATION, "timeline": [], "phases": {}, "expect": []}
    ports = [f"{node}.up{n}" for n in range(1, 9) for node in ("switch", f"nic{1 + (n > 4)}")]
    table["capture"] = {"ports": ["switch.sink", *ports], "snap": "128B", "frames": 60_000}
    plan = Plan(**table)
    done = run(plan, target="software", out=tmp_path_factory.mktemp("runs"), report=False)
    assert done.folder is not None
    return done.folder


@pytest.fixture(scope="module")
def ran(folder: Path) -> Run:
    return load(folder)


def captures(folder: Path, *names: str) -> list[Path]:
    return [folder / "captures" / f"{name}.pcapng" for name in names]


def test_the_oracle_finds_nothing(folder: Path, ran: Run) -> None:
    resolved = Plan.load(folder / "plan.toml").check(Registry.load())
    paths = sorted((folder / "captures").iterdir())
    found = judge(paths, resolved, Known(late_ns=lateness(folder)))
    assert found.conforming, [finding.as_json() for finding in found.findings]
    assert all(node.frames > 5000 for node in found.nodes)
    switch = next(node for node in found.nodes if node.name == "switch")
    assert switch.assembly is not None
    times = reconstructed_at(switch.assembly)
    queue = reconstructed(switch.assembly, "switch")["switch.sink", "queue_bytes"]
    _, both, rows = np.intersect1d(times, ran.times_ps, return_indices=True)
    assert len(both) > 300
    apart = np.abs(queue[both] - ran.table.column("switch.sink", "queue_bytes")[rows])
    assert apart.max() <= 1500


def test_rates_alone(folder: Path, ran: Run) -> None:
    (sink,) = analyze(*captures(folder, "switch-sink")).interfaces
    assert len(sink.flows) == 8
    for flow in sink.flows:
        got = int(ran.table.column(f"gen{flow.flow + 1}", "bytes_received")[-1])
        assert flow.octets == pytest.approx(got, rel=0.01, abs=2 * 1500)
        assert flow.lost is not None
    total = ran.result.metrics["run"]["switch.sink"]["throughput_bps"]
    assert sink.throughput_bps == pytest.approx(total, rel=0.01)


def test_messages_alone(folder: Path, ran: Run) -> None:
    names = [f"switch-up{n}" for n in range(1, 9)]
    seen = analyze(*captures(folder, *names), settings=Settings(rate_bps=10**9))
    messages = sum(p.messages for one in seen.interfaces for p in one.congestion_points)
    sent = int(ran.table.column("switch.sink", "feedback_sent")[-1])
    assert sent > 100
    assert messages == pytest.approx(sent, rel=0.01, abs=2)
