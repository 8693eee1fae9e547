"""Definitions of the functions that a proof takes as uninterpreted
(firmware.proof.uninterpreted_functions).

This module uses firmware.proof.kernel_bitvectors for the definition of `lfsr_next`; that uses the
names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firmware.proof.kernel_bitvectors import function_of
from firmware.proof.uninterpreted_functions import WIDTH, Definition, uninterpreted
from firmware.proof.z3_solver import cached_per_context, z3
from orchestrator.engine.lfsr import lfsr_next


@cached_per_context
def _function_definitions() -> list[tuple[Any, Any]]:
    """Definition of each function, of the arguments Var(0), Var(1)."""
    z, sort = z3(), z3().BitVecSort(WIDTH)
    one, other = z.BitVec("argument!0", WIDTH), z.BitVec("argument!1", WIDTH)
    word = (0, (1 << 32) - 1)
    advanced = function_of(lfsr_next, [(one, word)])
    width = z.UDiv(one * 30, z.BitVecVal(100, WIDTH))
    share = z.LShR(width, 16) * other + z.LShR((width & 0xFFFF) * other, 16)
    exact = {
        ("product", 2): one * other,
        ("quotient", 2): z.UDiv(one, other),
        ("drawn", 1): advanced.values["result"],
        ("spread", 2): one - z.LShR(width, 1) + share,
    }
    places = [(one, z.Var(0, sort)), (other, z.Var(1, sort))]
    return [(uninterpreted(*key), z.substitute(body, *places)) for key, body in exact.items()]


def with_definitions(expression: Any) -> Any:
    """Substitute the definition for every uninterpreted function."""
    return z3().substitute_funs(expression, *_function_definitions())


def same_sum(one: Any, other: Any) -> Any:
    """A fact of products: two sums of products that are the same polynomial. Raises AssertionError.

    It is checked with multiplications in the place of the names, which a ring of any width allows.
    """
    z = z3()
    left = z.simplify(with_definitions(one) - with_definitions(other), som=True)
    same = z.is_bv_value(left) and left.as_long() == 0
    assert same, f"no identity: {one} and {other}"
    return one == other


@dataclass
class EvaluatedModel:
    """Solver's model in which variables have the values of the terms that they replace."""

    model: Any
    definitions: list[Definition]
    _numbers: list[tuple[Any, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for variable, term in self.definitions:
            value = self.of(term)
            inner = variable
            while inner.num_args():  # of a vector that was made wider
                inner = inner.arg(inner.num_args() - 1)
            low = z3().Extract(inner.size() - 1, 0, value)
            self._numbers.append((inner, z3().simplify(low)))

    def of(self, expression: Any) -> Any:
        """Value of an expression; free variables as in the model."""
        put = z3().substitute(with_definitions(expression), *self._numbers)
        return self.model.eval(put, model_completion=True)

    def number(self, vector: Any) -> int:
        return int(self.of(vector).as_long())
