"""Result of a run: metrics from a recording, judged by the plan's expectations.

Measuring and judging are separate, because the measurements of a point are stored and judged later:
by its own plan (one seed of many), or by the plan that a mutant was derived from.
"""

from __future__ import annotations

from typing import Any

from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.headroom import rooms
from orchestrator.plan.network import network
from orchestrator.plan.rings import rings
from orchestrator.recording import STOPPED, Recording
from orchestrator.registry import Registry
from orchestrator.run import (
    conservation,
    deadlock,
    devices,
    invariants,
    starved,
    storms,
    unassigned,
)
from orchestrator.run.counted import counted_notes
from orchestrator.run.errorbars import errorbars
from orchestrator.run.programs import program_notes
from orchestrator.run.verdict import INVALID, check, verdict, without_machine

FORMAT = 1
"""Version of result.json."""


def judge_recording(
    registry: Registry, resolved: ResolvedPlan, recording: Recording
) -> dict[str, Any]:
    """The result of a recording: metrics, expectations, fidelity, verdict."""
    plan, found = resolved.plan, measure(registry, resolved, recording)
    rows, said = judge(plan, found)
    bars = {"uncertainties": found["uncertainties"]} if "uncertainties" in found else {}
    return {
        "tailback": FORMAT,
        "plan": plan.name,
        "title": plan.title,
        "target": recording.target,
        "seed": plan.seed,
        "verdict": said,
        "metrics": found["metrics"],
        **bars,
        "units": found["units"],
        "expectations": rows,
        **({"external": found["external"]} if "external" in found else {}),
        "fidelity": found["fidelity"],
        "deadlocks": found["deadlocks"],
        "notes": found["notes"],
        "programs": [
            {
                "name": ran.name,
                "node": ran.node,
                "command": ran.command,
                "start_s": ran.start_ps / 1e12,
                "end_s": ran.end_ps / 1e12,
                "code": ran.code,
            }
            for ran in recording.programs
        ],
        "performance": {
            "data_frames": recording.data_frames,
            "cpu_s": recording.cpu_s,
            "wall_s": recording.wall_s,
            "frames_per_cpu_s": recording.data_frames / max(recording.cpu_s, 1e-9),
        },
    }


def judge(plan: Plan, found: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """A row for each expectation of a plan, and the verdict, on what `measure` found."""
    rows = check(plan, found["metrics"], found.get("uncertainties"), bare=False)
    return rows, verdict(rows, found["fidelity"])


def measure(registry: Registry, resolved: ResolvedPlan, recording: Recording) -> dict[str, Any]:
    """Metrics, units, error bars where a machine was measured, fidelity, deadlocks, notes.

    Plain data, as in JSON. Adds missing events of deadlocks to the recording.
    """
    plan = resolved.plan
    phases = {name: (phase.from_, phase.to) for name, phase in plan.phases.items()}
    metrics: dict[str, Any] = {}
    units: dict[str, str] = {}
    for found, of in registry.insist("tailback_metrics", recording=recording, phases=phases):
        for phase, entities in found.items():
            for entity, values in entities.items():
                metrics.setdefault(phase, {}).setdefault(entity, {}).update(values)
        units |= of
    waits = network(resolved)
    deadlocks = deadlock.find(resolved, recording, waits)
    recording.events += deadlock.events(deadlocks)
    recording.events += [e for e in storms.events(recording) if e not in recording.events]
    metrics.setdefault("run", {})["network"] = {"deadlocks": len(deadlocks)}
    seen = devices.judged(registry, resolved, recording)
    for name, values in devices.metrics(resolved, seen).items():
        metrics["run"].setdefault(name, {}).update(values)
    fidelity = recording.fidelity or without_machine(recording.vanished)
    bars = errorbars(plan, fidelity, metrics)
    unaccounted = conservation.broken(recording)
    reasons = [f"invalid: frames are not accounted for: {one}" for one in unaccounted]
    if recording.fidelity is None:  # the fidelity reports the distortions of a real machine
        broken = invariants.broken(resolved, recording)
        reasons += [f"invalid: what always holds does not: {one}" for one in broken]
    if reasons:
        fidelity = fidelity | {"verdict": INVALID, "reasons": [*fidelity["reasons"], *reasons]}
    return {
        "metrics": metrics,
        **({} if bars is None else {"uncertainties": bars}),
        "units": units,
        **({"external": seen} if seen else {}),
        "fidelity": fidelity,
        "deadlocks": [one.as_table() for one in deadlocks],
        "notes": [
            *(one.text for one in deadlocks),
            *(one.text for one in ([] if deadlocks else rings(waits))),
            *(str(room) for room in rooms(resolved) if not room.lossless),
            *(f"stopped at {e.time_ps / 1e12:g} s" for e in recording.events if e.kind == STOPPED),
            *unassigned.found(recording),
            *counted_notes(resolved, recording),
            *(
                f"{entry}: {text}"
                for entry, use in resolved.uses["traffic"].items()
                for text in use.params.notes()
            ),
            *starved.found(resolved, recording),
            *program_notes(resolved, recording),
            *devices.notes(resolved, recording, seen),
        ],
    }
