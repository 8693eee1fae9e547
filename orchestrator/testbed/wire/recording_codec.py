"""Codec of a recording between machines: numbers as arrays, the rest as JSON.

What follows from the plan alone (columns, flows, where histograms' bins lie) is made of the plan
anew by whoever takes it in: names never travel where both ends know them.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from orchestrator.assembly.marking_histograms import COUNTS, marked_queues
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.assembly.source_activity import rates_set, sources_on
from orchestrator.assembly.timeline_commands import marks
from orchestrator.engine.node.latency_histogram import latency_edges
from orchestrator.errors import RunFailed
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.row_order import in_row_order
from orchestrator.recording import Column, Event, MessageTable, PortCapture, Recording
from orchestrator.run.fidelity_thresholds import DEGRADED, INVALID, VALID
from orchestrator.testbed.wire.envelope import WireMessage
from orchestrator.testbed.wire.envelope import sentence as told_of

KINDS = (np.dtype(np.int64), np.dtype(np.uint8))
FRAMES = ("times_ps", "lengths", "kept")
"""Of a capture, an int64 for each frame; `outgoing` and `octets` are uint8."""
MESSAGES = ("flow", "start_ps", "size", "done_ps", "ideal_ps")


class TakenEvent(WireMessage):
    """Something that happened at an instant."""

    time_ps: int = Field(ge=-(2**62), lt=2**62)
    kind: str = Field(max_length=200)
    entity: str = Field(max_length=500)
    detail: dict[str, Any]


class TakenCapture(WireMessage):
    """A port that was captured; its frames are arrays."""

    port: str = Field(max_length=500)
    dropped: int = Field(ge=0, lt=2**62)
    comment: str = Field(max_length=1000)


class MadeOn(WireMessage):
    """Description of the machine that made a recording, as a manifest has it."""

    git: dict[str, str | bool | None] | None
    machine: dict[str, str | int | float | None]
    python: str = Field(max_length=100)
    libraries: dict[str, str | None]


class Words(WireMessage):
    """All of a recording that is no array."""

    events: list[TakenEvent]
    captures: list[TakenCapture]
    epoch_ns: int = Field(ge=0, lt=2**63)
    data_frames: int = Field(ge=0, lt=2**62)
    cpu_s: float = Field(ge=0)
    wall_s: float = Field(ge=0)
    vanished: int = Field(ge=0, lt=2**62)
    fidelity: dict[str, Any] | None
    cards: dict[str, Any] | None
    made_on: MadeOn


def packed(
    resolved: ResolvedPlan, recording: Recording
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays, and the words (as `Words`, but for `made_on`). Raises RunFailed for a recording
    of columns that its plan does not have."""
    places = {column: place for place, column in enumerate(_columns(resolved))}
    if foreign := [column for column in recording.columns if column not in places]:
        what = f"{foreign[0].quantity} of {foreign[0].entity}"
        raise RunFailed(f"target {recording.target}: {what} is no column that the plan has")
    arrays = {
        "times": np.asarray(recording.times_ps, np.int64),
        "columns": np.array([places[column] for column in recording.columns], np.int64),
        "values": np.asarray(recording.values, np.int64),
        "marks": np.asarray(recording.latency_marks_ps, np.int64),
    }
    for number, entry in enumerate(Indices(resolved.plan).groups):
        if entry in recording.latency:
            arrays[f"latency{number}"] = np.asarray(recording.latency[entry], np.int64)
    for number, table in enumerate(_marking_tables(resolved)):
        if table in recording.marking:
            arrays[f"marking{number}"] = np.asarray(recording.marking[table], np.int64)
    for number, capture in enumerate(recording.captures):
        for name in FRAMES:
            arrays[f"{name}{number}"] = np.asarray(getattr(capture, name), np.int64)
        arrays[f"outgoing{number}"] = np.asarray(capture.outgoing, np.uint8)
        arrays[f"octets{number}"] = np.asarray(capture.octets, np.uint8)
    if (messages := recording.messages) is not None:
        for name in (*MESSAGES, "round", "step"):
            if (column := getattr(messages, name)) is not None:
                arrays[f"message_{name}"] = np.asarray(column, np.int64)
    words = {
        "events": [asdict(event) for event in recording.events],
        "captures": [
            {
                "port": f"{capture.node}.{capture.port}",
                "dropped": capture.dropped,
                "comment": capture.comment,
            }
            for capture in recording.captures
        ],
        "epoch_ns": recording.epoch_ns,
        "data_frames": recording.data_frames,
        "cpu_s": recording.cpu_s,
        "wall_s": recording.wall_s,
        "vanished": recording.vanished,
        "fidelity": recording.fidelity,
        "cards": recording.cards,
    }
    return arrays, words


def unpacked(
    resolved: ResolvedPlan, target: str, arrays: dict[str, np.ndarray], message: object
) -> tuple[Recording, MadeOn]:
    """The recording of a plan, and what the machine that made it says of itself.

    Raises RunFailed for anything that is no recording of this plan.
    """
    try:
        words: Words = Words.model_validate(message)
    except ValidationError as error:
        raise RunFailed(f"its results are not understood ({told_of(error)})") from None
    for name, array in arrays.items():
        if array.dtype not in KINDS:
            raise RunFailed(f"its results have {name} of {array.dtype}")
    found = _Arrays(arrays)
    indices, columns = Indices(resolved.plan), _columns(resolved)
    own = found.of("columns", None)
    if own.size and not 0 <= own.min() <= own.max() < len(columns):
        raise RunFailed("its results have columns of another plan")
    times = found.of("times", None)
    if not len(times) or len(set(own.tolist())) != len(own):
        raise RunFailed("its results have no samples, or a column twice")
    edges, due = latency_edges(), np.array(marks(resolved.plan), np.int64)
    if not np.array_equal(found.of("marks", None), due):
        raise RunFailed("its results have phases of another plan")
    recording = Recording(
        target=target,
        times_ps=times,
        columns=[columns[place] for place in own.tolist()],
        values=found.of("values", (len(times), len(own))),
        latency={
            entry: found.of(f"latency{number}", (len(due), len(edges) - 1))
            for number, entry in enumerate(indices.groups)
            if f"latency{number}" in arrays
        },
        marking={
            table: found.of(f"marking{number}", (len(due), len(COUNTS), len(edges) - 1))
            for number, table in enumerate(_marking_tables(resolved))
            if f"marking{number}" in arrays
        },
        latency_marks_ps=due,
        latency_edges_ps=edges,
        events=[Event(e.time_ps, e.kind, e.entity, e.detail) for e in words.events],
        captures=[
            _capture(number, one, found, indices) for number, one in enumerate(words.captures)
        ],
        epoch_ns=words.epoch_ns,
        data_frames=words.data_frames,
        cpu_s=words.cpu_s,
        wall_s=words.wall_s,
        vanished=words.vanished,
        fidelity=_graded(words.fidelity),
        messages=_messages(found, resolved) if "message_flow" in arrays else None,
        on=sources_on(resolved),
        changes=rates_set(resolved, indices),
        cards=words.cards,
    )
    return recording, words.made_on


class _Arrays:
    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays

    def of(
        self, name: str, shape: tuple[int, ...] | None, kind: type[np.generic] = np.int64
    ) -> np.ndarray:
        """Raises RunFailed where it is not there, or of another shape (None: one row) or kind."""
        if (array := self.arrays.get(name)) is None:
            raise RunFailed(f"its results lack {name}")
        fits = array.ndim == 1 if shape is None else array.shape == shape
        if not fits or array.dtype != np.dtype(kind):
            raise RunFailed(f"its results have {name} of {array.dtype}{array.shape}")
        return array


def _marking_tables(resolved: ResolvedPlan) -> list[str]:
    """Names of the tables of marking queues that the plan has, in its order."""
    queues = marked_queues(resolved, Indices(resolved.plan))
    return list(dict.fromkeys(queue.table for queue in queues))


def _columns(resolved: ResolvedPlan) -> list[Column]:
    """Every column that the plan has, in its order."""
    return [probe.column for probe in probes(resolved, Indices(resolved.plan))]


def _capture(number: int, message: TakenCapture, found: _Arrays, indices: Indices) -> PortCapture:
    if (port := indices.ports.get(message.port)) is None:
        raise RunFailed("its results have a capture of a port that the plan does not have")
    times = found.of(f"times_ps{number}", None)
    each = (len(times),)
    lengths, kept = (found.of(f"{name}{number}", each) for name in FRAMES[1:])
    octets = found.arrays.get(f"octets{number}", np.zeros(0, np.uint8))
    across = octets.shape[1] if octets.ndim == 2 else 0
    octets = found.of(f"octets{number}", (len(times), across), np.uint8)
    if len(kept) and not 0 <= kept.min() <= kept.max() <= across:
        raise RunFailed("its results have frames longer than what was kept of them")
    return PortCapture(
        node=port.node,
        port=port.name,
        times_ps=times,
        outgoing=found.of(f"outgoing{number}", each, np.uint8).astype(bool),
        lengths=lengths,
        kept=kept,
        octets=octets,
        dropped=message.dropped,
        comment=message.comment,
    )


def _messages(found: _Arrays, resolved: ResolvedPlan) -> MessageTable:
    flows = [(flow.entity, flow.entry) for flow in in_row_order(resolved.plan).flows()]
    flow = found.of("message_flow", None)
    if flow.size and not 0 <= flow.min() <= flow.max() < len(flows):
        raise RunFailed("its results have messages of flows that the plan does not have")
    columns = {name: found.of(f"message_{name}", flow.shape) for name in MESSAGES}
    more = {
        name: found.of(f"message_{name}", flow.shape)
        for name in ("round", "step")
        if f"message_{name}" in found.arrays
    }
    return MessageTable(flows=flows, **columns, **more)


def _graded(fidelity: dict[str, Any] | None) -> dict[str, Any] | None:
    """Raises RunFailed for what does not say what the machine did to the run."""
    if fidelity is None:
        return None
    reasons = fidelity.get("reasons")
    if (
        fidelity.get("verdict") not in (VALID, DEGRADED, INVALID)
        or not isinstance(reasons, list)
        or not all(isinstance(reason, str) for reason in reasons)
        or not _is_finite(fidelity)
    ):
        raise RunFailed("its results do not say what the machine did to the run")
    return fidelity


def _is_finite(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)
