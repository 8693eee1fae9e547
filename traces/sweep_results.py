"""Reader of a sweep's folder: sweep.json, and places.parquet column by column."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator import bounded_file
from orchestrator.batch.parquet_dataset import HALF, PARAMETER_POINTS
from orchestrator.errors import BadInput
from traces import arrow_arrays

MOST_OCTETS = 2**26
"""Octets of sweep.json that are read."""
LOG_FROM = 20
"""A list of numbers lies on a logarithmic axis when its last is so many times its first."""


@dataclass(frozen=True)
class SweepAxis:
    """One axis of a sweep: `at` float64[n], where each place lies along it, as it is drawn."""

    key: str
    at: np.ndarray
    texts: dict[float, str]
    """Positions of ticks, and their texts."""
    is_log: bool = False

    @property
    def values(self) -> np.ndarray:
        """Distinct positions of the parameter points, in order."""
        return np.unique(self.at)


class SweepResults:
    """A sweep as it was kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            text = bounded_file.read_text(folder / "sweep.json", MOST_OCTETS)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise BadInput(str(folder), f"no sweep is there: {reason}") from None
        try:
            self.result: dict[str, Any] = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(str(folder / "sweep.json"), f"is not JSON ({error})") from None

    def column(self, name: str) -> np.ndarray:
        """Column of the parameter points; NaN where a point has no number."""

        table = arrow_arrays.read_parquet(self.folder / PARAMETER_POINTS, columns=[name])
        return np.asarray(table.column(0).to_numpy(zero_copy_only=False), float)

    def mean(self, name: str) -> np.ndarray:
        """Mean of a metric over the seeds, by parameter point."""
        return self.column(name)

    def half(self, name: str) -> np.ndarray:
        """Half of the 95 % interval of the same; NaN with one seed."""
        return self.column(name + HALF)

    @property
    def is_grid(self) -> bool:
        """True if the parameter points are all combinations."""
        return bool(self.result["design"] == "grid")

    @property
    def halved(self) -> int:
        """Number of parameters that an adaptive search bisected; 0 where there was none."""
        return sum(axis.get("halved", False) for axis in self.result["axes"])

    @cached_property
    def sweep_axes(self) -> list[SweepAxis]:
        """Axes of the sweep; those that a search bisected come first."""
        axes = sorted(self.result["axes"], key=lambda axis: not axis.get("halved"))
        return [self._sweep_axis(axis) for axis in axes]

    def _sweep_axis(self, axis: dict[str, Any]) -> SweepAxis:

        from orchestrator.terminal.format_output import quantity

        found = (
            arrow_arrays.read_parquet(self.folder / PARAMETER_POINTS, columns=[axis["key"]])
            .column(0)
            .to_pylist()
        )
        if axis["words"]:
            words = {word: float(at) for at, word in enumerate(dict.fromkeys(found))}
            at = np.array([words[word] for word in found], float)
            return SweepAxis(axis["key"], at, {where: word for word, where in words.items()})
        at = np.array(found, float)
        texts = {float(value): quantity(float(value), axis["unit"]) for value in np.unique(at)}
        if _is_log(axis, at):
            return SweepAxis(
                axis["key"], np.log10(at), {np.log10(v): t for v, t in texts.items()}, True
            )
        return SweepAxis(axis["key"], at, texts)


def _is_log(axis: dict[str, Any], at: np.ndarray) -> bool:
    if not len(at) or at.min() <= 0:
        return False
    return axis["spacing"] == "log" or (
        axis["spacing"] == "list" and at.max() / at.min() >= LOG_FROM
    )
