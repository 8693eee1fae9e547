"""Sequence of events: parameters, numbers that stay constant, and the timed events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """One call of a kernel."""

    event: str
    now: int = 0
    """Ps."""
    idle: int = 0
    """Clocks in which nothing happens before it."""
    values: dict[str, int] = field(default_factory=dict)
    """Numbers that it brings along, by name; all others are what they were."""


@dataclass(frozen=True)
class Sequence:
    """What both, kernels and module, go through from their beginning on."""

    params: dict[str, Any]
    """As a plan has them, numbers in base units."""
    values: dict[str, int]
    """Numbers at the beginning: a seed, fields of the entity."""
    events: tuple[Event, ...]
