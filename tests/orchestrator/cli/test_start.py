"""What the command does for a quick start and end, and that it costs nobody anything."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator import python_command
from orchestrator.run import manifest

ENDS = """
import atexit, gc, sys, weakref
class Ring:
    pass
ring = Ring(); ring.me = ring
weakref.finalize(ring, print, "let go")
atexit.register(lambda: print("frozen", gc.get_freeze_count() > 10_000, gc.get_threshold()[0]))
sys.argv = ["tailback", *sys.argv[1:]]
from orchestrator.cli.__main__ import main
main()
"""


def started(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        python_command.code(ENDS, *words),
        env=python_command.environment() | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["run", "no-such-plan"], 2)])
def test_the_end_looks_for_nothing_out_of_use(words: list[str], code: int) -> None:
    """What is to be done at the end is done, with the command's code."""
    done = started(*words)
    assert done.returncode == code, done.stderr
    assert "frozen True" in done.stdout
    assert "let go" in done.stdout, "whoever asked to be told is told"


def test_importing_makes_no_collection() -> None:
    """Collections before `main` are the interpreter's: their number depends on its sites."""
    text = (
        "import gc\nran = []\ngc.callbacks.append(lambda phase, info: ran.append(info))\n"
        + ENDS.replace('print("frozen"', 'print(len(ran), "frozen"').replace(
            "\nmain()", "\nran.clear()\nmain()"
        )
    )
    done = subprocess.run(
        python_command.code(text, "plans"),
        env=python_command.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split(" frozen")[0].split()[-1]) == 0, done.stdout[-300:]


@pytest.mark.parametrize(("own", "came"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
def test_threads_of_linear_algebra_sleep_at_once(own: dict[str, str], came: str) -> None:
    """Unless somebody has said otherwise."""
    text = ENDS + "\n"
    text = text.replace("atexit.register(", "import os\natexit.register(lambda: print(", 1).replace(
        'lambda: print("frozen"',
        'os.environ.get("OPENBLAS_THREAD_TIMEOUT")))\natexit.register(lambda: print("frozen"',
        1,
    )
    environment = {k: v for k, v in python_command.environment().items() if "OPENBLAS" not in k}
    done = subprocess.run(
        python_command.code(text, "--version"),
        env=environment | own,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert came in done.stdout.split(), done.stdout


def test_versions_of_libraries() -> None:
    """As the standard library reads them."""
    found = manifest.library_versions()
    assert found == {name: importlib.metadata.version(name) for name in manifest.LIBRARIES}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Metadata-Version: 2.1\nName: odd\nVersion: 1.2.post3\n\nVersion: 9\n", "1.2.post3"),
        ("Metadata-Version: 2.1\nName: odd\nVersion:\n 4.5\n\nVersion: 9\n", "4.5"),
    ],
)
def test_version_of_an_odd_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, version: str
) -> None:
    """A line behind the head is none of it; a folded one is read as a letter is."""
    (tmp_path / "odd-1.dist-info").mkdir()
    (tmp_path / "odd-1.dist-info" / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    manifest._version.cache_clear()
    assert manifest._version("odd").strip() == version
    assert manifest._version("not-there-at-all") is None
    manifest._version.cache_clear()
    assert os.fspath(tmp_path) in sys.path


# Ctrl-C while the command is still being imported: exit code 130 and one line, wherever it is.

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
