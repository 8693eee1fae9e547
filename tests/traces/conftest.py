"""Recordings and runs with known contents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from orchestrator.recording import Column, Event, PortCapture, Recording
from traces import trace_commands
from traces.run_reader import Run

MS = 10**9
"""A millisecond in ps."""
PLAN = """\
name = "synthetic"
title = "one port, known numbers"
duration = "4s"

[nodes.switch]
kind = "switch"
congestion_point = { plugin = "qcn-cp", set_point = "33KB" }

[phases.high]
from = "1s"
to = "2s"

[phases.low]
from = "2s"
to = "3s"
"""


def record(
    times_ps: np.ndarray, series: dict[tuple[str, str, str, str, str], np.ndarray], **more: Any
) -> Recording:
    """A recording of the given series: (node, entity, quantity, unit, kind) -> samples."""
    fields: dict[str, Any] = {
        "target": "simulated",
        "latency": {},
        "latency_marks_ps": np.zeros(0, np.int64),
        "latency_edges_ps": np.zeros(1, np.int64),
        "events": [],
        "captures": [],
        "epoch_ns": 0,
        "data_frames": 0,
        "cpu_s": 1.0,
        "wall_s": 1.0,
    }
    return Recording(
        times_ps=times_ps.astype(np.int64),
        columns=[Column(*key) for key in series],
        values=np.stack([np.asarray(values, np.int64) for values in series.values()], axis=1),
        **(fields | more),
    )


@pytest.fixture
def build() -> Callable[..., Recording]:
    return record


def synthetic(seed: int = 1, flows: int = 8, bias: float = 0.0) -> Recording:
    """Four seconds of a port whose rate drops to a fifth in the third one, 1 ms samples.

    The queue wanders around 33 KB (times 1 + `bias` in the phase "low"); all flows are served
    about equally.
    """
    rng = np.random.default_rng(seed)
    n = 4001
    times = np.arange(n) * MS
    rate = np.where((times >= 2000 * MS) & (times < 3000 * MS), 200_000_000, 950_000_000)
    noise = np.convolve(rng.normal(0, 4000, n + 20), np.ones(21) / 4.6, "valid")
    queue = np.clip(33_000 + noise, 0, 150_000)
    queue[(times >= 2000 * MS) & (times < 3000 * MS)] *= 1 + bias
    queue[2003] = 149_000
    used = np.where((times > 3000 * MS) & (times < 3150 * MS), 0.21, 0.998)
    served = np.concatenate([[0], np.cumsum((rate * used)[:-1] * 1e-3 / 8)])
    port = ("switch", "switch.sink")
    series: dict[tuple[str, str, str, str, str], np.ndarray] = {
        (*port, "queue_bytes", "B", "gauge"): queue,
        (*port, "queue_max_bytes", "B", "gauge"): np.maximum.accumulate(queue),
        (*port, "service_rate", "bit/s", "gauge"): rate,
        (*port, "bytes_out", "B", "counter"): served,
        (*port, "frames_in", "frames", "counter"): served // 1500,
        (*port, "frames_out", "frames", "counter"): served // 1500,
        (*port, "frames_dropped", "frames", "counter"): np.zeros(n),
        (*port, "feedback_sent", "frames", "counter"): np.arange(n) // 3,
        (*port, "pause_sent", "frames", "counter"): np.zeros(n),
    }
    shares = np.clip(1 + np.cumsum(rng.normal(0, 0.002, (flows, n)), axis=1), 0.3, 3)
    shares /= shares.sum(axis=0)
    for index in range(flows):
        got = np.cumsum(np.diff(served, prepend=0) * shares[index])
        who = ("nic1", f"gen1.{index}")
        series[(*who, "frames_sent", "frames", "counter")] = got // 1500 + 2
        series[(*who, "frames_refused", "frames", "counter")] = got * 0
        series[(*who, "bytes_sent", "B", "counter")] = got + 3000
        series[(*who, "frames_received", "frames", "counter")] = got // 1500
        series[(*who, "bytes_received", "B", "counter")] = got
    events = [Event(2000 * MS, "set", "nodes.switch.service_rate", {"to": "200Mb/s"})]
    return record(times, series, events=events)


EXPECTATIONS = [
    ("queue_bytes.mean", "high", 30_000, 38_000, 33_000.0, True),
    ("queue_bytes.mean", "low", 20_000, 28_000, 33_100.0, False),
    ("utilization", "high", 0.99, None, 0.998, True),
]


def as_run(recording: Recording, label: str = "", verdict: str = "missed") -> Run:
    """A run of the plan above with that recording."""
    import tomllib

    from traces.metrics import compute
    from traces.resolved_plan import phases

    metrics, units = compute(recording, phases(tomllib.loads(PLAN)))
    result = {
        "tailback": 1,
        "plan": "synthetic",
        "target": recording.target,
        "seed": 1,
        "verdict": verdict,
        "metrics": metrics,
        "units": units,
        "expectations": [
            {
                "metric": metric,
                "of": "switch.sink",
                "phase": phase,
                "min": low,
                "max": high,
                "value": value,
                "unit": units[metric],
                "met": met,
                "source": "measured",
                "note": None,
            }
            for metric, phase, low, high, value, met in EXPECTATIONS
        ],
        "fidelity": {"verdict": "valid", "reasons": [], "late_p99_ns": 1200},
        "performance": {"data_frames": 1, "cpu_s": 1.0, "wall_s": 1.0, "frames_per_cpu_s": 1.0},
    }
    manifest = {"tailback": "0.1.0", "git": None, "machine": {"cpu": "<b>&"}, "absent": ["git"]}
    run = Run.of(recording, PLAN, manifest, result)
    run.label = label or run.label
    return run


@pytest.fixture
def recording() -> Recording:
    return synthetic()


@pytest.fixture
def make_run() -> Callable[..., Run]:
    def make(seed: int = 1, flows: int = 8, bias: float = 0.0, label: str = "") -> Run:
        return as_run(synthetic(seed, flows, bias), label)

    return make


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes a complete run folder and returns its path."""

    def make(name: str = "a", seed: int = 1, bias: float = 0.0) -> Path:
        from traces.samples import write_samples

        recording = synthetic(seed, bias=bias)
        run = as_run(recording)
        folder = tmp_path / name
        folder.mkdir()
        (folder / "plan.toml").write_text(PLAN)
        (folder / "manifest.json").write_text(json.dumps(run.manifest))
        (folder / "result.json").write_text(run.result.model_dump_json())
        lines = (
            json.dumps({"time_ps": e.time_ps, "kind": e.kind, "entity": e.entity, "detail": {}})
            for e in recording.events
        )
        (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
        write_samples(folder / "samples.parquet", recording)
        return folder

    return make


@pytest.fixture
def app() -> typer.Typer:
    """The command line with the commands of traces alone."""
    made = typer.Typer()
    trace_commands.register(made)
    return made


@pytest.fixture
def capture() -> Callable[..., PortCapture]:
    def make(n: int = 100, snap: int = 128, seed: int = 1, mixed: bool = True) -> PortCapture:
        rng = np.random.default_rng(seed)
        kept = rng.choice([min(60, snap), snap], n) if mixed else np.full(n, snap)
        octets = rng.integers(0, 256, (n, snap), np.uint8)
        octets[np.arange(snap) >= kept[:, None]] = 0
        return PortCapture(
            node="switch",
            port="sink",
            times_ps=np.cumsum(rng.integers(1, 10**8, n)),
            outgoing=rng.random(n) < 0.5,
            lengths=kept + rng.integers(0, 1400, n),
            kept=kept.astype(np.int64),
            octets=octets,
            dropped=7,
        )

    return make
