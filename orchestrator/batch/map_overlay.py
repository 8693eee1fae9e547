"""Lines that a plan lays over the maps of its sweep, as sweep.json has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.batch.parameter_axis import Axis
from orchestrator.batch.parquet_dataset import si_of
from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import near, shown
from orchestrator.plan.sweep_table import Overlay


def overlay_lines(
    lines: Sequence[Overlay], axes: Sequence[Axis], source: str
) -> list[dict[str, Any]]:
    """`label`, `at` (parameter -> number) and `points` of each, in SI units. Raises BadInput."""
    by_label = {axis.label: axis for axis in axes}
    found = []
    for number, line in enumerate(lines):
        where = f"sweep.overlay[{number}]"
        if len(axes) < 2:
            text = "two parameters are expected, of whose plane it is one"
            raise BadInput(source, [Problem(f"{where}.points", line.label, text)])
        for key in line.at:
            if key not in by_label:
                raise BadInput(source, [Problem(f"{where}.at", key, near(key, sorted(by_label)))])
        at = {k: _number(by_label[k], text, source, f"{where}.at") for k, text in line.at.items()}
        points = [
            [
                _number(axis, text, source, f"{where}.points")
                for axis, text in zip(axes[:2], pair, strict=True)
            ]
            for pair in line.points
        ]
        found.append({"label": line.label, "at": at, "points": points})
    return found


def _number(axis: Axis, text: str, source: str, where: str) -> float:
    try:
        return axis.number(text) * si_of(axis)[1]
    except (ValueError, StopIteration):
        expected = f"a value of {axis.label} is expected"
        raise BadInput(source, [Problem(where, shown(text), expected)]) from None
