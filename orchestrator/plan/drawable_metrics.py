"""Quantities that a figure can draw (over time, as distribution, as metric), and their units."""

from __future__ import annotations

from orchestrator.plan.figure_tables import Figure
from orchestrator.plan.metric_registry import (
    BITS_PER_SECOND,
    BYTES,
    COUNT,
    CURVES,
    DISTRIBUTIONS,
    HERTZ,
    NUMBER,
    OF_A_PLUGIN,
    RATIO,
    SECONDS,
    Unit,
    metrics_by_kind,
)
from orchestrator.plan.metric_registry import bound as read_bound
from orchestrator.plan.observables import unit_of as unit_of_brought
from orchestrator.plan.units import UnitError, parse_ratio

OF = " of "
"""Between an entity and the plan in whose run it is."""
SCALES: dict[str, dict[str, float]] = {
    BYTES.symbol: {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9},
    BITS_PER_SECOND.symbol: {"b/s": 1.0, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12},
    SECONDS.symbol: {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
    HERTZ.symbol: {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6},
    RATIO.symbol: {"%": 0.01, "": 1.0},
    COUNT.symbol: {"": 1.0},
    NUMBER.symbol: {"": 1.0},
}
"""Unit of a quantity -> what an axis may count in, ascending -> the quantity's units of one."""


def drawn_of(figure: Figure) -> dict[str, dict[str, Unit]]:
    """Kind of entity -> what this kind of figure can draw of it."""
    if figure.kind == "cdf":
        return DISTRIBUTIONS
    return CURVES if figure.x == "time" else metrics_by_kind()


def unit_of(figure: Figure) -> Unit:
    """The unit of what a figure draws. Raises KeyError when nothing has such a thing."""
    for units in drawn_of(figure).values():
        if figure.y in units:
            return units[figure.y]
    if OF_A_PLUGIN.fullmatch(figure.y):
        return unit_of_brought(figure.y)
    raise KeyError(figure.y)


def value_of(value: object, unit: Unit) -> float:
    """A published value, or an end of an axis, in the unit of the quantity. Raises UnitError."""
    if unit is RATIO and isinstance(value, str):
        return float(parse_ratio(value))
    if unit.quantity is None and isinstance(value, str):
        raise UnitError("a number without unit is expected")
    return float(read_bound(value, unit))


def scale_of(unit: Unit, largest: float) -> tuple[str, float]:
    """(name, quantity's units of one) of the axis unit in which `largest` is at least 1."""
    if unit is RATIO:
        return "", 1.0
    scales = SCALES[unit.symbol]
    fitting = [(name, one) for name, one in scales.items() if largest >= one * (1 - 1e-9)]
    return fitting[-1] if fitting else next(iter(scales.items()))
