"""Ctrl-C while the command is still being imported: exit code 130 and one line, wherever it is."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
import builtins, os, signal, sys
from orchestrator.cli import __main__

imported, real = 0, builtins.__import__

def count(name, *more, **named):
    global imported
    imported += 1
    if imported == {at}:
        if {swallowed}:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("a library that makes another error of it") from None
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *more, **named)

builtins.__import__ = count
sys.argv = ["tailback", "plans"]
__main__.main()
"""


@pytest.mark.parametrize("swallowed", [False, True])
@pytest.mark.parametrize("at", [1, 2, 5, 20, 60])
def test_at_any_import(at: int, *, swallowed: bool) -> None:
    text = CHILD.format(at=at, swallowed=swallowed)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("tailback: interrupted")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_interrupt_that_the_parent_ignores_stays_ignored() -> None:
    text = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + CHILD
    text = text.format(at=5, swallowed=False)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "quickstart" in done.stdout
