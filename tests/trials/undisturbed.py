"""Checks of a run folder against an undisturbed run of the same plan on the simulated target.

What is done to messages of a run must not change what the run measured: rows, columns, counters,
captured frames, delays, events of the machines, files, and where each node lived.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import PortCapture, Recording
from orchestrator.run.execute_run import run
from tests.trials.scenarios import NODES
from traces.pcapng import read
from traces.samples import read_samples

SHARE, FEW, LONGEST_FRAME = 0.05, 30, 1500
"""Counters may differ by a twentieth, or by so many frames of so many octets: frames that are under
way when a machine ends are not counted there."""
TIMING = ("queue", "times_emptied", "paused", "hold", "dropped", "reordered")
"""Parts of names of columns that a busy machine may change."""
FILES = {
    *("captures", "captures/sink-switch.pcapng", "events.jsonl", "latency.parquet"),
    *("manifest.json", "plan.toml", "result.json", "samples.parquet"),
}
"""What a folder of such a run has, without a report."""
STRETCHED = 0.25
"""The share by which the time between a capture's first and last frame may differ: a busy machine
delays frames."""
EVENTS = ("ready", "running", "ended", "collected")
"""What each machine reports once, in this order."""
Found = dict[str, list[str]]


class Undisturbed:
    """A plan's run on the simulated target: the rows and the frames that are due.

    Raises AssertionError where the plan's run is no reference: it has to capture frames.
    """

    def __init__(self, text: str) -> None:
        self._recording: Recording = run(Plan.load(text), target="simulated", out=None).recording
        self._times = self._recording.times_ps
        assert all(len(one.times_ps) for one in self._recording.captures)

    def wrong(self, folder: Path, cut: bool = False) -> Found:
        """How the folder of a run that came through differs, by kind. `cut`: a wire of the run was
        cut, so that frames may be missing."""
        times, columns, values = read_samples(folder / "samples.parquet")
        found: Found = {}
        if len(times) != len(self._times):
            found["row"] = [f"{len(times)} rows, not {len(self._times)}"]
        elif late := int((np.asarray(times) != np.asarray(self._times)).sum()):
            found["row"] = [f"{late} rows have other times"]
        keys = [(c.node, c.entity, c.quantity) for c in columns]
        due = [(c.node, c.entity, c.quantity) for c in self._recording.columns]
        if set(due) - set(keys):
            found["column"] = [str(key) for key in sorted(set(due) - set(keys))]
        names = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
        if names ^ FILES:
            found["file"] = sorted(f"{folder.name}/{name}" for name in names ^ FILES)
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        rows = dict(zip(keys, np.asarray(values).T, strict=True))
        others: Found = {
            "value": [] if "column" in found or cut else self._wrong_values(rows),
            "capture": [] if cut else self._wrong_captures(folder),
            "latency": _wrong_delays(folder, rows),
            "loss": [] if cut else _phantom_losses(result),
            "event": _wrong_events(folder),
            "machines": [] if result["machines"] == NODES else [str(result["machines"])],
            "offloads": _offloads_left_on(folder),
        }
        return found | {kind: sentences for kind, sentences in others.items() if sentences}

    def _wrong_values(
        self, rows: dict[tuple[str, str, str], np.ndarray], nodes: set[str] | None = None
    ) -> list[str]:
        """Counters (of these nodes) that end elsewhere or fall, and settings that are others."""
        found = []
        for number, column in enumerate(self._recording.columns):
            key = (column.node, column.entity, column.quantity)
            due, values = self._recording.values[:, number], rows[key]
            if any(word in column.quantity for word in TIMING):
                continue
            if nodes is not None and (column.node not in nodes or "received" in column.quantity):
                continue
            few = FEW * (LONGEST_FRAME if "bytes" in column.quantity else 1) * (due[-1] > due[0])
            last, most = int(due[-1]), max(SHARE * abs(int(due[-1])), few)
            if abs(int(values[-1]) - last) > most:
                found.append(f"{key} ends at {values[-1]}, and {last} is due")
            elif (np.diff(due) >= 0).all() and (np.diff(values) < 0).any():
                found.append(f"{key} falls")
        return found

    def _wrong_captures(self, folder: Path) -> list[str]:
        """Captures whose frames are others than those due, or fewer than were counted."""
        found = []
        for due in self._recording.captures:
            name = f"{due.node}-{due.port}"
            try:
                capture = read(folder / "captures" / f"{name}.pcapng")
            except BadInput as damage:
                found.append(str(damage))
                continue
            (interface,) = capture.interfaces
            dropped = interface.dropped_by_interface or 0
            if len(capture.lengths) != (interface.received or 0) - dropped:
                found.append(
                    f"{name}: {len(capture.lengths)} frames, of {interface.received} that came "
                    f"{dropped} were dropped"
                )
            least = min((1 - SHARE) * len(due.times_ps), len(due.times_ps) - FEW)
            if not least <= len(capture.lengths) <= len(due.times_ps):
                found.append(f"{name}: {len(capture.lengths)} frames, not {len(due.times_ps)}")
            if (np.diff(capture.times_ns) < 0).any():
                found.append(f"{name}: frames are not in the order of their times")
            if dropped and len(capture.lengths) != len(due.times_ps):
                found.append(f"{name}: {len(capture.lengths)} frames, and {dropped} found it full")
            if not set(capture.lengths.tolist()) <= set(due.lengths.tolist()):
                found.append(f"{name}: lengths {sorted(set(capture.lengths.tolist()))[:5]}")
            if strange := _not_among(capture.octets, due):
                found.append(f"{name}: {strange} frames are none of the plan's, or out of order")
            count = min(len(capture.times_ns), len(due.times_ps))
            span, lasts = (
                int(times[count - 1] - times[0]) / unit if count else 0.0
                for times, unit in ((capture.times_ns, 1e9), (due.times_ps, 1e12))
            )
            if abs(span - lasts) > STRETCHED * lasts:
                found.append(f"{name}: {count} frames within {span:.3f} s, not {lasts:.3f} s")
        return found

    def upstream_wrong(self, folder: Path, nodes: set[str]) -> list[str]:
        """Counters of nodes whose frames went out whatever became of them further on."""
        _, columns, values = read_samples(folder / "samples.parquet")
        keys = [(c.node, c.entity, c.quantity) for c in columns]
        rows = dict(zip(keys, np.asarray(values).T, strict=True))
        return self._wrong_values(rows, nodes)


def _not_among(octets: np.ndarray, due: PortCapture) -> int:
    """Frames that do not follow each other among those due."""
    known = {row.tobytes(): place for place, row in enumerate(due.octets)}
    width = due.octets.shape[1]
    places = [known.get(np.pad(row, (0, max(width - len(row), 0))).tobytes(), -1) for row in octets]
    strange = places.count(-1)
    return strange + int((np.diff([place for place in places if place >= 0]) <= 0).sum())


def _wrong_delays(folder: Path, rows: dict[tuple[str, str, str], np.ndarray]) -> list[str]:
    """Delays are those of the frames that were received, each counted once."""
    table = parquet.read_table(folder / "latency.parquet").to_pydict()
    counts: Counter[str] = Counter()
    for entry, frames in zip(table["entry"], table["frames"], strict=True):
        counts[entry] += frames
    received = {e: int(v[-1]) for (_, e, q), v in rows.items() if q == "frames_received"}
    return [
        f"{entry}: delays of {counts[entry]} frames, and {frames} were received"
        for entry, frames in received.items()
        if abs(counts[entry] - frames) > SHARE * frames
    ]


def _phantom_losses(result: dict[str, Any]) -> list[str]:
    """Losses of a wire that lost none; a busy machine may drop some."""
    told = result["fidelity"]
    most = SHARE * told["frames_sent"]
    return [f"{n} frames: {kind}" for kind, n in told["lost_outside_queues"].items() if n > most]


def _wrong_events(folder: Path) -> list[str]:
    """Each machine reports each stage once, in its order."""
    told: dict[str, list[str]] = {}
    for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["kind"] == "machine":
            told.setdefault(event["entity"], []).append(event["detail"]["text"])
    found = [f"{machine}: no event" for machine in NODES.keys() - told.keys()]
    for machine, texts in told.items():
        if len(set(texts)) != len(texts) or tuple(t for t in texts if t in EVENTS) != EVENTS:
            found.append(f"{machine}: {', '.join(texts)}")
    return found


def _offloads_left_on(folder: Path) -> list[str]:
    """Offloads that are on at an interface that carries frames of the run."""
    told = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["offloads"]
    return [
        f"{place}: {name}"
        for place, interfaces in told.items()
        for interface in interfaces
        for name, state in interface.items()
        if state
    ]


def lost_on_wires(folder: Path) -> int:
    """Frames that a run says its wires lost."""
    result = json.loads((folder / "result.json").read_text())
    told = result["fidelity"]
    links = sum(int(row["lost"]) for row in told.get("links", {}).values())
    return max(links, int(told.get("lost_outside_queues", {}).get("between", 0)))
