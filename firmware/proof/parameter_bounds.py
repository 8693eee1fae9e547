"""Bounds of an algorithm's parameters, as its model declares them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError

from firmware.proof.interval_analysis import PathFacts
from firmware.proof.symbolic_state import Record
from firmware.proof.term_graph import Interval, Terms
from orchestrator.plan.algorithm_params import Params, RatioLimit
from orchestrator.plan.units import LIMIT


def record_of(params: type[Params]) -> Record:
    """Record of the parameters, every field with its bounds."""
    bounds: dict[str, Interval] = {}
    for name, model_field in params.model_fields.items():
        for part, one in zip(params.record_fields(name), _bounds(model_field), strict=True):
            bounds[part] = one
    return Record("params", "params", dict.fromkeys(bounds, ()), bounds.__getitem__)


def presets_of(params: type[Params]) -> Iterator[dict[str, int]]:
    """Parameter values of the defaults and of every preset, by `params.` and field; none for a
    model with mandatory parameters."""
    for preset in ({}, *params.presets.values()):
        try:
            record = params.model_validate(preset).record()
        except ValidationError:
            continue
        yield {f"params.{name}": int(record[name][0]) for name in record.dtype.names or ()}


def _bounds(model_field: Any) -> list[Interval]:
    kind = model_field.annotation
    if kind is bool:
        return [(0, 1)]
    if get_origin(kind) is Literal:
        return [(0, len(get_args(kind)) - 1)]
    low, high = _declared(model_field)
    if kind is Fraction:
        most = min(
            [LIMIT - 1, *(m.most for m in model_field.metadata if isinstance(m, RatioLimit))]
        )
        top = most if high is None or high > most else int(high * most)
        above = low is not None and (low > 0 or _strict(model_field))
        return [(int(above), min(most, top)), (1, most)]
    if kind is str:
        return [(0, (1 << 63) - 1), (0, 1 << 32)]  # a file: offset of its words, number of rows
    quantity = any(type(mark).__name__ == "UnitOf" for mark in model_field.metadata)
    least = 0 if quantity else 1 - LIMIT  # a size, a duration, a rate is not negative
    return [
        (
            int(max(low, least)) if low is not None else least,
            int(high if high is not None else LIMIT - 1),
        )
    ]


def _strict(model_field: Any) -> bool:
    return any(getattr(mark, "gt", None) is not None for mark in model_field.metadata)


def _declared(model_field: Any) -> tuple[Fraction | int | None, Fraction | int | None]:
    """Bounds by ge, gt, le and lt; inclusive for integers."""
    low: Any = None
    high: Any = None
    whole = model_field.annotation is int
    for mark in model_field.metadata:
        for name, by in (("ge", 0), ("gt", 1)):
            if getattr(mark, name, None) is not None:
                low = getattr(mark, name) + (by if whole else 0)
        for name, by in (("le", 0), ("lt", 1)):
            if getattr(mark, name, None) is not None:
                high = getattr(mark, name) - (by if whole else 0)
    return low, high


def relations(params: type[Params], record: Record, terms: Terms, known: PathFacts) -> None:
    """Assume the relation of numerator and denominator that a ratio's bounds imply."""
    for name, model_field in params.model_fields.items():
        if model_field.annotation is not Fraction:
            continue
        low, high = (None if b is None else Fraction(b) for b in _declared(model_field))
        parts = [
            terms.var(f"params.{part}", record.bounds(part))
            for part in (f"{name}_num", f"{name}_den")
        ]
        if high is not None:
            known.shares[id(parts[0]), id(parts[1])] = max(
                -(-high.numerator // high.denominator), 0
            )
        for bound, order in ((low, 1), (high, -1)):
            if bound is not None and bound != 0:
                num = terms.make("mul", parts[0], terms.const(bound.denominator))
                den = terms.make("mul", parts[1], terms.const(bound.numerator))
                known.assume(terms.make("le", *((den, num) if order > 0 else (num, den))))
