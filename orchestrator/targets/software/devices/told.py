"""Fidelity of runs with DUTs: losses of the interfaces that lead to them."""

from __future__ import annotations

from typing import Any

from orchestrator.run.grades import DEGRADED, VALID


def with_devices(fidelity: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """The fidelity of a run with the cables of its devices. A loss of a local interface looks
    like a loss of the device: it is reported, and such a run is not valid."""
    if not told:
        return fidelity
    reasons = [
        f"{DEGRADED}: {row['interface']}, which leads to {port}, lost or damaged {row['lost']} "
        "frames by its own counters; they look as if the device had lost them"
        for ports in told.values()
        for port, row in ports.items()
        if row["lost"] > 0
    ]
    verdict = fidelity["verdict"]
    if reasons and verdict == VALID:
        verdict = DEGRADED
    reasons = [*fidelity["reasons"], *reasons]
    return fidelity | {"verdict": verdict, "reasons": reasons, "external": told}
