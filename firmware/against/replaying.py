"""Replay of a stored sequence, called by the regression tests that the hunt writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firmware.against.comparing import paired
from firmware.against.written import sequence_of
from orchestrator.hunt.against import bring
from orchestrator.registry import Registry


def difference_of(file: Path, kind: str, name: str, sequence: dict[str, Any]) -> str | None:
    """First difference of a file's algorithm from its module on a sequence; None: equal.

    Raises BadInput, and Refused without a simulator.
    """
    registry = Registry.load()
    if not any((one.kind, one.name) == (kind, name) for one in registry.algorithms):
        bring(file)
    with paired(registry.find(kind, name)) as pair:
        found = pair.difference(sequence_of(sequence))
    return None if found is None else found.text
