"""Result of a comparison."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from traces.compare import agreement_criterion

FORMAT = 1


@dataclass(frozen=True)
class Difference:
    """One metric in all runs. `agree` is None where no rule decides about the metric."""

    phase: str
    entity: str
    metric: str
    unit: str
    values: list[float | None]
    difference: float | None
    """Largest difference, in the metric's unit."""
    relative: float | None
    """The difference over the smallest value."""
    agree: bool | None


@dataclass(frozen=True)
class QueueDistance:
    """The distribution of a port's queue in one run against that in the first run."""

    phase: str
    entity: str
    run: str
    kolmogorov_smirnov: float | None
    wasserstein_bytes: float | None


@dataclass(frozen=True)
class Divergence:
    """The first phase in which runs do not agree, and from when on (None: not in any window)."""

    phase: str
    entity: str
    metric: str
    time_s: float | None


@dataclass(frozen=True)
class SeedSignificance:
    """Significance of a metric in which runs differ, see chance.py.

    `least`, `most`, `mean` are the seeds', None where too few have the metric; `pairs_apart` is the
    share of their pairs that differ; `away` is for each run how many standard deviations it lies
    from the mean.
    """

    phase: str
    entity: str
    metric: str
    least: float | None
    most: float | None
    mean: float | None
    pairs_apart: float | None
    away: list[float | None]
    by_chance: bool


@dataclass
class Comparison:
    """Result of a comparison. `notes` name obstacles to a full comparison; `chances`, where seeds
    were run, are of each metric that decides and differs."""

    runs: list[str]
    differences: list[Difference]
    queues: list[QueueDistance]
    parting: Divergence | None
    notes: list[str] = field(default_factory=list)
    chances: list[SeedSignificance] = field(default_factory=list)
    rule: str = agreement_criterion.TEXT
    tailback: int = FORMAT

    @property
    def agree(self) -> bool:
        """True if the runs agree by the rule."""
        return self.parting is None

    @property
    def by_chance(self) -> bool:
        """True if the runs differ by no more than seeds do."""
        return bool(self.chances) and all(one.by_chance for one in self.chances)

    def as_json(self) -> dict[str, Any]:
        """The comparison as plain data, for `--json`."""
        return {"agree": self.agree, "by_chance": self.by_chance} | asdict(self)
