"""What is left out for plain functions is there for others, and a part is lowered once."""

from __future__ import annotations

import gc
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numba.core import types

from orchestrator.engine.jit import DISABLED, compiled, inlined
from orchestrator.engine.numba_backend.fast_lowering import SKIPPED_PASSES, needed
from tests.orchestrator.engine.written import written

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


PARTS = '''"""Written for one test: no earlier run has kept any of it."""

from orchestrator.engine.jit import compiled


@compiled
def scaled(value, factor):
    """A part that is called with constants and without."""
    return value * factor


@compiled
def sums(value):
    """Calls it with three constants and a variable."""
    return scaled(value, 2) + scaled(value, 3) + scaled(4, 5) + scaled(value, value)
'''


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Those functions, of which nobody has compiled any yet."""
    return written(tmp_path, "parts", PARTS, monkeypatch)


@compiled
def at(pair, place):
    """Only a constant can say which of two types this returns."""
    return pair[place]


@compiled
def second(value):
    """Calls it with a constant."""
    return at((value, 0.5), 1)


def closure(value):
    """Needs more passes than a plain function."""

    def twice(one):
        return 2 * one

    return twice(value)


def strict(value):
    """So does this."""
    if value < 0:
        raise ValueError("below 0")
    return value + 1


def test_one_function_for_all_constants(parts: ModuleType) -> None:
    assert parts.sums(7) == 7 * 2 + 7 * 3 + 20 + 49
    assert list(parts.scaled.dispatcher.overloads) == [(types.int64, types.int64)]


def test_no_whole_of_what_python_never_called(parts: ModuleType) -> None:
    parts.sums(7)
    assert "dispatcher" not in vars(parts.sums)  # an entry is called by its address
    assert parts.sums(np.int32(7)) == 104
    assert "linked" in vars(parts.sums.dispatcher)  # numbers of another width are numba's to take
    assert "linked" not in vars(parts.scaled.dispatcher)


def test_a_constant_where_nothing_else_will_do() -> None:
    assert second(7) == 0.5


@pytest.mark.parametrize("function", [closure, strict])
def test_others_have_all_their_passes(function) -> None:
    passes = [(one, "") for one in SKIPPED_PASSES]
    assert needed(passes, at.py_func.__code__) == []
    assert needed(passes, function.__code__) == passes
    made = compiled(function)
    assert made(3) == function(3)
    if function is strict:
        with pytest.raises(ValueError, match="below 0"):
            made(-1)


def test_small_functions_are_put_into_their_callers_and_others_are_not() -> None:
    assert inlined(closure).dispatcher.targetoptions["forceinline"] is True
    assert compiled(closure).dispatcher.targetoptions["forceinline"] is False


def test_garbage_is_looked_for_again() -> None:
    assert gc.isenabled()
    assert compiled(lambda value: value + 5)(1) == 6
    assert gc.isenabled()
