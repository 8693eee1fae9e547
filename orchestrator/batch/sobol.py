"""Sobol indices: each parameter's share of a metric's variance, `--design saltelli`.

Saltelli's sample has N (D + 2) parameter points of D parameters, so that each parameter is varied
alone (first order) and held alone (total). Sample and indices are computed by SALib.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.batch.parameter_axis import Axis
from orchestrator.batch.sample_design import SAMPLE_SEED, ParameterPoint
from orchestrator.errors import BadInput, Problem

LEAST = 8
"""Least size of each of the two base samples; a power of two."""
RESAMPLED = 200
"""Bootstrap samples for the 95 % intervals."""


@dataclass(frozen=True)
class Saltelli:
    """Saltelli's sample: `rows[i]` is the parameter point of row i; equal ones are merged."""

    axes: Sequence[Axis]
    places: list[ParameterPoint]
    rows: list[int]

    @classmethod
    def of(cls, axes: Sequence[Axis], budget: int, said: str) -> Saltelli:
        """The largest that has no more rows than `budget`. Raises BadInput."""
        sample, _ = _salib()
        wide = len(axes) + 2
        count = 1 << max((budget // wide).bit_length() - 1, 0)
        if count < LEAST or len(axes) < 2:
            text = f"at least 2 parameters, and {LEAST} ({len(axes)} + 2) places are expected"
            raise BadInput(said, [Problem(said, budget, f"{text}; add --points {LEAST * wide}")])
        shares = sample(_problem(axes), count, calc_second_order=False, seed=SAMPLE_SEED)
        places: dict[tuple[str, ...], tuple[int, ParameterPoint]] = {}
        rows = []
        for row in shares:
            place = tuple(axis.picked(float(at)) for axis, at in zip(axes, row, strict=True))
            texts = tuple(value.text for value in place)
            rows.append(places.setdefault(texts, (len(places), place))[0])
        return cls(axes, [place for _, place in places.values()], rows)

    def effects(self, means: Mapping[int, float]) -> dict[str, dict[str, float]] | None:
        """Parameter -> `first`, `total` and half of the 95 % interval of each, all shares of 1.

        `means` has the metric by parameter point; None where one has none, or all are equal.
        """
        if any(place not in means for place in self.rows):
            return None
        found = np.array([means[place] for place in self.rows])
        if np.ptp(found) == 0:
            return None
        _, analyze = _salib()
        indices = analyze(
            _problem(self.axes),
            found,
            calc_second_order=False,
            num_resamples=RESAMPLED,
            seed=SAMPLE_SEED,
        )
        pairs = (("first", "S1"), ("first ±", "S1_conf"), ("total", "ST"), ("total ±", "ST_conf"))
        return {
            axis.label: {name: float(indices[theirs][at]) for name, theirs in pairs}
            for at, axis in enumerate(self.axes)
        }


def _problem(axes: Sequence[Axis]) -> dict[str, Any]:
    """Problem definition for SALib; every parameter ranges from 0 to 1."""
    return {
        "num_vars": len(axes),
        "names": [axis.label for axis in axes],
        "bounds": [[0.0, 1.0]] * len(axes),
    }


def _salib() -> tuple[Any, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            from SALib.analyze.sobol import analyze
            from SALib.sample.sobol import sample
    except ImportError:
        text = "not installed here; pip install 'tailback-testbed[sweeps]' brings what it needs"
        raise BadInput("--design saltelli", text) from None
    return sample, analyze
