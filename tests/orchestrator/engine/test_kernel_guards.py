"""Faults of kernels that only a run shows: one sentence, exit code 2, whatever the kind."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from orchestrator.algorithm import congestion_point, delay_line, reaction_point, traffic
from orchestrator.engine import kernel_guards
from orchestrator.engine.jit import DISABLED
from orchestrator.errors import BadInput
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.algorithm_params import Params
from orchestrator.progress import silent
from orchestrator.registry import GROUP, Registry
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import Table, line_of_three

STATE = np.dtype(
    [(name, np.int64) for name in ("count", "zero", "much")]
    + [("row", np.int64, (4,)), ("grid", np.int64, (3, 2))]
)
HEAD = "state, params, entity, frame, now, message"
SOURCE = f'''from tailback.plugin import compiled


TABLE = (5, 6, 7)


@compiled
def share(total, among):
    """A helper of kernels."""
    return total // among


def kernel({HEAD}):
    """The kernel under test."""
    state.count += 1
    {{body}}
'''
FIRST = 13
"""Line of `def kernel` in it; its body begins three below."""

FAULTS = {
    "answer 77": ("return 76 + state.count", 0, "it answered 77", "0, 1, 2"),
    "answer 64": ("return 63 + state.count", 0, "it answered 64", "0, 1, 2"),
    "answer -3": ("return state.count - 4", 0, "it answered -3", "0, 1, 2"),
    "answer of a lane too high": ("return 23 + state.count", 0, "it answered 24", "0, 1, 2"),
    "division": ("return state.count // state.zero", 0, "by 0", "test the divisor"),
    "remainder": ("return state.count % state.zero", 0, "by 0", "test the divisor"),
    "division in place": ("state.count //= state.zero\n    return 0", 0, "by 0", "divisor"),
    "division whose result nothing uses": (
        "state.much = 5\n    if state.much // state.zero > 7:\n        return 1\n    return 0",
        1, "by 0", "divisor"),
    "division in a helper": ("return share(state.count, state.zero)", None, "by 0", "divisor"),
    "product": ("state.much = (now + 3) * now * now * now * now\n    return 0",
                0, "int64", "divide first"),
    "shift": ("state.much = (1 << 40) + now\n    state.much = state.much << 60\n    return 0",
              1, "int64", "divide first"),
    "shift back": ("return (state.count >> (state.count - 4)) * 0", 0, ">> -3", "places"),
    "shift back too far": ("return (now >> (state.count + 63)) * 0", 0, ">> 64", "places"),
    "index": ("state.row[state.count + 3] = 9\n    return 0", 0, "index 4 is beyond", "0 to 3"),
    "index below": ("state.row[-4 - state.count] = 9\n    return 0", 0, "index -5 is", "0 to 3"),
    "index that is read": ("return state.row[state.count + 99]", 0, "index 100 is", "0 to 3"),
    "index in place": ("state.row[state.count + 3] += 1\n    return 0", 0, "index 4", "0 to 3"),
    "index as a number": ("state.row[7] = 1\n    return 0", 0, "index 7 is beyond", "0 to 3"),
    "index of two": ("state.grid[2, state.count + 1] = 1\n    return 0", 0, "index 2", "0 to 1"),
    "index of the first of two": (
        "state.grid[state.count + 2, 0] = 1\n    return 0", 0, "index 3", "0 to 2"),
    "index of rows": ("return state.grid[state.count + 2][1]", 0, "index 3", "0 to 2"),
    "index of a table": ("return TABLE[state.count + 2] * 0", 0, "ind", "bound the index"),
    "drop": ("return 4 + state.count", 0, "it answered 5", "declare `drops`"),
    "lane": ("return 16 + state.count", 0, "it answered 17", "declare `changes_lane`"),
}  # fmt: skip
"""Name -> body, line in it (None: in the helper), cause, remedy."""
ENDS = {
    "index": "state.row[state.zero - 4] = state.row[state.zero + 3]\n    return 0",
    "index of two": "state.grid[state.zero + 2, state.zero - 2] = 1\n    return 0",
    "shift": "state.much = 1 << (state.zero + 62)\n    return now >> (state.zero + 63)",
    "product": "state.much = (state.zero - 2) * (1 << 62)\n    return 0",
    "message that is not sent": "message.kind = 99\n    message.feedback = 64\n    return 0",
    "feedback of a CNP": "message.kind = 15\n    message.feedback = 64\n    return 1",
}
"""Name -> body of a kernel that goes as far as it may."""


class Nothing(Params):
    """No parameters."""


@pytest.fixture(autouse=True)
def no_modules_stay() -> Iterator[None]:
    yield
    kernel_guards.forget_fault()
    for name in [name for name in sys.modules if name.endswith("_guarded_in_test")]:
        del sys.modules[name]


def module_of(folder: Path, name: str, body: str) -> ModuleType:
    """A module with the kernel, in a file of its own."""
    stem = "".join(c if c.isalnum() else "_" for c in name) + "_guarded_in_test"
    path = folder / f"{stem}.py"
    path.write_text(SOURCE.replace("{body}", body), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    spec.loader.exec_module(module)
    return module


def with_algorithm(
    monkeypatch: pytest.MonkeyPatch, algorithm: object, table: Table
) -> ResolvedPlan:
    """A plan with an algorithm called `mine`."""
    point = entry_point(monkeypatch, "mine", tailback_algorithms=lambda: [algorithm])
    return Plan(**table).check(Registry([*entry_points(group=GROUP), point]))


def simulate(monkeypatch: pytest.MonkeyPatch, algorithm: object, table: Table) -> str:
    """Run a plan with an algorithm called `mine`; the text of its refusal."""
    resolved = with_algorithm(monkeypatch, algorithm, table)
    with pytest.raises(BadInput) as caught:
        Simulated().run(resolved, silent)
    assert caught.value.exit_code == 2
    text = str(caught.value)
    assert " or " not in text.partition("_guarded_in_test")[0], "it blames other kernels, too"
    return text


@pytest.mark.parametrize("name", FAULTS)
def test_one_sentence_with_plugin_kernel_line_value_and_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if DISABLED and name.startswith("shift"):
        pytest.skip("a shift of NumPy's numbers says nothing")
    body, line, cause, remedy = FAULTS[name]
    module = module_of(tmp_path, name, body)
    mine = congestion_point("mine", "for a test", Nothing, STATE, arrival=module.kernel)
    table = line_of_three()
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "mine"}
    text = simulate(monkeypatch, mine, table)
    assert "\n" not in text
    assert "congestion_point 'mine', kernel 'arrival'" in text
    if line is not None:  # uncompiled, a kernel is known to have answered when it is over
        answered = name.startswith(("answer", "drop", "lane"))
        at = FIRST if DISABLED and answered else FIRST + 3 + line
        assert f"{module.__file__}:{at}: kernel kernel: " in text
    elif not DISABLED:
        assert f"{module.__file__}:10: kernel share: " in text
    assert cause in text
    assert remedy in text


@pytest.mark.parametrize("name", ENDS)
def test_the_ends_of_what_is_accepted_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    module = module_of(tmp_path, name, ENDS[name])
    mine = congestion_point("mine", "for a test", Nothing, STATE, arrival=module.kernel)
    table = line_of_three()
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "mine"}
    assert Simulated().run(with_algorithm(monkeypatch, mine, table), silent).data_frames > 0


OF_KINDS = {
    "reaction_point": (reaction_point, {"sent": "return state.count + 8"}, "it answered "),
    "delay_line": (delay_line, {"delay": "return -2 - state.count"}, "it answered -3"),
    "traffic": (traffic, {"next": "return 1000000 - 1000001 * state.count"}, "it answered -1"),
}


@pytest.mark.parametrize("kind", OF_KINDS)
def test_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    make, kernels, cause = OF_KINDS[kind]
    made = {event: module_of(tmp_path, kind, body).kernel for event, body in kernels.items()}
    if kind == "reaction_point":
        (tmp_path / "start").mkdir()
        begin = "entity.active = 1\n    return 0"
        made["start"] = module_of(tmp_path / "start", "begin", begin).kernel
    mine = make("mine", "for a test", Nothing, STATE, **made)
    table = line_of_three()
    if kind == "reaction_point":
        table["nodes"]["nic"]["reaction_point"] = {"plugin": "mine"}
    elif kind == "delay_line":
        next(iter(table["links"].values()))["delay_line"] = {"plugin": "mine"}
    else:
        ends = {"from": "nic", "to": "sink"}
        table["traffic"] = {"gen": {"plugin": "mine", **ends}}
    text = simulate(monkeypatch, mine, table)
    assert f"{kind} 'mine', kernel '{next(iter(kernels))}'" in text
    assert cause in text
    assert "accepted" in text


def test_a_sound_run_after_a_fault_is_a_sound_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = module_of(tmp_path, "fault", FAULTS["answer 77"][0])
    mine = congestion_point("mine", "for a test", Nothing, STATE, arrival=module.kernel)
    table = line_of_three()
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "mine"}
    simulate(monkeypatch, mine, table)
    resolved = Plan(**line_of_three()).check(Registry.load())
    assert Simulated().run(resolved, silent).data_frames > 0


@pytest.mark.skipif(DISABLED, reason="it is what this runs")
def test_uncompiled_kernels_are_refused_alike() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    some = "answer or division or every_kind or index or ends"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [*command, "-k", some], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
