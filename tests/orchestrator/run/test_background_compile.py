"""A first run has its engine compiled by a second process, which is gone when the run is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator import python_command
from orchestrator.engine import cache_paths
from orchestrator.run import background_compile

WATCHED = """
import sys
from orchestrator.cli import run
from orchestrator.cli.main import command_line
words = ["run", "quickstart", "--no-live", "--no-report", "--out", sys.argv[1]]
assert command_line(words) == 0
from orchestrator.engine.node.event_loop import simulate
print([entry.loaded for entry in simulate.entries.values()], "numba" in sys.modules)
"""
WAITING = """
import time
from orchestrator.run import background_compile
with background_compile.background_compile("simulated"):
    print(background_compile._children[0].pid, flush=True)
    time.sleep(100)
"""


def fresh(folder: Path) -> dict[str, str]:
    """The environment of a user who has never run this version."""
    variables = python_command.environment(XDG_CACHE_HOME=str(folder))
    return {name: value for name, value in variables.items() if name != cache_paths.VARIABLE}


@pytest.fixture
def useful(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with two cores and an empty cache."""
    monkeypatch.setenv(cache_paths.VARIABLE, str(tmp_path))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(background_compile, "available_cores", lambda: 2)


@pytest.mark.usefixtures("useful")
def test_a_second_process_is_of_use_where_there_is_something_to_compile_and_a_core(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert background_compile.is_useful(None)
    assert background_compile.is_useful("simulated")
    assert not background_compile.is_useful("software")
    with monkeypatch.context() as other:
        other.setattr(background_compile, "available_cores", lambda: 1)
        assert not background_compile.is_useful(None)
    with monkeypatch.context() as other:
        other.setenv("NUMBA_DISABLE_JIT", "1")
        assert not background_compile.is_useful(None)
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "event_loop.simulate-0123.entry").touch()
    assert not background_compile.is_useful(None)


def test_every_state_of_the_engines_sources_has_a_cache_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sources = tmp_path / "engine"
    shutil.copytree(cache_paths.ENGINE, sources)
    monkeypatch.setattr(cache_paths, "ENGINE", sources)
    cache_paths.sources_digest.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    before = cache_paths._folder_of_sources()
    assert cache_paths._folder_of_sources() == before
    for name in ("node/rate_limiter.py", "records.py", "frames/frame_codec.py"):
        with (sources / name).open("a") as file:
            file.write("# changed\n")
        cache_paths.sources_digest.cache_clear()
        after = cache_paths._folder_of_sources()
        assert after != before, name
        before = after
    monkeypatch.undo()
    cache_paths.sources_digest.cache_clear()


@pytest.mark.usefixtures("useful")
def test_it_ends_with_the_block(tmp_path: Path) -> None:
    with background_compile.background_compile("simulated"):
        (child,) = background_compile._children
        assert child.poll() is None
    assert child.poll() is not None
    assert not background_compile._children
    background_compile.wait_for_compile()  # for nobody


@pytest.mark.skipif(
    background_compile.available_cores() < background_compile.LEAST_CORES, reason="needs two cores"
)
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
def test_it_ends_when_who_started_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-c", WAITING], env=fresh(tmp_path), stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        child = Path("/proc") / parent.stdout.readline().decode().strip()
        assert child.exists()
        time.sleep(1)  # until it listens
        os.kill(parent.pid, signal.SIGKILL)
    for _ in range(200):
        try:
            if (child / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.05)
    pytest.fail("the process that compiles is still there")


@pytest.mark.slow
@pytest.mark.skipif(
    background_compile.available_cores() < background_compile.LEAST_CORES, reason="needs two cores"
)
def test_a_first_run_loads_what_the_second_process_has_compiled(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED, str(tmp_path / "runs")],
        env=fresh(tmp_path / "cache"),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert "compiling" in done.stderr
    assert done.stdout.splitlines()[-1] == "[True] True"
    again = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED, str(tmp_path / "runs")],
        env=fresh(tmp_path / "cache"),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert again.returncode == 0, again.stderr
    assert "compiling" not in again.stderr
    assert again.stdout.splitlines()[-1] == "[True] False"
