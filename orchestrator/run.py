"""One execution of a plan: check, run on a target, measure, judge, keep.

result = run(Plan.load("mine.toml"), target="software")
print(result.result["verdict"], result.folder)
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import Refused
from orchestrator.headroom import rooms
from orchestrator.manifest import build as build_manifest
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.progress import Progress, Report, silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.runfolder import RunFolder
from orchestrator.targets.target import Target
from orchestrator.verdict import check, unwitnessed, verdict

FORMAT = 1
"""Version of result.json."""


@dataclass
class RunResult:
    """What a run came to. `folder` is None when nothing was to be kept."""

    folder: Path | None
    result: dict[str, Any]
    recording: Recording


def run(
    plan: Plan,
    target: str | None = None,
    seed: int | None = None,
    out: Path | None = Path("runs"),
    progress: Report | None = None,
    report: bool = True,
) -> RunResult:
    """Run a plan and judge the run.

    `target` and `seed` stand in for the plan's own; `out` is where the run folder is made (None:
    nothing is written). Raises BadInput, Refused or RunFailed; then nothing is left behind.
    """
    tell = progress or silent
    registry = Registry.load()
    changes = {"target": target, "seed": seed}
    settings = [f"{key}={value}" for key, value in changes.items() if value is not None]
    resolved = (plan.with_settings(settings) if settings else plan).check(registry)
    place = registry.target(resolved.plan.target)
    _refuse(place, resolved)
    if out is None:
        recording = place.run(resolved, tell)
        return RunResult(None, _judge(registry, resolved, recording), recording)
    with RunFolder.open(out, resolved.plan.name) as folder:
        recording = place.run(resolved, tell)
        tell(Progress("writing", 0.0))
        result = _judge(registry, resolved, recording)
        _write(registry, folder, resolved, recording, result)
        if report:
            tell(Progress("drawing", 0.5, "report.html"))
            registry.call("tailback_report", folder=folder.path)
        final = folder.commit()
    tell(Progress("writing", 1.0))
    return RunResult(final, result, recording)


def _refuse(place: Target, resolved: ResolvedPlan) -> None:
    """Raises Refused when the target is not to be had here, or lacks what the plan uses."""
    if (refusal := place.probe()) is not None:
        raise refusal
    for kind, holders in resolved.uses.items():
        for holder, use in holders.items():
            if place.name not in use.algorithm.targets:
                raise Refused(
                    f"target {place.name}",
                    f"the {kind} {use.algorithm.name} of {holder} does not run on it",
                    f"It runs on: {', '.join(sorted(use.algorithm.targets))}.",
                )


def _judge(registry: Registry, resolved: ResolvedPlan, recording: Recording) -> dict[str, Any]:
    plan = resolved.plan
    phases = {name: (phase.from_, phase.to) for name, phase in plan.phases.items()}
    metrics: dict[str, Any] = {}
    units: dict[str, str] = {}
    for found, of in registry.call("tailback_metrics", recording=recording, phases=phases):
        for phase, entities in found.items():
            for entity, values in entities.items():
                metrics.setdefault(phase, {}).setdefault(entity, {}).update(values)
        units |= of
    rows = check(plan, metrics, bare=False)
    fidelity = recording.fidelity or unwitnessed(recording.vanished)
    return {
        "tailback": FORMAT,
        "plan": plan.name,
        "title": plan.title,
        "target": recording.target,
        "seed": plan.seed,
        "verdict": verdict(rows, fidelity),
        "metrics": metrics,
        "units": units,
        "expectations": rows,
        "fidelity": fidelity,
        "notes": [str(room) for room in rooms(resolved) if not room.lossless],
        "performance": {
            "data_frames": recording.data_frames,
            "cpu_s": recording.cpu_s,
            "wall_s": recording.wall_s,
            "frames_per_cpu_s": recording.data_frames / max(recording.cpu_s, 1e-9),
        },
    }


def _write(
    registry: Registry,
    folder: RunFolder,
    resolved: ResolvedPlan,
    recording: Recording,
    result: dict[str, Any],
) -> None:
    plan = resolved.plan
    folder.write_text("plan.toml", plan.to_toml())
    clock = "CLOCK_MONOTONIC" if recording.epoch_ns else "virtual"
    manifest = build_manifest(
        plan.name, recording.target, plan.seed, clock, offloads=recording.offloads
    )
    folder.write_json("manifest.json", manifest)
    lines = [json.dumps(asdict(event)) for event in recording.events]
    folder.write_text("events.jsonl", "".join(line + "\n" for line in lines))
    folder.write_json("result.json", result)
    registry.call("tailback_run_files", folder=folder.path, recording=recording, plan=plan)
