"""What a run must have measured, whatever was done to messages meanwhile: as undisturbed ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run.execute_run import run
from traces.samples import read_samples


class Undisturbed:
    """A plan's run on the simulated target: the rows and the frames that are due."""

    def __init__(self, text: str) -> None:
        self._recording: Recording = run(Plan.load(text), target="simulated", out=None).recording
        self._times = self._recording.times_ps
        self.files: set[str] = set()
        """Of the first run folder that was looked at."""

    def wrong(self, folder: Path) -> dict[str, list[str]]:
        """How the folder of a run that came through differs."""
        times, columns, _ = read_samples(folder / "samples.parquet")
        found: dict[str, list[str]] = {}
        if len(times) != len(self._times):
            found["row"] = [f"{len(times)} rows, not {len(self._times)}"]
        elif len(times) > 2:
            steps = np.diff(times)
            if steps.max() > 1.9 * np.median(steps):
                found["row"] = [f"none for {steps.max() / 1e9:.1f} ms"]
        keys = [(c.node, c.entity, c.quantity) for c in columns]
        due = [(c.node, c.entity, c.quantity) for c in self._recording.columns]
        if set(due) - set(keys):
            found["column"] = [str(key) for key in sorted(set(due) - set(keys))]
        names = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
        self.files = self.files or names
        if names ^ self.files:
            found["file"] = sorted(f"{folder.name}/{name}" for name in names ^ self.files)
        return found


def lost_on_wires(folder: Path) -> int:
    """Frames that a run says its wires lost."""
    result = json.loads((folder / "result.json").read_text())
    told = result["fidelity"]
    links = sum(int(row["lost"]) for row in told.get("links", {}).values())
    return max(links, int(told.get("lost_outside_queues", {}).get("between", 0)))
