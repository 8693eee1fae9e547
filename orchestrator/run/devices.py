"""External nodes in a result: the oracle's verdict on each, or what ran in its place."""

from __future__ import annotations

from typing import Any

from orchestrator.plan import ResolvedPlan
from orchestrator.plan.external import externals
from orchestrator.recording import Recording
from orchestrator.registry import Registry

CONFORMS, DEPARTS = "conforms", "departs"
KNOWN = {CONFORMS: 0, DEPARTS: 1}


def judged(registry: Registry, resolved: ResolvedPlan, recording: Recording) -> dict[str, Any]:
    """Node -> findings of the oracle; empty for plans without external nodes."""
    found: dict[str, Any] = {}
    for told in registry.insist("tailback_devices", resolved=resolved, recording=recording):
        for name, row in told.items():
            found.setdefault(name, {}).update(row)
    return found


def metrics(resolved: ResolvedPlan, found: dict[str, Any]) -> dict[str, dict[str, int | None]]:
    """Node -> its metrics by the oracle."""
    return {
        name: {"departures": KNOWN.get(found.get(name, {}).get("oracle", ""))}
        for name in externals(resolved.plan)
    }


def notes(resolved: ResolvedPlan, recording: Recording, found: dict[str, Any]) -> list[str]:
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
