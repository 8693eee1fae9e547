"""Kernels that numba compiles in silence, and that break a rule, are refused in one sentence."""

from __future__ import annotations

import inspect
from pathlib import Path

import numba
import pytest

from orchestrator.engine.jit import DISABLED, compiled
from orchestrator.engine.kernel_mistakes import KernelMistake
from tests.orchestrator.engine.test_kernel_mistakes import HEAD, address, module_of

pytestmark = pytest.mark.skipif(DISABLED, reason="kernels are not compiled")

DRAW = "draw with lfsr_next"
BROKEN = {
    "raise": ("raise ValueError", 2, "it raises", "return an answer"),
    "assert": ("assert queue.bytes < 0\n    return 0", 2, "it asserts", "return an answer"),
    "assert of a branch": (
        "if now > 5:\n        assert queue.bytes < 0\n    return 0", 3, "it asserts", "answer"),
    "numpy's generator": ("return np.random.randint(2)", 2, "np.random.randint", DRAW),
    "python's generator": (
        "state.count = random.randint(1, 3)\n    return 0", 2, "random.randint", DRAW),
    "an imported draw": ("state.count = randrange(4)\n    return 0", 2, "randrange", DRAW),
    "endless": ("while True:\n        state.count += 1\n    return 0", 2, "never ends", "break"),
    "endless by the loop within": (
        "while 1:\n        for i in range(3):\n            break\n    return 0", 2, "ends", ""),
    "parameter": ("params.line = 3\n    return 0", 2, "params.line, a parameter", "its state"),
    "parameter by a sum": ("params.line += 3\n    return 0", 2, "a parameter", "its state"),
    "array": ("ARRAY[0] += 1\n    return 0", 2, "global ARRAY", "its state"),
    "unset": ("if now > 5:\n        x = 1\n    return x", 4, "x has no value", "before"),
    "unset by elif": (
        "if now > 5:\n        x = 1\n    elif now > 3:\n        x = 0\n    return x",
        6, "x has no value", "before"),
    "unset in a sum": ("if now:\n        x = 1\n    x += 1\n    return 0", 4, "x has", "before"),
    "in a helper": (
        "return late(now)\n\n@compiled\ndef late(x):\n    assert x < 3\n    return x",
        6, "kernel late: it asserts", "answer"),
}  # fmt: skip
SOUND = {
    "loop that ends": (
        "n = 0\n    while True:\n        n += 1\n        if n > 5:\n            break\n    return 0"
    ),
    "loop that answers": "while True:\n        state.count += 1\n        return 0",
    "set in a loop": "for i in range(3):\n        x = i\n    return x % 2",
    "set on all paths": "if now > 5:\n        x = 1\n    else:\n        x = 0\n    return x",
    "set or answered": "if now > 5:\n        x = 1\n    else:\n        return 0\n    return x",
    "item of a local": "x = (1, 2)\n    return x[0]",
}
IMPORTS = "\nimport random\nfrom random import randrange\n\nARRAY = np.zeros(4, np.int64)\n"


def named(folder: Path, name: str, body: str):
    """The kernel of a module that imports generators and has a global array."""
    file_name = "".join(letter if letter.isalnum() else "_" for letter in name)
    return module_of(folder, file_name, HEAD, body + "\n" + IMPORTS).on_arrival


@pytest.mark.parametrize("name", BROKEN)
def test_one_sentence(tmp_path: Path, name: str) -> None:
    body, line, cause, remedy = BROKEN[name]
    kernel = named(tmp_path, name, body)
    with pytest.raises(KernelMistake) as caught:
        address(kernel)
    text = str(caught.value)
    first = inspect.getsourcelines(kernel)[1]
    assert text.startswith(f"{kernel.__code__.co_filename}:{first + line - 1}: ")
    assert cause in text
    assert remedy in text
    assert "\n" not in text


@pytest.mark.parametrize("name", SOUND)
def test_sound_kernels_are_compiled(tmp_path: Path, name: str) -> None:
    assert address(named(tmp_path, f"sound {name}", SOUND[name]))


class Holder:
    """Has a kernel for a method."""

    def arrival(self, state, params, queue, frame, now, message):
        return 0


async def late(state, params, queue, frame, now, message):
    return 0


def pieces(state, params, queue, frame, now, message):
    yield 0


def right(state, params, queue, frame, now, message):
    return 0


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        (3, "no function but of <class 'int'>"),
        (None, "no function but of <class 'NoneType'>"),
        (Holder().arrival, "it is a method"),
        (Holder, "no function but of <class 'type'>"),
        (numba.njit(right), "CPUDispatcher"),
        (compiled(right), "no function but of"),
        (late, "it is a coroutine"),
        (pieces, "it is a generator"),
    ],
)
def test_what_is_no_plain_function_is_named(function, cause: str) -> None:
    with pytest.raises(KernelMistake, match=cause) as caught:
        address(function)
    assert "?" not in str(caught.value)
