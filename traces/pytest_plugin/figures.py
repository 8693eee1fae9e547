"""Measured figure: expected and measured value of a rule, with tolerance and its reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

PROPERTY = "tailback-figure"
"""Name of the test's property (pytest's `user_properties`) that carries a figure."""


@dataclass(frozen=True)
class Figure:
    """One figure of one target. `why` is where the tolerance comes from."""

    name: str
    target: str
    rule: str
    expected: float
    seen: float
    tolerance: float
    unit: str
    why: str

    @property
    def within_tolerance(self) -> bool:
        """True if the measured value is within the tolerance."""
        return abs(self.seen - self.expected) <= self.tolerance

    def table(self) -> dict[str, Any]:
        """The figure as plain data, for JSON and other processes, numpy's numbers as Python's."""
        fields = {
            key: value.item() if isinstance(value, np.generic) else value
            for key, value in asdict(self).items()
        }
        return fields | {"kept": bool(self.within_tolerance)}

    @classmethod
    def of(cls, table: dict[str, Any]) -> Figure:
        """The inverse of `table`."""
        return cls(**{key: value for key, value in table.items() if key != "kept"})

    def __str__(self) -> str:
        return (
            f"{self.name} on {self.target}: {self.seen:.10g} {self.unit}, expected "
            f"{self.expected:.10g} ± {self.tolerance:.4g} {self.unit} ({self.why}); {self.rule}"
        )
