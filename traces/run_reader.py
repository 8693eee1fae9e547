"""Reader of a run folder."""

from __future__ import annotations

import json
import math
import os
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from orchestrator import bounded_file
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Plan
from orchestrator.plan.figure_tables import Figure
from orchestrator.recording import Column, Event, MessageTable, PortCapture, Recording
from traces import resolved_plan
from traces.metrics.latency_histograms import LatencyTable
from traces.metrics.sample_table import Table
from traces.result_schema import Result, with_current_metrics

FORMAT = 1
MOST_OCTETS = 2**30
"""Octets of a text file of a run folder that are read."""
LONGEST_NUMBER = 40
"""Digits."""
FILES = ("plan.toml", "manifest.json", "result.json", "samples.parquet", "events.jsonl")


@dataclass
class Run:
    """Contents of one run for reports, figures and comparisons."""

    label: str
    """Label in figures and tables."""
    plan_text: str
    manifest: dict[str, Any]
    result: Result
    times_ps: np.ndarray
    columns: list[Column]
    values: np.ndarray
    events: list[Event] = field(default_factory=list)
    messages: MessageTable | None = None
    folder: Path | None = None
    """Folder that it was read from."""
    latency: LatencyTable | None = None
    """None for a run of a version that did not keep them, and for one that has no folder yet."""
    made: Plan | None = None
    """The plan itself, where it need not be read."""
    captures: list[PortCapture] | None = None
    """Contents of its capture files, where they are still in memory."""

    @classmethod
    def of(
        cls, recording: Recording, plan_text: str, manifest: dict[str, Any], result: dict[str, Any]
    ) -> Run:
        """A run that has just ended, before its folder exists; `result` as in result.json."""
        checked = Result.model_validate(result)
        return cls(
            label=f"{checked.plan} {checked.target}",
            plan_text=plan_text,
            manifest=manifest,
            result=checked,
            times_ps=recording.times_ps,
            columns=recording.columns,
            values=recording.values,
            events=recording.events,
            messages=recording.messages,
        )

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The plan's tables, as TOML gives them."""
        return tomllib.loads(self.plan_text) if self.made is None else self.made.to_table()

    def parsed_plan(self) -> Plan:
        """The plan itself, for what depends on its network. Raises BadInput."""
        return resolved_plan.checked(self.plan_text) if self.made is None else self.made

    @cached_property
    def phases(self) -> dict[str, tuple[int, int]]:
        """[from, to) of each phase of the plan, in ps."""
        return resolved_plan.phases(self.plan)

    @cached_property
    def set_points(self) -> dict[str, int]:
        """Bytes that the congestion point of each sampled port aims at, where it has one."""
        ports = [(c.node, c.entity) for c in self.columns if c.quantity == "queue_bytes"]
        return resolved_plan.set_points(self.plan, ports)

    @cached_property
    def figures(self) -> list[Figure]:
        """Figures that the plan defines."""
        return resolved_plan.figures(self.plan)

    @cached_property
    def table(self) -> Table:
        """The samples, by entity and quantity."""
        boundaries = [time for span in self.phases.values() for time in span]
        return Table(self.times_ps, self.columns, self.values, boundaries)


def load(
    path: str | os.PathLike[str], recording: Recording | None = None, plan: Plan | None = None
) -> Run:
    """Read a run folder; `recording` and `plan` are what it is of, where they are still in memory.

    Raises BadInput with everything that is missing or damaged.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise BadInput(str(folder), "there is no such run folder")
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise BadInput(str(folder), f"is not a complete run folder: {', '.join(missing)} missing")
    from traces.latency_table import read_latency
    from traces.message_table import read_messages
    from traces.samples import read_samples  # pyarrow: only when samples are really read

    messages, latency = folder / "messages.parquet", folder / "latency.parquet"
    if recording is None:
        times, columns, values = read_samples(folder / "samples.parquet")
        sent = read_messages(messages) if messages.is_file() else None
    else:
        times, columns, values = recording.times_ps, recording.columns, recording.values
        sent = recording.messages
    result = read_result(folder / "result.json")
    run = Run(
        label=f"{result.plan} {result.target} ({_identity(folder)})",
        plan_text=_text(folder / "plan.toml"),
        manifest=read_object(folder / "manifest.json"),
        result=result,
        times_ps=times,
        columns=columns,
        values=values,
        events=read_events(folder / "events.jsonl"),
        messages=sent,
        folder=folder,
        latency=read_latency(latency) if latency.is_file() else None,
        made=plan,
        captures=None if recording is None else recording.captures,
    )
    if not len(times):
        raise BadInput(str(folder / "samples.parquet"), "holds no samples")
    try:
        run.phases, run.set_points, run.figures  # noqa: B018  (read from the plan, and cached)
    except (tomllib.TOMLDecodeError, resolved_plan.Unreadable) as error:
        raise BadInput(str(folder / "plan.toml"), str(error)) from error
    except (
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        OverflowError,
        RecursionError,
    ) as error:
        words = f"is not the plan of a run ({type(error).__name__})"
        raise BadInput(str(folder / "plan.toml"), words) from error
    return run


def _identity(folder: Path) -> str:
    """Identity of a run: its folder's name, the final one while it is still hidden."""
    return folder.absolute().name.lstrip(".").partition(".")[0]


def _text(path: Path) -> str:
    try:
        return bounded_file.read_text(path, MOST_OCTETS)
    except (OSError, ValueError) as error:
        raise BadInput(str(path), f"cannot be read ({error})") from error


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises BadInput."""
    return parse_object(str(path), _text(path))


def parse_object(source: str, text: str) -> dict[str, Any]:
    """The JSON object in a text, which messages call `source`. Raises BadInput."""
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite, parse_int=_short)
    except (ValueError, RecursionError) as error:
        raise BadInput(source, f"is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadInput(source, "must hold one JSON object")
    return value


def _finite(text: str) -> float:
    return _no_number(text) if math.isinf(float(text)) else float(text)


def _short(text: str) -> int:
    return int(text) if len(text) <= LONGEST_NUMBER else int(_no_number(text))


def _no_number(text: str) -> float:
    raise ValueError(f"{text[:20]} is no number that a run has")


def read_result(path: Path) -> Result:
    """A `result.json`, checked. Raises BadInput."""
    return parse_result(str(path), _text(path))


def parse_result(source: str, text: str) -> Result:
    """A result in a text, which messages call `source`, checked. Raises BadInput."""
    value = parse_object(source, text)
    if value.get("tailback") != FORMAT:
        raise BadInput(source, f"has format {value.get('tailback')!r}; this version reads {FORMAT}")
    try:
        return Result.model_validate(with_current_metrics(value))
    except ValidationError as error:
        problems = [
            Problem(".".join(map(str, e["loc"])), e.get("input"), e["msg"]) for e in error.errors()
        ]
        raise BadInput(source, problems) from error


def read_events(path: Path) -> list[Event]:
    """An `events.jsonl`. Raises BadInput with the line that is none."""
    events = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        try:
            one = json.loads(line, parse_constant=_no_number, parse_float=_finite, parse_int=_short)
            event = Event(int(one["time_ps"]), one["kind"], one["entity"], one.get("detail", {}))
            texts = isinstance(event.kind, str) and isinstance(event.entity, str)
            if not texts or not isinstance(event.detail, dict) or abs(event.time_ps) >= 2**63:
                raise ValueError("of another type")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadInput(f"{path}:{number}", "is not an event (a JSON object)") from error
        events.append(event)
    return events
