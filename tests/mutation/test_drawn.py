"""Faults that a seed draws: the same ones each time, and killed by a test that turns red."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation import drawn as module
from tests.mutation.covered import HERE
from tests.mutation.drawn import (
    FAILED_LINE,
    KILLED,
    SURVIVED,
    UNDECIDED,
    UNTESTED,
    Fault,
    beside,
    drawn,
    is_compiled,
    sources,
    tried,
)
from tests.mutation.mutants import Mutant

FILE = "orchestrator/engine/histogram.py"
SMALL = "orchestrator/plan/units.py"


FAULT = Fault(
    "traces/capsule/tolerance.py",
    Mutant(
        1,
        "by hand",
        "",
        "X = 1",
        (HERE / "traces/capsule/tolerance.py").read_text() + "X = 1\n",
        1,
        1,
    ),
)


def test_a_seed_draws_the_same_faults_and_another_one_others() -> None:
    names = [[fault.name for fault in drawn(2, seed, pure=True)] for seed in (1, 1, 2)]
    assert names[0] == names[1] != names[2]


def test_pure_modules_hold_nothing_that_is_compiled() -> None:
    assert FILE in sources(pure=False)
    assert FILE not in sources(pure=True)
    assert SMALL in sources(pure=True)


@pytest.mark.parametrize(
    ("file", "piece", "compiled"),
    [
        (FILE, "@compiled", True),
        ("orchestrator/engine/records.py", "NONE: Any = -1", True),
        ("orchestrator/engine/records.py", "return np.dtype", True),
        ("orchestrator/engine/numba_backend/guarded_lowering.py", "self._note(", True),
        ("orchestrator/engine/kernel_limits.py", "if self.event ==", True),
        (SMALL, "    return", False),
        ("traces/capsule/tolerance.py", "import", False),
    ],
)
def test_code_is_compiled_anew_where_a_fault_may_be_in_it(
    file: str, piece: str, compiled: bool
) -> None:
    text = (HERE / file).read_text()
    line = text[: text.index(piece)].count("\n") + 1
    assert is_compiled(Fault(file, Mutant(line, "by hand", "", "", text, line, line))) == compiled


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("orchestrator/run/verdict.py", "tests/orchestrator/run/test_verdict.py"),
        ("traces/capsule/tolerance.py", "tests/traces/capsule/test_tolerance.py"),
        ("orchestrator/console/dialogs.py", "tests/orchestrator/console/test_key_actions.py"),
        ("traces/analysis/analysis_summary.py", "tests/traces/test_analysis.py"),
        ("orchestrator/errors.py", "tests/"),
    ],
)
def test_the_tests_beside_a_file_are_the_nearest(file: str, tests: str) -> None:
    found = beside(file)
    assert found
    assert found[0].startswith(tests)
    assert all((HERE / one.partition("::")[0]).is_file() for one in found)


@pytest.fixture
def tested_by(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def put(text: str) -> None:
        path = tmp_path / "test_made.py"
        path.write_text(text)
        monkeypatch.setattr(module, "beside", lambda file: [str(path)] if text else [])

    return put


def test_a_fault_is_killed_survives_or_has_no_test(tested_by) -> None:
    tested_by("")
    assert tried(FAULT) == (UNTESTED, "")
    tested_by("def test_one():\n    from traces.capsule import tolerance\n")
    assert tried(FAULT) == (SURVIVED, "")
    tested_by(
        "def test_one():\n    from traces.capsule import tolerance\n"
        "    assert not hasattr(tolerance, 'X')\n"
    )
    outcome, test = tried(FAULT)
    assert outcome == KILLED
    assert test.endswith("::test_one")


def test_a_fault_reaches_processes_that_a_test_starts(tested_by) -> None:
    ask = "'from traces.capsule import tolerance; exit(hasattr(tolerance, \\'X\\'))'"
    tested_by(
        "import os, subprocess, sys\n"
        "assert 'faults-' in os.environ['NUMBA_CACHE_DIR']\n"  # no other process reads the fault
        f"def test_one():\n    subprocess.run([sys.executable, '-c', {ask}], check=True)\n"
    )
    assert tried(FAULT)[0] == KILLED


def test_a_fault_reaches_what_pytest_calls_by_another_name(tested_by) -> None:
    file = "traces/pytest_plugin/capabilities.py"
    text = (HERE / file).read_text() + "X = 1\n"
    fault = Fault(file, Mutant(1, "by hand", "", "X = 1", text, 1, 1))
    tested_by(
        "def test_one():\n    from _tailback_pytest_plugin import capabilities\n"
        "    assert not hasattr(capabilities, 'X')\n"
    )
    assert tried(fault)[0] == KILLED


def test_a_failed_test_is_named_with_spaces_and_dashes_in_its_brackets() -> None:
    said = (
        "FAILED x.py::test_one[a b - [c]] - AssertionError: x[0] - 1\n"
        "FAILED x.py::test_two[d e]\nERROR x.py::test_three - [f] - g\n"
        "ERROR x.py\n"
    )
    names = ["x.py::test_one[a b - [c]]", "x.py::test_two[d e]"]
    assert FAILED_LINE.findall(said) == [*names, "x.py::test_three", "x.py"]


def test_a_test_that_fails_without_the_fault_is_no_kill(tested_by) -> None:
    tested_by("def test_one():\n    assert False\n")
    outcome, test = tried(FAULT)
    assert outcome == UNDECIDED
    assert test.endswith("::test_one")
