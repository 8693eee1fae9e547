"""Active times of the source of each flow."""

from __future__ import annotations

from orchestrator.assembly.row_index import Indices
from orchestrator.plan import ResolvedPlan

Spans = list[tuple[int, int]]


def sources_on(resolved: ResolvedPlan) -> dict[str, Spans]:
    """Flow -> [from, to) in ps, in time order, of a plan with all that its timeline does."""
    plan = resolved.plan
    steps: dict[str, list[tuple[int, bool]]] = {}
    for flow in plan.flows():
        entry = plan.traffic[flow.entry]
        steps[flow.entity] = [(entry.start, True)]
        if entry.stop is not None:
            steps[flow.entity].append((entry.stop, False))
    for action in resolved.actions:
        if action.verb in ("start", "stop"):
            for name in action.entities:
                steps[name].append((action.at, action.verb == "start"))
    return {name: _spans(sorted(of, key=_instant), plan.duration) for name, of in steps.items()}


def _instant(step: tuple[int, bool]) -> int:
    return step[0]


def _spans(steps: list[tuple[int, bool]], end: int) -> Spans:
    """Intervals between each start and the stop after it, or the run's end."""
    spans: Spans = []
    since = None
    for at, on in [*steps, (end, False)]:
        if on and since is None:
            since = at
        elif not on and since is not None:
            spans.append((since, at))
            since = None
    return [span for span in spans if span[0] < span[1]]


def rates_set(resolved: ResolvedPlan, indices: Indices) -> dict[str, dict[str, Spans]]:
    """Entity -> `rate` or `service_rate` -> (ps, bit/s) of every step that sets it, in order."""
    found: dict[str, dict[str, Spans]] = {}
    for action in sorted(resolved.actions, key=lambda one: one.at):
        if action.verb != "set" or action.kind not in ("link", "queue"):
            continue
        for name in {"rate", "service_rate"} & action.values.keys():
            for entity in action.entities:
                for own in indices.buffers[entity] if action.kind == "queue" else [entity]:
                    steps = found.setdefault(own, {}).setdefault(name, [])
                    steps.append((action.at, action.values[name]))
    return found
