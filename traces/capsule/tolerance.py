"""Tolerances by which a capsule's values and re-run values count as equal.

Exactly, where nothing disturbs a run (`simulated`). In real time by the rule of `compare`: mean
queues and utilisations of ports decide, and whether expectations are met. Where there are several
seeds in real time, by how these spread (`spread`). Or all to within a stated share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from traces.compare import agreement_criterion
from traces.metrics.sample_table import RUN_PHASE

Number = float | int | None
EXACT, COMPARE, RELATIVE, SPREAD = "exact", "compare", "relative", "spread"

SPREAD_TEXT = (
    "the means of the seeds are within what these spread by (Student's t, 99 % for all figures "
    "together); mean queues also within 10 % or 1500 B, utilisations within 0.01"
)


@dataclass(frozen=True)
class Tolerance:
    """Accepted difference of values. `share` is of the larger one, for `relative`."""

    kind: Literal["exact", "compare", "relative", "spread"]
    share: float = 0.0

    @classmethod
    def of(cls, target: str, share: float | None, seeds: bool = False) -> Tolerance:
        """The stated tolerance, else the target's default; `seeds`: there are several of them."""
        if share is not None:
            return cls("relative", share)
        if target == "simulated":
            return cls("exact")
        return cls("spread" if seeds else "compare")

    @property
    def text(self) -> str:
        """The tolerance as text."""
        if self.kind == EXACT:
            return "exactly"
        if self.kind == RELATIVE:
            return f"within {self.share * 100:g} % of the larger one"
        return SPREAD_TEXT if self.kind == SPREAD else agreement_criterion.TEXT

    def numbers(self, packed: Number, here: Number) -> bool:
        """True if two numbers are equal, by `exact` or `relative`."""
        if packed is None or here is None:
            return packed is here
        if self.kind == RELATIVE:
            return abs(packed - here) <= self.share * max(abs(packed), abs(here))
        return packed == here

    def metric(self, name: str, packed: Number, here: Number, decides: bool) -> bool | None:
        """True if a metric holds; None where it is not judged. `decides`: by `compare` it may."""
        if self.kind != COMPARE:
            return self.numbers(packed, here)
        if not decides or name not in agreement_criterion.RULES:
            return None
        if packed is None or here is None:
            return packed is here
        return agreement_criterion.RULES[name]([packed, here])

    def expectation(self, packed: dict[str, Any], here: dict[str, Any]) -> bool:
        """Same band and same outcome; by `exact` and `relative` also the same value."""
        bands = all(packed.get(key) == here.get(key) for key in ("min", "max", "of_seeds"))
        open_ = packed.get("uncertain") or here.get("uncertain")
        judged = bool(open_ and self.kind != EXACT) or packed["met"] == here["met"]
        alike = self.kind == COMPARE or self.numbers(packed["value"], here["value"])
        return bands and judged and alike


def decides(metrics: dict[str, Any], phase: str, entity: str) -> bool:
    """True if `compare` judges the metric: ports with a queue, in the phases, and in the whole run
    if there are none."""
    phases = set(metrics) - {RUN_PHASE}
    return (phase in phases or not phases) and agreement_criterion.QUEUE in metrics[phase].get(
        entity, {}
    )
