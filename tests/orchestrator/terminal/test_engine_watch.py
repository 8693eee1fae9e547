"""A kernel whose loop does not end: Ctrl-C and SIGTERM end the process, and name the kernel."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.terminal import engine_watch
from tests.orchestrator.worlds import line_of_three

PLUGIN = """
from tailback.plugin import FORWARD, Params, compiled, congestion_point, hookimpl, record


@compiled
def wait(state):
    left = 1
    while left > 0:  # here
        left += state.step
    return left


def arrival(state, params, queue, frame, now, message):
    state.step = 0
    return FORWARD + 0 * wait(state)


@hookimpl
def tailback_algorithms():
    return [congestion_point("endless", "waits", Params, record("step"), arrival=arrival)]
"""
DRIVER = """
import signal, sys, threading, time
from orchestrator.cli import main
from orchestrator.terminal import engine_watch

engine_watch.PATIENCE_S = 0.5
main_thread = threading.main_thread().ident


def watch():
    # stuck: within the simulator's loop, which has not gone on for a second
    while True:
        first = engine_watch._position(main_thread)
        time.sleep(1)
        frame = sys._current_frames()[main_thread]
        while frame is not None and frame.f_code.co_name != "_on_single_core":
            frame = frame.f_back
        simulates = frame is not None and "wall" in frame.f_locals and first is not None
        if simulates and engine_watch._position(main_thread) == first:
            signal.pthread_kill(main_thread, int(sys.argv[1]))
            return


threading.Thread(target=watch, daemon=True).start()
sys.exit(main.command_line(sys.argv[2:]))
"""
PLAN = """
name = "stuck"
duration = "1ms"
[nodes.nic]
kind = "nic"
[nodes.switch]
kind = "switch"
buffer = "30KB"
congestion_point = { plugin = "endless" }
[nodes.sink]
kind = "sink"
[links.up]
ends = ["nic", "switch"]
rate = "1Gb/s"
[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"
[traffic.gen]
plugin = "cbr"
rate = "100Mb/s"
from = "nic"
to = "sink"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "endless.py").write_text(PLUGIN)
    (tmp_path / "driver.py").write_text(DRIVER)
    installed = tmp_path / "endless-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: endless\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[tailback]\nendless = endless\n")
    (tmp_path / "endless.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")]
)
def test_a_signal_ends_a_run_that_a_kernel_holds(folder: Path, number: int, name: str) -> None:
    command = [sys.executable, "driver.py", str(number), "run", "endless.toml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 128 + number, done.stderr
    line = 1 + PLUGIN.splitlines().index("    while left > 0:  # here")
    assert f"tailback: {name}: compiled code has not returned for 0.5 s" in done.stderr
    assert f"plugin 'endless', kernel arrival ({folder}/endless.py:{line})" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(folder.glob("runs/*/*/result.json")) == []


def test_a_signal_whose_handler_is_called_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The main thread moves on: it raises, and goes on for longer than a held one may."""
    monkeypatch.setattr(engine_watch, "PATIENCE_S", 0.2)
    resolved = Plan(**line_of_three()).check(Registry.load())
    with pytest.raises(KeyboardInterrupt), engine_watch.watched_engine(resolved):
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                time.sleep(0.01)
    assert engine_watch._running == []


def test_handlers_that_do_not_raise_are_left_alone() -> None:
    """A program that notes Ctrl-C and ends later; an event loop that has a wake-up of its own."""
    resolved = Plan(**line_of_three()).check(Registry.load())
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        with engine_watch.watched_engine(resolved):
            assert engine_watch._running == []
    finally:
        signal.signal(signal.SIGINT, before)
    near, far = socket.socketpair()
    with near, far:
        far.setblocking(False)
        signal.set_wakeup_fd(far.fileno())
        with engine_watch.watched_engine(resolved):
            assert engine_watch._running == []
        assert signal.set_wakeup_fd(-1) == far.fileno()
