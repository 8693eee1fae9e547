"""Mistakes in kernels end in one sentence with file, line, cause and remedy."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import Field

from orchestrator.algorithm import ENTITIES, congestion_point
from orchestrator.assembly import assemble
from orchestrator.engine.answer_sets import answers_of
from orchestrator.engine.jit import DISABLED, kernel_address
from orchestrator.engine.kernel_events import EVENTS
from orchestrator.engine.kernel_limits import Limits
from orchestrator.engine.kernel_mistakes import KernelMistake
from orchestrator.engine.records import record
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params, Size
from orchestrator.registry import GROUP, Registry
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import line_of_three

pytestmark = pytest.mark.skipif(DISABLED, reason="kernels are not compiled")

STATE = record("count")
HEAD = "state, params, queue, frame, now, message"


class Marks(Params):
    """Parameters of the kernels here."""

    line: Size = Field(9_000, description="a queue")


MISTAKES = {
    "misspelt field": (HEAD, "state.coutn += 1\n    return 0", 2, "no field 'coutn'", "count"),
    "misspelt entity": (HEAD, "state.count = queue.bites\n    return 0", 2, "'bites'", "bytes"),
    "arity": (
        HEAD.removesuffix(", message"), "return 0", 1, "frame, now); a kernel takes", "message"),
    "default": (f"{HEAD}, more=3", "return 0", 1, "more=3); a kernel takes", "message"),
    "any arguments": ("*all", "return 0", 1, "it takes (*all)", "message"),
    "by name alone": (HEAD.replace("now, ", "now, *, "), "return 0", 1, "it takes (", "message"),
    "order": (
        HEAD.replace("state, params", "params, state"), "state.count = 1\n    return 0", 1,
        "argument 1 is called params", "(state, params,"),
    "order of records": (
        HEAD.replace("queue, frame", "frame, queue"), "return frame.bytes > 3", 1,
        "argument 3 is called frame", "(state, params,"),
    "no return": (HEAD, "state.count += 1", None, "without an answer", "return 0"),
    "path without return": (
        HEAD, "if now > 5:\n        return 1", None, "without an answer", "return 0"),
    "plain helper": (HEAD, "return helper(now)", 2, "helper, which is not compiled", "@compiled"),
    "undefined name": (HEAD, "return missing", 2, "'missing'", "import"),
    "dictionary": (HEAD, "return TABLE[now]", 2, "TABLE", "subset"),
    "text": (HEAD, "state.count = 'a'\n    return 0", 2, "compiled", "subset"),
    "global": (HEAD, "global ODD\n    ODD = 5\n    return 0", 2, "global ODD", "its state"),
    "float": (HEAD, "state.count = now * 0.5\n    return 0", 2, "float", "int64"),
    "float answer": (HEAD, "return 0.5", 2, "float", "int64"),
    "float of numpy": (HEAD, "state.count = np.sqrt(now)\n    return 0", 2, "float", "//"),
    "division": (HEAD, "state.count = now / 2\n    return 0", 2, "float", "//"),
    "division by 0": (HEAD, "state.count = now // 0\n    return 0", 2, "divides by 0", "another"),
    "rest by 0": (HEAD, "state.count = now % ZERO\n    return 0", 2, "divides by 0", "another"),
    "answer 77": (HEAD, "return 77", 2, "answers 77", "0, 1, 2"),
    "answer -3": (HEAD, "return -3", 2, "answers -3", "0, 1, 2"),
    "answer in a branch": (HEAD, "return 0 if now else 77", 2, "answers 77", "0, 1, 2"),
    "named answer": (HEAD, "return ODD", 2, "answers 99", "0, 1, 2"),
}  # fmt: skip


def module_of(folder: Path, name: str, arguments: str, body: str) -> ModuleType:
    """A module with a kernel `on_arrival`, in a file of its own."""
    path = folder / f"{name.replace(' ', '_').replace('-', 'm')}_kernel_in_test.py"
    text = (
        "import numpy as np\nfrom tailback.plugin import compiled\n\n"
        "TABLE, ODD, ZERO = {1: 2}, 99, 0\n\n\ndef helper(x):\n    return x"
    )
    path.write_text(f"{text}\n\ndef on_arrival({arguments}):\n    {body}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def address(kernel: Callable[..., int], event: str = "arrival", kind: str = "") -> int:
    entity = ENTITIES["congestion_point"]
    answers = answers_of("congestion_point", event)
    return kernel_address(kernel, STATE, Marks.dtype(), entity, Limits(answers, kind, event))


@pytest.fixture(autouse=True)
def no_modules_stay() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.endswith("_kernel_in_test")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", MISTAKES)
def test_one_sentence(tmp_path: Path, name: str) -> None:
    arguments, body, line, cause, remedy = MISTAKES[name]
    kernel = module_of(tmp_path, name, arguments, body).on_arrival
    with pytest.raises(KernelMistake) as caught:
        address(kernel)
    text = str(caught.value)
    assert "\n" not in text
    assert "numba.core" not in text
    first = inspect.getsourcelines(kernel)[1]
    at = text.removeprefix(f"{kernel.__code__.co_filename}:").partition(":")[0]
    assert int(at) in range(first, first + 1 + body.count("\n") + 1)
    if line is not None:
        assert int(at) == first + line - 1
    assert "kernel on_arrival" in text
    assert cause in text
    assert remedy in text


SOUND = {
    "lane": "return 16 + 3",
    "stamp": "return 7",
    "computed": "state.count += now // max(params.line, 1)\n    return state.count % 2",
    "branch": "return 1 if now > params.line else 0",
    "helper": "return 1 if np.int64(queue.bytes) > params.line else 0",
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_kernels_are_compiled(tmp_path: Path, name: str) -> None:
    assert address(module_of(tmp_path, f"sound {name}", HEAD, SOUND[name]).on_arrival)


def test_the_plan_names_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = module_of(tmp_path, "of a plan", HEAD, "return 77").on_arrival
    mine = congestion_point("mine", "for a test", Marks, STATE, arrival=kernel)
    point = entry_point(monkeypatch, "mine", tailback_algorithms=lambda: [mine])
    table = line_of_three()
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "mine"}
    registry = Registry([*entry_points(group=GROUP), point])
    with pytest.raises(BadInput, match="congestion_point 'mine', kernel 'arrival'"):
        assemble(Plan(**table).check(registry))


def test_floats_within_a_helper_are_refused_too(tmp_path: Path) -> None:
    body = "return half(now)\n\n@compiled\ndef half(x):\n    return int(x * 0.5)"
    module = module_of(tmp_path, "float in a helper", HEAD, body)
    with pytest.raises(KernelMistake, match="kernel half: it computes with a float"):
        address(module.on_arrival)


def test_every_event_has_answers() -> None:
    for kind, events in EVENTS.items():
        for event in events:
            answers = answers_of(kind, event)
            assert answers is None or 0 in answers
