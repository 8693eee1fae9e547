"""Overflow-checked integers: run a real kernel, as plain Python, and report int64 overflows."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

from firmware.proof.kernel_source import python_function
from firmware.proof.term_graph import LEAST, MOST
from firmware.proof.time_limit import check_limits


class OutOfRange(ArithmeticError):
    """An operation exceeds an int64."""


class Checked(int):
    """Integer whose operations check for overflow of an int64."""


def _checked(name: str, reflected: bool) -> Callable[[Checked, Any], Any]:
    method = getattr(int, f"__{'r' if reflected else ''}{name}__")

    def operate(self: Checked, other: Any) -> Any:
        check_limits()
        divisor = self if reflected else other
        if name in ("floordiv", "mod") and divisor == 0:
            raise OutOfRange("divides by 0")
        if name in ("lshift", "rshift") and not 0 <= divisor < 64:
            raise OutOfRange(f"shifts by {int(divisor)}")
        result = method(self, int(other))
        if not LEAST <= result <= MOST:
            raise OutOfRange(f"{name} comes to {result}")
        return Checked(result)

    return operate


for _name in ["add", "sub", "mul", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor"]:
    setattr(Checked, f"__{_name}__", _checked(_name, False))
    setattr(Checked, f"__r{_name}__", _checked(_name, True))
Checked.__neg__ = lambda self: 0 - self  # type: ignore[method-assign]
Checked.__abs__ = lambda self: self if self >= 0 else -self  # type: ignore[method-assign]
Checked.__invert__ = lambda self: -1 - self  # type: ignore[method-assign]


class Cells(dict[Any, Any]):
    """Array field: 0 where nothing was written."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = shape

    def _index_key(self, index: Any) -> tuple[int, ...]:
        place = tuple(map(int, index if isinstance(index, tuple) else (index,)))
        if any(not 0 <= one < size for one, size in zip(place, self.shape, strict=True)):
            raise OutOfRange(f"has index {place} of {self.shape}")
        return place

    def __getitem__(self, index: Any) -> Checked:
        return self.get(self._index_key(index), Checked(0))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(self._index_key(index), Checked(int(value)))


class Fields:
    """Record: every field is a checked integer or an array of them, 0 by default."""

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, int]) -> None:
        for name, shape in shapes.items():
            object.__setattr__(self, name, Cells(shape) if shape else Checked(values.get(name, 0)))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(name)
        object.__setattr__(self, name, Checked(int(value)))

    def copied(self) -> Fields:
        """An independent copy."""
        made = Fields({}, {})
        for name, value in vars(self).items():
            if isinstance(value, Cells):
                cells = Cells(value.shape)
                cells.update(value)
                value = cells
            object.__setattr__(made, name, value)
        return made

    def numbers(self) -> dict[str, int]:
        return {name: int(value) for name, value in vars(self).items() if isinstance(value, int)}


def plain_python(
    function: Any, instead: Mapping[str, Any], known: dict[Any, Any] | None = None
) -> Any:
    """Plain Python version of a compiled function and its callees; `instead` replaces some by
    name."""
    known = {} if known is None else known
    inner = python_function(function)
    if not isinstance(inner, types.FunctionType):
        return function
    if inner.__module__.startswith("orchestrator.engine.jit") and inner.__name__ in instead:
        return instead[inner.__name__]
    if inner in known:
        return known[inner]
    names = dict(inner.__globals__)
    closure = inner.__closure__
    code = _with_checked_constants(inner.__code__)
    copy = types.FunctionType(code, names, inner.__name__, inner.__defaults__, closure)
    known[inner] = copy
    for name in names_in(inner.__code__):
        value = names.get(name)
        if isinstance(value, types.ModuleType):
            parts = {
                part: plain_python(getattr(value, part), instead, known)
                for part in names_in(inner.__code__)
                if hasattr(value, part)
            }
            names[name] = types.SimpleNamespace(**parts)
        elif callable(value) and not isinstance(value, type):
            names[name] = plain_python(value, instead, known)
    if closure:
        cells = [
            types.CellType(
                plain_python(cell.cell_contents, instead, known)
                if callable(cell.cell_contents)
                else cell.cell_contents
            )
            for cell in closure
        ]
        copy = types.FunctionType(code, names, inner.__name__, inner.__defaults__, tuple(cells))
        known[inner] = copy
    return copy


def _with_checked_constants(code: types.CodeType) -> types.CodeType:
    """Wrap the constants, so that operations on constants are checked and counted as well."""
    constants = (Checked(one) if type(one) is int else one for one in code.co_consts)
    return code.replace(co_consts=tuple(constants))


def names_in(code: types.CodeType) -> set[str]:
    """Names of globals and attributes in a function's code, nested functions included."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_in(constant)
    return found
