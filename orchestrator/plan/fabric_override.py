"""Overrides of a plan's fabric: `--set fabric.k=8` applies before nodes and links are made.

By then the key is gone. So a plan that has a fabric remembers the layers that it was made of; the
setting goes over the uppermost, and all is made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import network_fabric
from orchestrator.plan.base_plans import Layer
from orchestrator.plan.input_problems import shown
from orchestrator.plan.setting_overrides import SET, key_segments, literal
from orchestrator.plan.table_overlay import listed_over, over

WRITTEN_OUT = (
    "there is no fabric to change: the plan has none, or it is one whose nodes and links are "
    "written out, as in a run folder; set those, or start from the plan that names the fabric"
)


def is_of_fabric(key: str) -> bool:
    """True if a dotted key is one of the fabric's."""
    return key_segments(key.strip())[0] == network_fabric.KEY


def has_fabric(layers: Sequence[Layer]) -> bool:
    """True if any of a plan's layers names one."""
    return any(network_fabric.KEY in layer.data for layer in layers)


def with_fabric_settings(layers: Sequence[Layer], settings: Sequence[str]) -> tuple[Layer, ...]:
    """The layers with settings of the fabric on top. Raises BadInput."""
    table: dict[str, Any] = {}
    problems = []
    for setting in settings:
        key, sign, text = (part.strip() for part in setting.partition("="))
        parts, value = key_segments(key), literal(text)
        if not layers:
            problems.append(Problem(key, shown(text), WRITTEN_OUT))
        elif not sign or len(parts) != 2:
            accepted = f"{network_fabric.KEY}.KEY=VALUE is expected, such as fabric.rate=25Gb/s"
            problems.append(Problem(key, shown(text), accepted))
        else:
            table[parts[1]] = value
    if problems:
        raise BadInput(SET, problems)
    top = layers[-1]
    data = {**top.data, network_fabric.KEY: over(top.data.get(network_fabric.KEY, {}), table)}
    return (*layers[:-1], replace(top, data=data))


def combined_layers(layers: Sequence[Layer], settings: Sequence[str]) -> dict[str, Any] | None:
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
        for part in reversed(key_segments(key.strip())):
            table = {part: table}
        found = over(found, table)
    return {key: value for key, value in found.items() if key != "base"}
