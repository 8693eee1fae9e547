"""Sequence of events: parameters, numbers that stay constant, and the timed events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """One call of a kernel."""

    event: str
    now: int = 0
    """Time (ps)."""
    idle: int = 0
    """Idle clocks before it."""
    values: dict[str, int] = field(default_factory=dict)
    """New numbers by name; all others stay."""


@dataclass(frozen=True)
class Sequence:
    """Stimulus of kernels and module from reset on."""

    params: dict[str, Any]
    """Parameters as in a plan, numbers in base units."""
    values: dict[str, int]
    """Numbers at the beginning: a seed, fields of the entity."""
    events: tuple[Event, ...]
