"""Columns of a sweep's table: selection of a point's metrics, and their names.

A column is named as expectations are: `queue_bytes.mean of switch.sink in steady`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import Plan
from orchestrator.plan.former_names import current_metric
from orchestrator.plan.input_problems import near, shown

OF, IN = " of ", " in "
BY_DEFAULT = frozenset({"port", "entry", "traffic", "network", "messages"})
"""Kinds of entities whose metrics are columns by default."""
_PATTERN = re.compile(r"(?P<metric>\S+?)?(?:\s*\bof\s+(?P<of>\S+))?(?:\s*\bin\s+(?P<phase>\S+))?")
ACCEPTED = "METRIC of ENTITY in PHASE is expected, such as 'queue_bytes.* of switch.sink in run'"


@dataclass(frozen=True)
class Pattern:
    """Pattern `METRIC of ENTITY in PHASE` with wildcards; a missing element matches anything."""

    metric: str
    of: str
    phase: str

    @classmethod
    def read(cls, text: str, said: str) -> Pattern:
        """Raises BadInput, which names the option `said`."""
        match = _PATTERN.fullmatch(text.strip())
        if match is None or not text.strip():
            raise BadInput(said, [Problem(said, shown(text), ACCEPTED)])
        metric, of, phase = (part or "*" for part in match.group("metric", "of", "phase"))
        return cls(current_metric(metric), of, phase)

    def fits(self, metric: str, of: str, phase: str) -> bool:
        """Return whether the pattern matches a metric of a point."""
        return (
            fnmatchcase(metric, self.metric)
            and fnmatchcase(of, self.of)
            and fnmatchcase(phase, self.phase)
        )


MetricFilter = Callable[[str, str, str], bool]
"""Takes metric, entity and phase; returns whether it becomes a column."""


def column_name(metric: str, of: str, phase: str) -> str:
    """The name of a column."""
    return f"{metric}{OF}{of}{IN}{phase}"


def metric_filter(texts: Sequence[str], plan: Plan, said: str) -> MetricFilter:
    """Filter by patterns; without any: queues and traffic of this plan. Raises BadInput."""
    if texts:
        patterns = [Pattern.read(text, said) for text in texts]
        return lambda *one: any(pattern.fits(*one) for pattern in patterns)
    kinds = plan.entities()
    entities = {name for name, of in kinds.items() if of & BY_DEFAULT}
    asked = {(one.metric, one.of) for one in plan.expect}
    return lambda metric, of, phase: of in entities or (metric, of) in asked


class ColumnTable:
    """Flattens rows into columns; the filter is called once per metric."""

    def __init__(self, wanted: MetricFilter) -> None:
        self._wanted = wanted
        self._names: dict[str, dict[str, dict[str, str | None]]] = {}
        """Phase, entity, metric -> the name of the column; None where it is not selected."""
        self.units: dict[str, str] = {}
        """Column -> its unit, in the order in which columns first appeared."""

    def of(self, row: Mapping[str, Any]) -> dict[str, float]:
        """Column -> number; metrics without a number are left out."""
        numbers: dict[str, float] = {}
        for phase, entities in row["metrics"].items():
            of_phase = self._names.setdefault(phase, {})
            for of, metrics in entities.items():
                names = of_phase.setdefault(of, {})
                for metric, value in metrics.items():
                    if metric not in names:
                        names[metric] = self._name(metric, of, phase, row)
                    name = names[metric]
                    if name is not None and value is not None:
                        numbers[name] = float(value)
        return numbers

    def _name(self, metric: str, of: str, phase: str, row: Mapping[str, Any]) -> str | None:
        if not self._wanted(metric, of, phase):
            return None
        name = column_name(metric, of, phase)
        self.units[name] = row["units"].get(metric, "")
        return name


def column_of(text: str, columns: Sequence[str], said: str) -> str:
    """The only column that matches a pattern. Raises BadInput, with the accepted forms."""
    if text in columns:
        return text
    pattern = Pattern.read(text, said)
    fitting = [name for name in columns if pattern.fits(*split_column(name))]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        some = "; ".join(fitting[:4])
        raise BadInput(
            said, [Problem(said, shown(text), f"one metric is expected; it fits {some}")]
        )
    raise BadInput(said, [Problem(said, shown(text), near(text, columns))])


def split_column(name: str) -> tuple[str, str, str]:
    """Metric, entity and phase of a column."""
    metric, _, rest = name.partition(OF)
    of, _, phase = rest.rpartition(IN)
    return metric, of, phase
