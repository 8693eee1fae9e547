"""Wait reasons of a run: the machines that lag, and their stages."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.run.compiling import TYPICAL
from orchestrator.targets.software.stages import BUILDING, COMPILING
from orchestrator.testbed.agent.protocol import Pulse

SLOW = (BUILDING, COMPILING)
"""Slow stages, which a user who waits is informed of."""


def behind(pulses: Mapping[str, Pulse | None], state: str) -> list[str]:
    """The machines that have not come to a state, by their last heartbeats."""
    return [name for name, pulse in pulses.items() if pulse is None or pulse.state != state]


def phrase(pulses: Mapping[str, Pulse | None], late: list[str]) -> str:
    """Progress text, such as "building on left and right; compiling or loading on middle: ...".

    Empty where none of them does what takes long.
    """
    doing: dict[str, list[str]] = {}
    for name in late:
        pulse = pulses[name]
        if pulse is not None and pulse.stage in SLOW:
            doing.setdefault(pulse.stage, []).append(name)
    return "; ".join(_one(stage, names) for stage, names in doing.items())


def _one(stage: str, names: list[str]) -> str:
    where = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    if stage == COMPILING:
        return f"compiling or loading on {where}: {TYPICAL}"
    return f"{stage} on {where}"
