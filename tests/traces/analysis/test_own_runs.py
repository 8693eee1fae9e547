"""A capture of a run, analysed by itself, gives the numbers that the run has counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from traces.analysis import Analysis, analyze
from traces.plugin import tailback_run_files

SHORT = Path(__file__).parents[2] / "short.toml"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recording, Analysis]:
    """The short plan, simulated; both of its captures analysed together."""
    text = SHORT.read_text(encoding="utf-8").replace("frames = 20000", "frames = 60000")
    registry = Registry.load()
    plan = Plan.load(text)
    recording = registry.target("simulated").run(plan.check(registry), silent)
    folder = tmp_path_factory.mktemp("run")
    tailback_run_files(folder, recording, plan)
    return recording, analyze(*sorted((folder / "captures").iterdir()))


def last(recording: Recording, entity: str, quantity: str) -> int:
    return int(recording.column(entity, quantity)[-1])


def test_frames_and_octets_per_flow(run) -> None:
    recording, analysis = run
    sink = next(one for one in analysis.interfaces if one.name == "switch.sink")
    assert [flow.flow for flow in sink.flows] == [0, 1]
    for flow in sink.flows:
        entity = f"gen.{flow.flow}"
        # what is on the wire at the end was captured and is not received yet
        assert 0 <= flow.frames - last(recording, entity, "frames_received") <= 10
        assert flow.octets == 1500 * flow.frames
        assert flow.lost == flow.duplicates == flow.reordered == 0
    seconds = recording.times_ps[-1] / 1e12
    total = sum(last(recording, f"gen.{index}", "bytes_received") for index in (0, 1))
    assert sink.throughput_bps == pytest.approx(total * 8 / seconds, rel=0.01)


def test_messages(run) -> None:
    recording, analysis = run
    nic = next(one for one in analysis.interfaces if one.name == "nic.switch")
    (point,) = nic.congestion_points
    assert 0 <= last(recording, "switch.sink", "feedback_sent") - point.messages <= 2
    queue = recording.column("switch.sink", "queue_bytes")
    swing = point.offset_bytes["max"] - point.offset_bytes["min"]
    assert 0 < swing <= queue.max() + 1500


def test_latency_is_the_queue(run) -> None:
    recording, analysis = run
    assert [(one.before, one.after) for one in analysis.latency] == [
        ("nic.switch", "switch.sink")
    ] * 2
    queue = recording.column("switch.sink", "queue_bytes")
    # a frame waits for the queue before it, at 0.95 Gb/s, and is then sent at 1 Gb/s
    expected = (np.mean(queue) + 750) * 8 / 0.95e9
    for one in analysis.latency:
        assert one.latency_s["mean"] == pytest.approx(expected, rel=0.1)
        assert one.latency_s["max"] <= (queue.max() + 6000) * 8 / 0.95e9
