"""What LLVM is told of our functions: it makes use of it, and what is not so it is not told."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from llvmlite import ir  # type: ignore[import-untyped]

from orchestrator.engine.jit import DISABLED, compiled
from orchestrator.engine.numba_backend.llvm_attributes import drop_return_initialisation
from orchestrator.engine.records import record
from tests.orchestrator.engine.written import written
from tests.orchestrator.worlds import assembled, line_of_three

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")

FIELDS = '''"""Written for one test: no earlier run has kept any of it."""

from orchestrator.engine.jit import compiled


@compiled
def swap(one, value):
    """A part that is too long to be worth a call, and is called twice."""
    one.first = one.second * value
    one.second = value - one.third
    return one.first


@compiled
def twice(one, other):
    """Reads a field before and after another one was written."""
    before = one.first
    other.second = 5
    return before + one.first


@compiled
def calls(one, other):
    """Has the part in it."""
    return swap(one, 3) + swap(other, 4)
'''
TRIPLE = record("first", "second", "third")


@pytest.fixture
def fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Those functions, of which nobody has compiled any yet."""
    return written(tmp_path, "fields", FIELDS, monkeypatch)


def rows(*values: tuple[int, int, int]) -> Any:
    """Records."""
    return np.array(list(values), TRIPLE).view(np.recarray)


def code(function: Any) -> str:
    """LLVM's code of what was compiled for Python, optimised."""
    (text,) = function.dispatcher.linked.inspect_llvm().values()
    return str(text)


def body(text: str, name: str) -> str:
    """Of the function that Python's wrapper calls."""
    start = next(
        place
        for place in range(len(text))
        if text.startswith("define ", place)
        and name in text[place : text.index("(", place)]
        and "cpython" not in text[place : text.index("(", place)]
        and "cfunc" not in text[place : text.index("(", place)]
    )
    return text[start : text.index("\n}", start)]


def test_a_field_is_not_read_again_because_another_one_was_written(fields: ModuleType) -> None:
    one = rows((7, 1, 1), (9, 1, 1))
    assert fields.twice(one[0], one[1]) == 14
    assert fields.twice(one[0], one[0]) == 14
    assert body(code(fields.twice), "twice").count("load i64") == 1


def test_nobody_calls_a_part_from_outside(fields: ModuleType) -> None:
    both = rows((1, 2, 3), (4, 5, 6))
    assert fields.calls(both[0], both[1]) == 6 + 20
    assert [tuple(each) for each in both] == [(6, 0, 3), (20, -2, 6)]
    defined = [line for line in code(fields.calls).splitlines() if line.startswith("define ")]
    assert not [line for line in defined if "swap" in line and "internal" not in line]


@compiled
def same_field(one, other):
    """Two records that may be one."""
    before = one.first
    other.first = before + 1
    return before + one.first


@compiled
def by_memory(w, place):
    """A field is changed by its place in the memory, as a command does it."""
    port = w.ports[0]
    before = port.rate
    w.memory[place] = before + 5
    return before + port.rate


@compiled
def in_tables(w, place):
    """A place of a table is read again after it was written by another index."""
    before = w.tree[1, 0]
    w.tree[place, 0] = 3
    return before + w.tree[1, 0]


def test_what_may_be_the_same_is_read_again() -> None:
    one = rows((7, 0, 0), (9, 0, 0))
    assert same_field(one[0], one[1]) == 14
    assert same_field(one[0], one[0]) == 7 + 8
    assembly = assembled(line_of_three())
    assert by_memory(assembly.world, assembly.built.offset("ports", 0, "rate")) == 2 * 10**9 + 5
    first = int(assembly.world.tree[1, 0])
    assert in_tables(assembly.world, 1) == first + 3


def test_only_what_a_call_sets_is_left_unset() -> None:
    """A call by numba's convention, a variable that begins with 0, and two that another function,
    which may read them, is handed."""
    module, word = ir.Module(), ir.IntType(64)
    raised = ir.IntType(8).as_pointer()
    shape = ir.FunctionType(ir.IntType(32), [word.as_pointer(), raised.as_pointer(), word])
    callee = ir.Function(module, shape, "callee")
    function = ir.Function(module, ir.FunctionType(word, []), "caller")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    own = builder.alloca(word, name="own")
    places = builder.alloca(word), builder.alloca(raised, name="excinfo")
    for place in (own, *places):
        builder.store(place.type.pointee(None), place)
    builder.store(word(7), places[0])
    builder.call(callee, [*places, builder.load(own)])
    reader = ir.FunctionType(word, [word.as_pointer(), raised.as_pointer()])
    handed = builder.alloca(word), builder.alloca(raised)
    for place in handed:
        builder.store(place.type.pointee(None), place)
    builder.call(ir.Function(module, reader, "reader"), handed)
    builder.ret(builder.load(places[0]))
    drop_return_initialisation(module)
    stored = [
        (one.operands[1], one.operands[0].constant)
        for one in function.blocks[0].instructions
        if isinstance(one, ir.StoreInstr)
    ]
    assert stored == [(own, 0), (places[0], 7), (handed[0], 0), (handed[1], None)]
