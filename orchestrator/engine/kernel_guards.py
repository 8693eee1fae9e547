"""Guards of kernels at run time: answers and values without a meaning, divisions by 0, overflows of
int64, indices beyond an array.

A compiled kernel is called off the GIL by address, so it cannot raise. It notes its first fault in
one row of numbers (`CELL`), goes on with 0 (an overflow: with the number that is left; an index:
with the first place; a field of the engine: with the value that it had), and the run is refused
where Python looks next (`refuse_fault`). Uncompiled, a kernel raises at once. What compiled code
does about it stands in `engine.numba_backend.guarded_lowering`.

Sums are not checked: only terms that no product or shift made so large come near 2^63.

Guarded are the kernels and the compiled functions of plugins that they call. The engine's own
functions keep numba's arithmetic.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from orchestrator.engine import kernel_limits
from orchestrator.engine.kernel_limits import Limits
from orchestrator.engine.kernel_mistakes import KernelMistake, accepted_answers, zero_divisor
from orchestrator.engine.settable_fields import BOUNDS
from orchestrator.errors import BadInput

CELL_SYMBOL = "tailback_kernel_fault"
"""Name by which compiled kernels know the row."""
CELL_WORDS = 6
FREE, ANSWER, DIVISION, OVERFLOW, SHIFT, SHIFT_BACK, INDEX = range(7)
VALUE, MESSAGE_VALUE, MESSAGE_KIND, SEGMENT, TIMER_PLACE = range(7, 12)
"""Word 0, what happened; then the line, counted from the first line of the function, two operands
(the answer and 0; a value and the number of its bounds), and address and length of
`module:function`."""
UNGUARDED = ("orchestrator.", "traces.", "firmware.")
"""Beginnings of modules whose compiled functions are no part of a plugin's kernel."""

CELL = np.zeros(CELL_WORDS, np.int64)
limits_of_kernels: dict[Callable[..., Any], Limits] = {}
"""Kernel that is being compiled -> its limits."""
_labels: dict[Callable[..., Any], tuple[list[str], Limits]] = {}


def is_guarded(module: str) -> bool:
    """True for a module of a plugin, whose functions kernels may call."""
    return not module.startswith(UNGUARDED)


def add_label(kernel: Callable[..., Any], label: str, limits: Limits) -> None:
    """Names the algorithm and event that a kernel is for, as people know them."""
    labels, _ = _labels.setdefault(kernel, ([], limits))
    if label not in labels:
        labels.append(label)


def forget_fault() -> None:
    """Begin a run without a fault."""
    CELL[0] = FREE


def refuse_fault() -> None:
    """Raise BadInput for the first fault of a kernel since `forget_fault`, and forget it."""
    if CELL[0] == FREE:
        return
    kind, line, first, second, address, length = (int(word) for word in CELL)
    CELL[0] = FREE
    name = ctypes.string_at(address, length).decode()
    module, _, qualname = name.partition(":")
    function = getattr(sys.modules.get(module), qualname, None)
    found = getattr(function, "py_func", function)
    labels = list(_labels_of(found))
    head = " or ".join(dict.fromkeys(label for label, _ in labels)) or f"a kernel that calls {name}"
    cause, remedy = _sentence(kind, first, second, labels[0][1] if labels else None)
    if found is None:
        raise BadInput(head, f"{name}: {cause}; {remedy}")
    mistake = KernelMistake(found, found.__code__.co_firstlineno + line, cause, remedy)
    raise BadInput(head, str(mistake)) from mistake


def _sentence(kind: int, first: int, second: int, limits: Limits | None) -> tuple[str, str]:
    """Cause and remedy of a fault."""
    if kind == VALUE:
        return kernel_limits.value_sentence(BOUNDS[second], first)
    if kind == MESSAGE_VALUE and limits is not None:
        return kernel_limits.value_sentence(limits.message_bounds[second].bounds, first)
    if kind == MESSAGE_KIND:
        return kernel_limits.kind_sentence(first, limits)
    if kind == SEGMENT:
        return kernel_limits.segment_sentence(first, second)
    if kind == TIMER_PLACE:
        return kernel_limits.timer_sentence(first, second)
    if kind == ANSWER:
        answers = None if limits is None else limits.answers
        remedy = (
            accepted_answers(answers, first) if answers is not None else "see what it may answer"
        )
        return f"it answered {first}, which has no meaning here", remedy
    if kind == DIVISION:
        return zero_divisor(first)
    if kind == INDEX:
        return (
            f"its index {first} is beyond an array of {second}",
            f"0 to {second - 1} are accepted: bound the index, or make the array longer",
        )
    if kind == SHIFT_BACK:
        return (
            f"{first} >> {second} shifts by no 0 to 63 places",
            "bound the number of places",
        )
    sign = "<<" if kind == SHIFT else "*"
    return (
        f"{first} {sign} {second} is beyond an int64",
        "all numbers of kernels are int64: divide first, or bound the operands",
    )


def _labels_of(function: Any) -> Iterator[tuple[str, Limits]]:
    """Labels of the kernels that are this function, or call it."""
    for kernel, (labels, limits) in _labels.items():
        if function is kernel or any(one.py_func is function for one in helpers(kernel)):
            for label in labels:
                yield label, limits


def helpers(kernel: Callable[..., Any]) -> list[Any]:
    """Compiled functions of plugins that a kernel calls by name, and those that they call."""
    found: list[Any] = []
    waiting = [kernel]
    while waiting:
        function = waiting.pop()
        for name in function.__code__.co_names:
            called = function.__globals__.get(name)
            plain = getattr(called, "py_func", None)
            if plain is None or called in found or not is_guarded(plain.__module__):
                continue
            found.append(called)
            waiting.append(plain)
    return found


def plain_refusal(
    kernel: Callable[..., int], limits: Limits, outcome: int | Exception | tuple[str, str]
) -> BadInput:
    """The refusal of an uncompiled kernel, of what it answered or raised, or by cause and remedy
    of what it left."""
    line = None
    if isinstance(outcome, tuple):
        cause, remedy = outcome
    elif not isinstance(outcome, Exception):
        cause, remedy = _sentence(ANSWER, outcome, 0, limits)
    elif isinstance(outcome, IndexError):
        found = re.search(r"index (-?\d+) .* size (\d+)", str(outcome))
        cause, remedy = str(outcome), "bound the index, or make the array longer"
        if found:
            cause, remedy = _sentence(INDEX, int(found[1]), int(found[2]), limits)
    elif any(word in str(outcome) for word in ("divi", "modulo", "remainder")):
        cause, remedy = zero_divisor(None)
    else:
        cause, remedy = (
            "one of its numbers is beyond an int64",
            "divide first, or bound the operands",
        )
    trace = outcome.__traceback__ if isinstance(outcome, Exception) else None
    while trace is not None:
        if trace.tb_frame.f_code is kernel.__code__:
            line = trace.tb_lineno
        trace = trace.tb_next
    label = " or ".join(label for label, _ in _labels_of(kernel)) or "a kernel"
    return BadInput(label, str(KernelMistake(kernel, line, cause, remedy)))
