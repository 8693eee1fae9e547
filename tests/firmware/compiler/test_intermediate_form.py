"""Intermediate form of all kernels: the same as the Python kernel, widths hold, refusals."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from firmware.compiler.form_interpreter import Interpreter, wrapped
from firmware.compiler.intermediate_form import Load, Node, Operation, Store, Variable
from firmware.compiler.kernel_lowering import lower_algorithm, lower_kernel
from firmware.compiler.width_analysis import KernelBounds, bits_of, kernel_bounds
from firmware.proof.counterexample_replay import kernels_of
from firmware.proof.symbolic_state import Untranslated
from orchestrator.algorithm import Algorithm
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import Registry
from tests.firmware.compiler.kernel_calls import differences, kernel_calls

ALGORITHMS = [one for one in Registry.load().algorithms if kernels_of(one)]
CALLS = 12


@pytest.mark.parametrize("near", [0, 2**63, 2**64, 3 * 2**63, 2**65, 2**126])
def test_numbers_wrap_as_an_int64(near: int) -> None:
    for number in (*range(near - 2, near + 3), *range(-near - 2, 3 - near)):
        assert wrapped(number) == ctypes.c_int64(number).value


class BoundedInterpreter(Interpreter):
    """Interpreter that holds every number to the bounds of its variable or field."""

    bounds: KernelBounds

    def _node(self, node: Node) -> int | None:
        left = super()._node(node)
        if isinstance(node, Operation | Load):
            low, high = self.bounds.bounds(node.target)
            assert low <= self.variables[node.target] <= high, node
        elif isinstance(node, Store) and node.index is None:
            low, high = self.bounds.bounds(node.field)
            assert low <= self._value(node.value) <= high, node
        return left


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: one.name)
def test_form_computes_what_the_kernel_computes_within_the_widths(algorithm: Algorithm) -> None:
    forms = {form.event: form for form in lower_algorithm(algorithm)}
    bounds = {event: kernel_bounds(algorithm, form) for event, form in forms.items()}
    compared = 0
    for call in kernel_calls(algorithm, CALLS * len(forms)):
        interpreter = BoundedInterpreter(dict(call.before))
        interpreter.bounds = bounds[call.event]
        assert interpreter.run(forms[call.event], call.now) == call.answer, call.event
        assert not differences(interpreter.cells, call.after), call.event
        compared += 1
    assert compared >= CALLS * len(forms) // 2


class NoParameters(Params):
    """No parameters."""


def _float(state, params, queue, frame, now, message):
    return int(queue.bytes * 0.5)


def _function(state, params, queue, frame, now, message):
    return math.isqrt(queue.bytes)


def _with(state, params, queue, frame, now, message):
    with queue:
        return 0


def _keyword(state, params, queue, frame, now, message):
    return max(queue.bytes, 0, key=abs)


def _unknown_field(state, params, queue, frame, now, message):
    queue.colour = 1
    return 0


def _list(state, params, queue, frame, now, message):
    return [1, 2][frame.kind]


def _step(state, params, queue, frame, now, message):
    for _ in range(0, 10, frame.kind):
        pass
    return 0


@pytest.mark.parametrize(
    ("kernel", "reason", "offset"),
    [
        (_float, "floats", 1),
        (_function, "isqrt", 1),
        (_with, "With", 1),
        (_keyword, "keywords", 1),
        (_unknown_field, "colour", 1),
        (_list, "List", 1),
        (_step, "variable step", 1),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_refusal_names_file_and_line(kernel, reason: str, offset: int) -> None:
    algorithm = _algorithm_of(kernel)
    with pytest.raises(Untranslated) as refused:
        lower_kernel(algorithm, "arrival")
    assert refused.value.file == __file__
    assert refused.value.line == kernel.__code__.co_firstlineno + offset
    assert reason in refused.value.what


def _algorithm_of(kernel) -> Algorithm:
    state = np.dtype([("count", np.int64)])
    kernels = {"arrival": kernel}
    return Algorithm("own", "congestion_point", "of a test", NoParameters, state, kernels)


def _widths(state, params, queue, frame, now, message):
    octets = frame.length * 3
    below = -octets
    capped = min(state.count, 99)
    total = 0
    if capped >= 0:
        total = capped
    for number in range(10):
        low = number - 20
    wide = state.count + 1
    return below + total + low + wide


def test_widths_follow_from_ranges_tests_and_loops() -> None:
    algorithm = _algorithm_of(_widths)
    bounds = kernel_bounds(algorithm, lower_kernel(algorithm, "arrival"))
    found = {
        place.name.split("'")[0]: bounds.bounds(place)
        for place in bounds.reached
        if isinstance(place, Variable) and "'" in place.name
    }
    assert found["octets"] == (0, 3 * 65_535)
    assert found["below"] == (-3 * 65_535, 0)
    assert found["capped"] == (-(1 << 63), 99)
    assert found["total"] == (0, 99)
    assert found["number"] == (0, 9)
    assert found["low"] == (-20, -11)
    assert found["wide"] == (-(1 << 63), (1 << 63) - 1)
    assert [bits_of(found[name]) for name in ("octets", "below", "low", "wide")] == [19, 19, 6, 64]
