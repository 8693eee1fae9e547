"""Metric: one number of a run, declared once, with the samples and curves that belong to it.

A declaration names the metric, its unit, its meaning, how it is reduced from samples and how it is
drawn. The tables of `orchestrator.plan.metric_registry` (units, meanings, samples, curves, axis
labels), the reference page of metrics and the sampling of a run derive from the declarations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from orchestrator.plan.units import DURATION, RATE, SIZE, Quantity

if TYPE_CHECKING:
    Compute = Callable[[Any, str, tuple[int, int]], int | float | None]


@dataclass(frozen=True)
class Unit:
    """Unit of a metric; `quantity` reads its bounds, `scale` base units are one SI unit.

    Without a quantity a bound is a plain number.
    """

    symbol: str
    quantity: Quantity | None = None
    scale: int = 1


BYTES = Unit("B", SIZE)
"""Octets; bounds with a unit, such as "26KB"."""
BITS_PER_SECOND = Unit("bit/s", RATE)
"""Bits per second; bounds with a unit, such as "10Gb/s"."""
SECONDS = Unit("s", DURATION, 10**12)
"""Seconds; bounds with a unit, such as "20us"."""
RATIO = Unit("ratio")
"""A share or a quotient, without a unit."""
COUNT = Unit("count")
"""A number of frames, messages, events."""
HERTZ = Unit("Hz")
"""Per second."""
NUMBER = Unit("1")
"""Of an algorithm's own: a count, a ratio, a stage."""
UNITS = (BYTES, BITS_PER_SECOND, SECONDS, RATIO, COUNT, HERTZ, NUMBER)
SAMPLE_UNITS = {"B": BYTES, "bit/s": BITS_PER_SECOND, "1": COUNT}
"""Unit of a sampled quantity that figures draw -> the unit of its axis."""

COUNTER = "counter"
"""Reduction: the increase within the phase."""
GAUGE = "gauge"
"""Reduction: a statistic of the samples within the phase."""
HISTOGRAM = "histogram"
"""Reduction: a statistic of a histogram within the phase."""
MESSAGES = "messages"
"""Reduction: a statistic of the application messages that end within the phase."""
RUN = "run"
"""Reduction: of the whole run only."""
CAPTURES = "captures"
BASES = (COUNTER, GAUGE, HISTOGRAM, MESSAGES, CAPTURES, RUN)
"""How a metric is reduced: counter (its increase within the phase), gauge (a statistic of the
samples within the phase), histogram, messages, captures (frames that went in, or came out, within
the phase), run (of the whole run only)."""

MARKS, WATCHDOG = "marks", "watchdog"
"""Conditions of `Sampled.when` that are no flag of a congestion point's algorithm."""


@dataclass(frozen=True)
class Sampled:
    """One quantity of `samples.parquet`.

    `record_field` is its field in the entity's record (orchestrator.engine.records), `unit` that of
    the samples. A gauge is the value at the instant of the sample, a counter has counted since the
    run began.
    """

    quantity: str
    record_field: str
    unit: str
    kind: Literal["gauge", "counter"]
    meaning: str
    when: str = ""
    """Condition: the flag of the congestion point's algorithm without which a queue has no such
    samples (`trims`), or `MARKS` or `WATCHDOG`; of other entities a name of the group, for
    `assembly.sample_columns`. Empty: always sampled."""
    removed: str = ""
    """Of a count of frames that a congestion point removes from a queue: the sentence for frames
    that were removed without the flag; {} is their number."""
    drawn: bool = False
    """True if a figure can draw it over time."""
    label: str = ""
    """Name on axes; empty: the quantity's name."""


@dataclass(frozen=True)
class Curve:
    """A quantity that figures make of samples, and that is neither sampled nor a metric."""

    name: str
    unit: Unit
    label: str = ""
    over_time: bool = True
    """False: only its distribution is drawn (cdf)."""


@dataclass(frozen=True)
class Metric:
    """A number per phase and entity in `result.json`. Raises ValueError for a bad declaration.

    `basis` is one of `BASES`. A metric of a plugin also has `entities`, the kinds of entity that
    have it (`port`, `flow`, `limiter` …), and `compute`, which returns its value in `unit` (SI), or
    None where the definition gives none: compute(recording, entity, (from, to)), the phase
    [from, to) in ps.
    """

    name: str
    unit: Unit
    basis: str
    meaning: str
    sampled: Sampled | None = None
    """The sampled counter whose increase within the phase is the metric."""
    curve: bool = False
    """True if figures draw the same quantity over time, from windows of samples."""
    label: str = ""
    """Name on axes; empty: the metric's name."""
    entities: tuple[str, ...] = ()
    compute: Compute | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.basis not in BASES:
            raise ValueError(f"{self.name}: basis {self.basis!r} is none of {', '.join(BASES)}")
        if self.unit not in UNITS:
            known = ", ".join(unit.symbol for unit in UNITS)
            raise ValueError(f"{self.name}: unit {self.unit!r} is none of {known}")


Declaration = Metric | Sampled | Curve


def counter(
    name: str,
    quantity: str,
    meaning: str,
    note: str = "",
    *,
    record_field: str = "",
    when: str = "",
    removed: str = "",
    label: str = "",
) -> Metric:
    """A sampled counter of frames or messages, and the metric that is its increase in a phase.

    `note` stands behind the meaning of the metric. A counter with a `label` can be drawn over time;
    `record_field` is the quantity's name where it is not given.
    """
    sampled = Sampled(
        quantity,
        record_field or quantity,
        "1",
        "counter",
        meaning,
        when=when,
        removed=removed,
        drawn=bool(label),
        label=label,
    )
    text = f"{meaning}; {note}" if note else meaning
    return Metric(name, COUNT, COUNTER, text, sampled)


def without(declared: tuple[Declaration, ...], *names: str) -> tuple[Declaration, ...]:
    """The declarations without those of these metrics, quantities or curves."""
    return tuple(one for one in declared if name_of(one) not in names)


def name_of(one: Declaration) -> str:
    """Name of a metric, a quantity or a curve."""
    return one.quantity if isinstance(one, Sampled) else one.name
