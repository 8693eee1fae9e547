"""Runs made up for the screens: fixed numbers, algorithms of the test's own, no clock."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from orchestrator import algorithm
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.console.run_data import Moment, RunData
from orchestrator.console.run_sources import take_in
from orchestrator.live import feed_messages
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.algorithm_params import Params, Rate, Size
from orchestrator.recording import Column, FrameSeen
from orchestrator.registry import UnknownAlgorithm

MS = 10**9
ROWS = 240
STEP = 10 * MS

PLAN = """
name = "demo"
title = "Two sources, one slow port"
duration = "3s"
sample_interval = "10ms"

[nodes.nic]
kind = "nic"
reaction_points = 2
reaction_point = { plugin = "test-rp" }

[nodes.switch]
kind = "switch"
service_rate = "0.95Gb/s"
buffer = "150KB"
congestion_point = { plugin = "test-cp" }
pause = { plugin = "test-pause" }

[nodes.sink]
kind = "sink"

[links.up]
ends = ["nic", "switch"]
rate = "1Gb/s"
delay = "50us"

[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"

[traffic.gen]
plugin = "test-source"
from = "nic"
to = "sink"
flows = 2

[[timeline]]
at = "0.8s"
set = "nodes.switch.service_rate"
to = "0.5Gb/s"

[phases.high]
from = "0.2s"
to = "0.8s"

[phases.half]
from = "1s"
to = "2.5s"

[[expect]]
metric = "queue_bytes.mean"
of = "switch.sink"
phase = "high"
min = "28KB"
max = "45KB"

[[expect]]
metric = "utilization"
of = "switch.sink"
phase = "half"
min = 0.99
"""


class PointParams(Params):
    """Of the congestion point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    set_point: Size = Field(33_000, gt=0, description="queue length aimed at")
    weight: int = Field(2, ge=0, le=64, description="weight of the growth")


class ReactionParams(Params):
    """Of the reaction point."""

    step: Rate = Field(5_000_000, gt=0, description="by how much the target grows")


class PauseParams(Params):
    """Of PAUSE."""

    high: Size = Field(120_000, gt=0, description="queue length that sends PAUSE")
    low: Size = Field(60_000, gt=0, description="queue length that ends it")


class SourceParams(Params):
    """Of the source."""

    rate: Rate = Field(10**9, gt=0, description="what the source sends at")


class Nothing(Params):
    """No parameters."""


STATE = np.dtype([("x", np.int64), ("byte_stage", np.int64), ("timer_stage", np.int64)])
SHOWN = (
    algorithm.Observed("byte_stage", "1", "of its byte counter", measured=False),
    algorithm.Observed("timer_stage", "1", "of its timer", measured=False),
)
FOUND = {"high": {"switch.sink": {"queue_bytes.mean": 33_400.0}}}


class Catalog:
    """Stands for the registry: the test's algorithms, and fixed answers of the hooks."""

    target_options: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.algorithms = [
            algorithm.congestion_point("test-cp", "of the test", PointParams, STATE),
            algorithm.reaction_point(
                "test-rp", "of the test", ReactionParams, STATE, columns=SHOWN
            ),
            algorithm.pause("test-pause", "of the test", PauseParams, STATE),
            algorithm.delay_line("fixed-delay", "of the test", Nothing, STATE),
            algorithm.traffic("test-source", "of the test", SourceParams, STATE),
        ]
        self.targets = [SimpleNamespace(name=name) for name in ("simulated", "software")]
        self.problems: list[str] = []

    def find(self, kind: str, name: str) -> algorithm.Algorithm:
        for one in self.algorithms:
            if (one.kind, one.name) == (kind, name):
                return one
        raise UnknownAlgorithm(
            kind, name, [one.name for one in self.algorithms if one.kind == kind]
        )

    def target(self, name: str) -> Any:
        from orchestrator.registry import Registry

        return Registry.target(self, name)  # type: ignore[arg-type]

    def plans(self) -> dict[str, Path]:
        return {}

    @property
    def metrics(self) -> dict[str, Any]:
        return {}

    def is_own(self, plugin: str) -> bool:
        return True

    def call_by_plugin(self, hook: str, **arguments: Any) -> list[tuple[str, Any]]:
        assert hook == "tailback_metrics"
        return [("made", ({p: FOUND.get(p, {}) for p in arguments["phases"]}, {}))]

    def call(self, hook: str, **arguments: Any) -> list[Any]:
        if hook == "tailback_frames":
            at = arguments["time_ps"]
            return [
                [
                    FrameSeen(at - 12_000_000, "switch.sink", True, "data", "flow 0 sequence 41"),
                    FrameSeen(at, "nic.switch", False, "CNM", "feedback 17, offset +9000 B"),
                ]
            ]
        if hook == "tailback_frame_words":
            return [("CNM", f"{arguments['length']} B, {len(arguments['octets'])} of them known")]
        return []


def resolved(text: str = PLAN) -> ResolvedPlan:
    """The plan of the screens."""
    from orchestrator.registry import Registry

    return Plan.load(text).check(Registry.load())


def shape(quantity: str, number: int, t: np.ndarray) -> np.ndarray:
    """Made-up samples of a quantity: waves and steps that differ from column to column."""
    wave = np.sin(t / 30 + number)
    after = t >= 80
    match quantity:
        case "queue_bytes":
            return 33_000 + 14_000 * wave + 40_000 * np.exp(-((t - 90) ** 2) / 60)
        case "queue_max_bytes":
            return np.full(len(t), 87_000)
        case "service_rate":
            return np.where(after, 500_000_000, 950_000_000)
        case "rate":
            return np.full(len(t), 10**9)
        case "feedback_value":
            return (20 + 18 * wave).clip(0, 63)
        case "active":
            return np.ones(len(t))
        case "current_rate":
            return np.where(after, 250e6, 475e6) + 60e6 * wave
        case "target_rate":
            return np.where(after, 260e6, 480e6) + 20e6 * wave
        case "byte_stage" | "timer_stage":
            return t // 20 % 6
        case "bytes_out" | "bytes_received" | "bytes_sent":
            return np.cumsum(np.where(after, 310_000, 590_000))
        case "frames_dropped":
            return np.where(t >= 88, 12 + (t - 88) // 20, 0)
        case "paused_ps":
            return np.clip(t - 90, 0, 12) * 10**9
        case "pause_sent":
            return np.where(t >= 90, 3, 0)
    return np.cumsum(3 + 2 * wave)


def quantity_of(column: Column) -> str:
    return column.quantity


def named(columns: Sequence[Column]) -> list[feed_messages.ColumnName]:
    """The columns as a target tells them."""
    fields = feed_messages.ColumnName.model_fields
    return [
        feed_messages.ColumnName(**{name: getattr(column, name) for name in fields})
        for column in columns
    ]


def data(stage: feed_messages.Stage = "running", rows: int = 180, name: str = "demo") -> RunData:
    """A run in that stage with so many rows of 10 ms."""
    found = RunData(name)
    found.resolved = resolved()
    indices = Indices(found.plan)
    columns = [probe.column for probe in probes(found.resolved, indices)]
    described = feed_messages.RunDescription(plan_text=PLAN, columns=named(columns))
    take_in(found, described)
    t = np.arange(rows)
    of_kind = itertools.groupby(sorted(columns, key=quantity_of), key=quantity_of)
    number = {column: n for _, same in of_kind for n, column in enumerate(same)}
    values = np.stack([shape(c.quantity, number[c], t) for c in columns], 1)
    quiet = [n for n, c in enumerate(columns) if c.entity in ("switch.nic", "switch>nic")]
    values[:, quiet] = 0
    if rows:
        found.add(t * STEP, values.astype(np.int64))
    live = stage in feed_messages.LIVE
    accepts = ["set", "act", "look", "pace", "halt", "abort"] if stage == "running" else ["abort"]
    found.state = feed_messages.RunState(
        plan="demo",
        target="simulated",
        seed=1,
        stage=stage,
        now_ps=max(rows - 1, 0) * STEP,
        duration_ps=found.plan.duration,
        pace=0.1 if live else None,
        accepts=accepts if live else [],
        machines=[
            feed_messages.Machine(
                name="rack-3",
                nodes=["nic", "switch", "sink"],
                target="simulated",
                lease_s=25.0,
                clock_error_s=1.2e-6,
            )
        ],
        reason="switch: the worker process ended (signal 9)" if stage == "failed" else None,
    )
    found.moments.append(Moment(1200 * MS, "set", "links.up.rate", "to 900Mb/s", live=True))
    found.moments.sort(key=lambda moment: moment.time_ps)
    found.lines.append(("warning", "switch.sink: its buffer may lose frames"))
    return found


class MadeSource:
    """A source that notes what it is asked, and answers as it is told."""

    def __init__(self, data: RunData) -> None:
        self.data = data
        self.process: int | None = None
        self.asked: list[feed_messages.Request] = []
        self.closed = False
        self.feed: Callable[[RunData], None] = lambda data: None
        self.refusal = ""
        self.frames: list[feed_messages.CapturedFrame] = []

    def poll(self) -> list[feed_messages.Reply]:
        self.feed(self.data)
        waiting = [request for request in self.asked if request.request.startswith("wait")]
        answers: list[feed_messages.Reply] = []
        for request in waiting:
            number = request.request
            self.asked[self.asked.index(request)] = request.model_copy(
                update={"request": number.removeprefix("wait")}
            )
            if isinstance(request, feed_messages.FramesNear) and not self.refusal:
                answers.append(feed_messages.CapturedFrames(request=number, frames=self.frames))
                continue
            answers.append(
                feed_messages.Answer(
                    request=number,
                    done=not self.refusal,
                    at_ps=None if self.refusal else self.data.now_ps,
                    text=self.refusal,
                )
            )
        return answers

    def ask(self, request: feed_messages.Request) -> str | None:
        number = f"wait{len(self.asked)}"
        self.asked.append(request.model_copy(update={"request": number}))
        return number

    def close(self) -> None:
        self.closed = True
