"""Overrides of a plan's fabric: `--set fabric.k=8` applies before nodes and links are made.

By then the key is gone. So a plan that has a fabric remembers the layers that it was made of; the
setting goes over the uppermost, and all is made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import fabric
from orchestrator.plan.layers import Layer
from orchestrator.plan.merge import listed_over, over
from orchestrator.plan.mistakes import shown
from orchestrator.plan.settings import SET, literal, parts_of

WRITTEN_OUT = (
    "there is no fabric to change: the plan has none, or it is one whose nodes and links are "
    "written out, as in a run folder; set those, or start from the plan that names the fabric"
)


def is_of_fabric(key: str) -> bool:
    """True if a dotted key is one of the fabric's."""
    return parts_of(key.strip())[0] == fabric.KEY


def has_fabric(layers: Sequence[Layer]) -> bool:
    """True if any of a plan's layers names one."""
    return any(fabric.KEY in layer.data for layer in layers)


def rewired(layers: Sequence[Layer], settings: Sequence[str]) -> tuple[Layer, ...]:
    """The layers with settings of the fabric on top. Raises BadInput."""
    table: dict[str, Any] = {}
    problems = []
    for setting in settings:
        key, sign, text = (part.strip() for part in setting.partition("="))
        parts, value = parts_of(key), literal(text)
        if not layers:
            problems.append(Problem(key, shown(text), WRITTEN_OUT))
        elif not sign or len(parts) != 2:
            accepted = f"{fabric.KEY}.KEY=VALUE is expected, such as fabric.rate=25Gb/s"
            problems.append(Problem(key, shown(text), accepted))
        else:
            table[parts[1]] = value
    if problems:
        raise BadInput(SET, problems)
    top = layers[-1]
    data = {**top.data, fabric.KEY: over(top.data.get(fabric.KEY, {}), table)}
    return (*layers[:-1], replace(top, data=data))


def in_one(layers: Sequence[Layer], settings: Sequence[str]) -> dict[str, Any] | None:
    """Data of one plan that may stand for the layers with settings; None where none may.

    Whoever asks compares: ranges that overlap between layers may come out otherwise.
    """
    found: dict[str, Any] = {}
    for layer in layers:
        if layer.scale != 1 or "without" in layer.data:
            return None
        for key, value in layer.data.items():
            below = found.get(key)
            if isinstance(below, list) and isinstance(value, list):
                found[key] = listed_over(key, below, value)
            else:
                found[key] = over(below, value)
    for setting in settings:
        key, _, text = setting.partition("=")
        table = literal(text.strip())
        for part in reversed(parts_of(key.strip())):
            table = {part: table}
        found = over(found, table)
    return {key: value for key, value in found.items() if key != "base"}
