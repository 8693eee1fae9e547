"""Hypothesis strategies that draw sequences of events for an algorithm and its module.

Numbers lie within the bounds of the engine's records, of the module's ports and of the author;
often they lie next to a parameter or at a bound. Fields that the kernels read and the module does
not get are drawn as well: if they have an effect, that is a difference. Simple values come first.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any, Literal, get_args, get_origin

from hypothesis import reject
from hypothesis import strategies as st

from firmware.equivalence.event_sequence import Event, Sequence
from firmware.equivalence.rtl_comparison import KernelModulePair
from firmware.proof.field_ranges import LFSR, RECORDS
from orchestrator.errors import BadInput
from orchestrator.fuzz.kernel_sources import code_of
from orchestrator.fuzz.plan_minimizer import least_of
from orchestrator.fuzz.plan_strategies import uses
from orchestrator.rtl_module import ENTITY_NAMES

SIZES = (1, 4, 16, 40)
"""Least numbers of events of a sequence; the most is twice that."""
FEW = 7
STEPS_PS = (0, 8_000, 1_000_000, 100_000_000)
Bounds = dict[str, tuple[int, int]]


class SequenceStrategies:
    """Strategies for one algorithm and its module."""

    def __init__(self, pair: KernelModulePair) -> None:
        self._pair, rtl, ports = pair, pair.rtl, pair.built.ports
        self._entity = ENTITY_NAMES[pair.algorithm.kind][0]
        kernels = {**pair.algorithm.kernels, **pair.algorithm.timers}
        held = {v: ports[p].bounds for p, v in rtl.inputs.items() if isinstance(v, str)}
        given = {
            event: {v: ports[p].bounds for p, v in of.items() if isinstance(v, str) and v != "now"}
            for event, of in rtl.events.items()
        }
        self._now = min(
            (ports[p].bounds[1] for of in rtl.events.values() for p, v in of.items() if v == "now"),
            default=1 << 62,
        )
        known = {*held, *(name for of in given.values() for name in of)}
        self.held = self._bounded({k: v for k, v in held.items() if not k.startswith("params.")})
        self.events = {
            event: self._bounded(of | self._unseen(kernels[event], known))
            for event, of in given.items()
        }

    def _bounded(self, names: Bounds) -> Bounds:
        found = {}
        for name, (low, high) in names.items():
            record, _, field = name.partition(".")
            least, most = low, high
            if record == "state":
                least, most = LFSR.bounds if field in ("lfsr", "lfsr_alike") else (low, high)
            elif record in RECORDS:
                least, most = RECORDS[record][1][field].bounds
            else_low, else_high = self._pair.rtl.ranges.get(name, (low, high))
            low, high = max(low, least, else_low), min(high, most, else_high)
            if low > high:
                text = f"{name}: no number is left of its port's, its record's and its ranges"
                raise BadInput("rtl", text)
            found[name] = (low, high)
        return found

    def _unseen(self, kernel: Any, known: set[str]) -> Bounds:
        """Fields that a kernel reads, that no kernel writes, and that the module does not get."""
        read, written = set[str](), set[str]()
        for code in code_of(kernel):
            _names(code, read, written)
        found = {}
        for record in (self._entity, "frame"):
            for field in RECORDS[record][0].names or ():
                name = f"{record}.{field}"
                scalar = not RECORDS[record][0][field].shape
                if scalar and name not in known and field in read - written:
                    found[name] = RECORDS[record][1][field].bounds
        return found

    @property
    def sequences(self) -> st.SearchStrategy[Sequence]:
        """Sequences that kernels and module can process."""
        return _sequences(self)

    def params(self) -> st.SearchStrategy[dict[str, Any]]:
        """Parameters as in a plan; half of the numbers near their least, where a few events
        suffice."""
        few: dict[str, st.SearchStrategy[Any]] = {
            name: st.integers(low, low + FEW)
            for name, field in self._pair.algorithm.params.model_fields.items()
            if field.annotation is int and (low := least_of(field)) is not None
        }
        few |= {
            name: st.sampled_from(get_args(field.annotation))
            for name, field in self._pair.algorithm.params.model_fields.items()
            if get_origin(field.annotation) is Literal
        }
        narrow = {
            name: st.integers(*self._pair.rtl.ranges[f"params.{name}"])
            for name, field in self._pair.algorithm.params.model_fields.items()
            if field.annotation is int and f"params.{name}" in self._pair.rtl.ranges
        }
        chosen = st.fixed_dictionaries(
            narrow, optional={k: v for k, v in few.items() if k not in narrow}
        )
        return st.builds(lambda table, small: table | small, uses(self._pair.algorithm), chosen)

    def checked(self, table: dict[str, Any]) -> list[int]:
        """Numbers of these parameters. Rejects parameters that no plan can have."""
        try:
            model = self._pair.algorithm.params.from_table(dict(table), bare=True)
        except BadInput:
            reject()
        values = {
            f"params.{part}": number
            for name in type(model).model_fields
            for part, number in zip(
                model.record_fields(name), model.record_values(name), strict=True
            )
        }
        for name, value in values.items():
            low, high = self._pair.rtl.ranges.get(name, (value, value))
            if not low <= value <= high:
                reject()
        for port, held in self._pair.rtl.inputs.items():
            low, high = self._pair.built.ports[port].bounds
            value = held(model) if callable(held) else values.get(held, low)  # type: ignore[arg-type]
            if not low <= value <= high:
                reject()
        return list(values.values())

    @property
    def last(self) -> int:
        """Latest time (ps) that the module's port holds."""
        return min(self._now, 1 << 52)


def _names(code: CodeType, read: set[str], written: set[str]) -> None:
    for one in dis.get_instructions(code):
        if one.opname == "STORE_ATTR":
            written.add(one.argval)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            read.add(one.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _names(constant, read, written)


def _number(low: int, high: int, near: list[int]) -> st.SearchStrategy[int]:
    spots = {low, high, low + 1, high - 1, 64, 1_500}
    spots |= {one + by for one in near for by in (-1, 0, 1)}
    inside = sorted(one for one in spots if low <= one <= high)
    wide = max([*(one for one in near if one <= high), low + 100])
    few = st.integers(low, min(high, max(2 * wide, low)))
    return st.one_of(st.sampled_from(inside), few, st.integers(low, high))


@st.composite
def _sequences(draw: st.DrawFn, drawer: SequenceStrategies) -> Sequence:
    table = draw(drawer.params())
    near = drawer.checked(table)
    params = {key: value for key, value in table.items() if key != "plugin"}
    values = {name: draw(_number(*ends, near)) for name, ends in drawer.held.items()}
    kinds = sorted(drawer.events)

    @st.composite
    def event(inner: st.DrawFn) -> tuple[str, int, int, dict[str, int]]:
        kind = inner(st.sampled_from(kinds))
        brought = {name: inner(_number(*ends, near)) for name, ends in drawer.events[kind].items()}
        idle = inner(st.sampled_from([0, 0, 0, 1, 3]))
        return kind, inner(st.sampled_from(STEPS_PS)), idle, brought

    now, events = 0, []
    many = draw(st.sampled_from(SIZES))
    for kind, step, idle, brought in draw(st.lists(event(), min_size=many, max_size=2 * many)):
        now = min(now + step, drawer.last)
        events.append(Event(kind, now, idle, brought))
    return Sequence(params, values, tuple(events))
