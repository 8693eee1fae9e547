"""Ctrl-C and SIGTERM at every stage, in imports and in callbacks of the compiler."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from orchestrator.terminal import exit_codes
from tests.robustness.runs import ENDLESS, QUICK, RUNNING, one_sentence, whole
from tests.traces_of_runs import Run

SIGNALS = [
    pytest.param(signal.SIGINT, "interrupted", id="ctrl-c"),
    pytest.param(signal.SIGTERM, "stopped by SIGTERM", id="sigterm"),
]


@pytest.mark.parametrize(("number", "words"), SIGNALS)
@pytest.mark.parametrize("stage", ["compiling", "running", "writing"])
def test_a_signal_to_the_process_group(target, out, number, words, stage):
    if target == "simulated" and stage == "compiling":
        pytest.skip("it has no such stage when it is compiled")
    plan = ENDLESS[target] if stage in ("compiling", "running") else QUICK
    with Run(*plan, "--target", target, "--out", out) as run:
        assert run.wait_for(RUNNING[target] if stage == "running" else stage)
        run.interrupt(number)
        code, output, said = run.end()
        assert run.left(out.parent) == []
    if stage == "writing" and whole(out):
        return  # it was complete before the signal came
    # Python ends by the signal itself when the signal came within `exec` of a text
    assert code in (128 + number, -number)
    assert output == ""
    one_sentence(said, words, "nothing of an unfinished run was kept")
    assert not out.exists()


@pytest.mark.parametrize(("number", "words"), SIGNALS)
@pytest.mark.parametrize("moment", [0.5, 1.5])
def test_a_signal_while_it_compiles(target, out, number, words, moment):
    with (
        tempfile.TemporaryDirectory() as cache,
        Run(*QUICK, "--target", target, "--out", out, NUMBA_CACHE_DIR=cache) as run,
    ):
        assert run.wait_for("compiling")
        time.sleep(moment)
        run.interrupt(number)
        code, _, said = run.end()
        assert run.left(out.parent) == []
    assert code in (128 + number, -number)
    one_sentence(said, words)
    assert not out.exists()


@pytest.mark.parametrize("module", [b"pydantic_core", b"llvmlite", b"pyarrow"])
def test_ctrl_c_while_it_imports(out, module):
    with Run(*QUICK, "--target", "simulated", "--out", out) as run:
        maps = Path(f"/proc/{run.process.pid}/maps")
        while run.process.poll() is None and module not in maps.read_bytes():
            time.sleep(0.001)
        run.interrupt()
        code, _, said = run.end()
        assert run.left(out.parent) == []
    if not whole(out):
        assert code in (128 + signal.SIGINT, -signal.SIGINT)
        one_sentence(said, "interrupted")


SWALLOWED = """
import ctypes, signal, time
from orchestrator.terminal import exit_codes as exits
exits.REDELIVERY_S = {after}
guard = exits.raise_on_signals()
guard.__enter__()
number = signal.Signals[{name!r}]
def printed():
    ctypes.pythonapi.PyRun_SimpleString(b"import signal; signal.raise_signal(%d)" % number)
unraisable = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))
try:
    {lost}()
    time.sleep(20)
    print("swallowed")
except BaseException as error:
    print(exits.explain(error))
"""


@pytest.mark.parametrize("lost", ["unraisable", "printed"])
@pytest.mark.parametrize("after", [0, exit_codes.REDELIVERY_S])
@pytest.mark.parametrize(("number", "words"), SIGNALS)
def test_a_signal_that_a_library_swallows_is_delivered_again(number, words, after, lost):
    """The compiler calls back from C, from where no exception gets out; modules in C print one that
    ends an import. At 0 s the second signal comes while the first is looked at, as on a busy
    machine."""
    script = SWALLOWED.format(name=number.name, after=after, lost=lost)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"{128 + number}\n"
    one_sentence(done.stderr, words)
