"""Result of a run: metrics from a recording, judged by the plan's expectations.

Measuring and judging are separate, because the measurements of a point are stored and judged later:
by its own plan (one seed of many), or by the plan that a mutant was derived from.
"""

from __future__ import annotations

import math
from typing import Any

from orchestrator.errors import BadInput
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.cyclic_dependencies import wait_cycles
from orchestrator.plan.external_nodes import externals
from orchestrator.plan.pause_dependencies import network
from orchestrator.plan.pfc_headroom import buffer_headrooms
from orchestrator.recording import STOPPED, MissingColumn, Recording
from orchestrator.registry import Registry
from orchestrator.run import buffer_conservation, pause_deadlocks, starved, world_invariants
from orchestrator.run.counted import counted_notes, missing_injections, plugin_notes
from orchestrator.run.error_bars import errorbars
from orchestrator.run.incomplete_schemes import find_incomplete_schemes
from orchestrator.run.marking_result import marking_result
from orchestrator.run.plugin_metrics import ENTIRE_RUN, measure_metrics
from orchestrator.run.program_fidelity import program_notes
from orchestrator.run.verdict import INCOMPLETE, INVALID, check, verdict, without_machine

QUANTITY = "feedback_unassigned"


def limiter_shortages(recording: Recording) -> list[str]:
    """Sentence for each NIC that dropped messages because it had no free limiter."""
    sentences = []
    for row, column in enumerate(recording.columns):
        if column.quantity != QUANTITY or not len(recording.times_ps):
            continue
        count = int(recording.values[-1, row])
        if count:
            which = "message" if count == 1 else "messages"
            sentences.append(
                f"{column.entity}: {count} {which} found no free limiter and slowed no flow down; "
                f"give it more (nodes.{column.node}.reaction_points)"
            )
    return sentences


CONFORMS, DEPARTS = "conforms", "departs"
DEPARTURES = {CONFORMS: 0, DEPARTS: 1}


def external_verdicts(
    registry: Registry, resolved: ResolvedPlan, recording: Recording
) -> dict[str, Any]:
    """Node -> findings of the oracle; empty for plans without external nodes."""
    found: dict[str, Any] = {}
    for rows in registry.insist("tailback_devices", resolved=resolved, recording=recording):
        for name, row in rows.items():
            found.setdefault(name, {}).update(row)
    return found


def external_metrics(
    resolved: ResolvedPlan, found: dict[str, Any]
) -> dict[str, dict[str, int | None]]:
    """Node -> its metrics by the oracle."""
    return {
        name: {"departures": DEPARTURES.get(found.get(name, {}).get("oracle", ""))}
        for name in externals(resolved.plan)
    }


def external_notes(
    resolved: ResolvedPlan, recording: Recording, found: dict[str, Any]
) -> list[str]:
    """Sentences: whether the device was present, and the oracle's finding."""
    met = (recording.fidelity or {}).get("external", {})
    return [
        *(
            f"{name} is external: what ran in its place is a {node.as_}, as the plan says of it"
            for name, node in externals(resolved.plan).items()
            if name not in met
        ),
        *(row["text"] for row in found.values() if "text" in row),
    ]


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
        **{key: found[key] for key in ("stopped_s",) if key in found},
        "metrics": found["metrics"],
        **bars,
        "units": found["units"],
        "expectations": rows,
        **({"external": found["external"]} if "external" in found else {}),
        **({"marking": marking} if (marking := marking_result(resolved, recording)) else {}),
        "fidelity": found["fidelity"],
        "deadlocks": found["deadlocks"],
        **({"incomplete": found["incomplete"]} if "incomplete" in found else {}),
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
    stopped = "stopped_s" in found
    metrics = found["metrics"]
    if stopped:  # what is expected of the whole run is not expected of its beginning
        metrics = {phase: of for phase, of in metrics.items() if phase != ENTIRE_RUN}
    rows = check(plan, metrics, found.get("uncertainties"), bare=False)
    incomplete = found.get("incomplete", ())
    return rows, verdict(rows, found["fidelity"], incomplete, stopped=stopped)


def stopped_at_ps(plan: Plan, recording: Recording) -> int | None:
    """Time of the last sample of a run that a user stopped before its end; None for others."""
    stopped = any(event.kind == STOPPED for event in recording.events)
    end = int(recording.times_ps[-1]) if len(recording.times_ps) else 0
    return end if stopped and end < plan.duration else None


def _latest_sample_ps(recording: Recording) -> int:
    """Most by which a sample was late (ps): 0 when simulated; in real time as late as a departure
    was, and by what the clocks of several machines differ."""
    late_s = (recording.fidelity or {}).get("lateness_s", {}).get("max", 0.0)
    return math.ceil(late_s * 1e12) + recording.apart_ps


def without_values(metrics: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Metrics of a phase that did not take place, or not all of it: none has a value."""
    return {entity: dict.fromkeys(values) for entity, values in metrics.items()}


def measure(registry: Registry, resolved: ResolvedPlan, recording: Recording) -> dict[str, Any]:
    """Metrics, units, error bars where a machine was measured, fidelity, deadlocks, notes.

    `incomplete`, where there is any: schemes that lack a part. Plain data, as in JSON. Adds missing
    events of deadlocks to the recording. Raises BadInput for a recording that lacks a column.
    """
    try:
        return _measure(registry, resolved, recording)
    except MissingColumn as missing:
        text = (
            f"its recording has no column {missing.quantity!r} of {missing.entity!r}, which is "
            "needed beside the others of that entity; the target has to record it"
        )
        raise BadInput(f"target {recording.target}", text) from missing


def _measure(registry: Registry, resolved: ResolvedPlan, recording: Recording) -> dict[str, Any]:
    plan = resolved.plan
    phases = {name: (phase.from_, phase.to) for name, phase in plan.phases.items()}
    measured = measure_metrics(registry, plan, recording, phases)
    metrics, units = measured.values, measured.units
    waits = network(resolved)
    deadlocks = pause_deadlocks.find_deadlocks(resolved, recording, waits)
    recording.events += pause_deadlocks.deadlock_events(deadlocks)
    recording.events += [
        e for e in pause_deadlocks.storm_events(recording) if e not in recording.events
    ]
    metrics.setdefault("run", {})["network"] = {"deadlocks": len(deadlocks)}
    seen = external_verdicts(registry, resolved, recording)
    for name, values in external_metrics(resolved, seen).items():
        metrics["run"].setdefault(name, {}).update(values)
    stopped_ps = stopped_at_ps(plan, recording)
    if stopped_ps is not None:
        metrics |= {
            name: without_values(metrics[name])
            for name, (_, to) in phases.items()
            if to > stopped_ps and name in metrics
        }
    fidelity = recording.fidelity or without_machine(recording.vanished)
    bars = errorbars(plan, fidelity, metrics)
    unaccounted = buffer_conservation.unbalanced_buffers(recording)
    incomplete, idle = find_incomplete_schemes(resolved, recording)
    reasons = [f"invalid: frames are not accounted for: {one}" for one in unaccounted]
    if recording.fidelity is None or "lateness_s" in recording.fidelity:
        late_ps = _latest_sample_ps(recording)
        broken = world_invariants.broken_in_samples(resolved, recording, late_ps)
        reasons += [f"invalid: what always holds does not: {one}" for one in broken]
    if reasons:
        fidelity = fidelity | {"verdict": INVALID, "reasons": [*fidelity["reasons"], *reasons]}
    return {
        "metrics": metrics,
        **({} if bars is None else {"uncertainties": bars}),
        "units": units,
        **({"external": seen} if seen else {}),
        "fidelity": fidelity,
        **({} if stopped_ps is None else {"stopped_s": stopped_ps / 1e12}),
        "deadlocks": [one.as_table() for one in deadlocks],
        **({"incomplete": incomplete} if incomplete else {}),
        "notes": [
            *measured.problems,
            *(f"{INCOMPLETE}: {one}" for one in incomplete),
            *idle,
            *resolved.former_names,
            *(one.text for one in deadlocks),
            *(one.text for one in ([] if deadlocks else wait_cycles(waits))),
            *(str(room) for room in buffer_headrooms(resolved) if not room.lossless),
            *(f"stopped at {e.time_ps / 1e12:g} s" for e in recording.events if e.kind == STOPPED),
            *limiter_shortages(recording),
            *counted_notes(resolved, recording),
            *missing_injections(resolved, recording),
            *plugin_notes(resolved),
            *starved.starvation_notes(resolved, recording),
            *program_notes(resolved, recording),
            *external_notes(resolved, recording, seen),
        ],
    }
