"""Kernels that numba compiles in silence, and that break a rule, are refused in one sentence."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numba
import pytest

from orchestrator.algorithm import ENTITIES
from orchestrator.engine.jit import DISABLED, compiled
from orchestrator.engine.kernel_mistakes import KernelMistake, check_arguments
from orchestrator.engine.kernel_rules import check_rules
from orchestrator.engine.records import FRAME as FRAME_RECORD
from orchestrator.engine.settable_fields import ENTITY, FRAME, SETTABLE
from orchestrator.kernel_contracts import CONTRACTS
from orchestrator.registry import Registry
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
    "print": ("print(now)\n    return 0", 2, "it prints", "NUMBA_DISABLE_JIT=1"),
    "power": ("return queue.bytes ** 9 > 3", 2, "queue.bytes ** 9, which is not", "multiply"),
    "power in place": ("now **= 2\n    return 0", 2, "which is not checked", "multiply"),
    "power of a number": ("return 2 ** now > 5", 2, "2 ** now, which is not", "multiply"),
    "literal": ("return now < 9223372036854775808", 2, "9223372036854775808 is beyond", "int64"),
    "literal of many digits": (f"return now < {10**90}", 2, "a number is beyond an int64", "all"),
    "literal by a power": ("return now < 2**70", 2, "2 ** 70 is beyond an int64", "int64"),
    "literal by a shift": ("return now < 1 << 64", 2, "18446744073709551616 is", "int64"),
    "literal by a product": (
        "return now < 4000000000 * 3000000000", 2, "12000000000000000000 is beyond", "int64"),
    "global number": ("return now < HUGE", 2, f"{2**63} is beyond an int64", "int64"),
    "field of the queue": (
        "queue.bytes = 0\n    return 0", 2, "queue.bytes, which no congestion point sets",
        "queue.congestion_point_timer"),
    "field of the frame": (
        "if now:\n        frame.length += 8\n    return 0", 3, "frame.length, which no",
        "frame.mark"),
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
    "largest numbers": "return -(2**62) < now < 2**62 + (2**62 - 1) and now < 10**18",
    "fields to set": "queue.congestion_point_timer = now + 5\n    frame.mark = 3\n    return 0",
    "item of a local": "x = (1, 2)\n    return x[0]",
}
IMPORTS = (
    "\nimport random\nfrom random import randrange\n\nARRAY, HUGE = np.zeros(4, np.int64), 2**63\n"
)


def named(folder: Path, name: str, body: str):
    """The kernel of a module that imports generators and has a global array."""
    file_name = "".join(letter if letter.isalnum() else "_" for letter in name)
    return module_of(folder, file_name, HEAD, body + "\n" + IMPORTS).on_arrival


@pytest.mark.parametrize("name", BROKEN)
def test_one_sentence(tmp_path: Path, name: str) -> None:
    body, line, cause, remedy = BROKEN[name]
    kernel = named(tmp_path, name, body)
    with pytest.raises(KernelMistake) as caught:
        address(kernel, kind="congestion_point")
    text = str(caught.value)
    first = inspect.getsourcelines(kernel)[1]
    assert text.startswith(f"{kernel.__code__.co_filename}:{first + line - 1}: ")
    assert cause in text
    assert remedy in text
    assert "\n" not in text


@pytest.mark.parametrize("name", SOUND)
def test_sound_kernels_are_compiled(tmp_path: Path, name: str) -> None:
    assert address(named(tmp_path, f"sound {name}", SOUND[name]), kind="congestion_point")


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


def test_fields_to_set_are_those_of_the_contract() -> None:
    for kind, places in SETTABLE.items():
        texts = " ".join(one.sets for one in CONTRACTS[kind].values())
        named = set(re.findall(r"\w+", texts)) | {"feedback_value"}  # of the scripted point alone
        records = {ENTITY: ENTITIES[kind], FRAME: FRAME_RECORD}
        for place, fields in places.items():
            assert fields <= named, kind
            assert fields <= set(records[place].names or ()), kind


def test_shipped_kernels_keep_the_rules() -> None:
    """Their machine code may be loaded from the cache, without a look at their source."""
    checked = 0
    for algorithm in Registry.load().algorithms:
        for event, kernel in (*algorithm.kernels.items(), *algorithm.timers.items()):
            check_arguments(kernel)
            check_rules(kernel, algorithm.limits(event))
            checked += 1
    assert checked > 60
