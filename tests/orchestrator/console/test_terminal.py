"""The real program in a real terminal, as somebody would use it who has read nothing.

Start `quickstart`, change the service rate live, see the queue answer, stop, reopen the run, find
the event. The run is simulated and paced, so that it needs no undisturbed machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.live.session_registry import process_exists
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

WITHIN_S = 150.0
"""The engine may have to be compiled first."""


AGAIN_S = 10.0
"""A key that had no effect by then went to a console that was not ready for it."""


class NeverCame(AssertionError):
    """The screen does not show what was waited for."""


class Terminal:
    """A tmux server of its own with the console in it."""

    def __init__(self, folder: Path) -> None:
        self.socket = f"tailback-{uuid.uuid4().hex[:12]}"
        environment = {
            **os.environ,
            "TAILBACK_LIVE": str(folder / "live"),
            "XDG_CONFIG_HOME": str(folder),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
        }
        environment.pop("TMUX", None)
        self.environment = environment
        command = f"{sys.executable} -m orchestrator.cli console --out {folder / 'runs'}"
        # what a console that ends says stays on the screen
        keep = (";", "set-option", "remain-on-exit", "on")
        self.tmux("new-session", "-d", "-x", "120", "-y", "40", command, *keep)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, "-f", os.devnull, *words],
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
            timeout=20,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def type_in(self, text: str) -> None:
        """Replace what stands in a field, and take it."""
        self.write(text)
        self.press("Enter")

    def write(self, text: str) -> None:
        """Replace what stands in a field, as soon as that takes keys.

        A key that comes while a dialog opens may be handed to its field behind later ones, so that
        one is seen there before others are sent. Letters go to the field at once, a key with an
        action by way of the screen: it has to be seen to have emptied the field.
        """
        for _ in self.until(r"▊[^\n]*~"):
            self.tmux("send-keys", "-l", "~")
        for _ in self.until(r"▊[^\n~▔▁]*▎"):
            self.tmux("send-keys", "End", "C-u")
        self.tmux("send-keys", "-l", text)
        self.wait(rf"▊[^\n]*{re.escape(text[-6:])}")  # a long one is scrolled

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def wait(self, pattern: str, within_s: float = WITHIN_S) -> str:
        """The screen once it shows this."""
        end = time.monotonic() + within_s
        while not re.search(pattern, shown := self.screen(), re.DOTALL):
            assert self.is_open(), f"the console ended:\n{self.screen()}"
            if time.monotonic() > end:
                raise NeverCame(f"{pattern!r} never came:\n{shown}")
            time.sleep(0.1)
        return shown

    def until(self, pattern: str) -> Iterator[None]:
        """Let something be done, again when it shows no effect for a while."""
        end = time.monotonic() + WITHIN_S
        while True:
            yield
            with contextlib.suppress(NeverCame):
                self.wait(pattern, AGAIN_S)
                return
            assert time.monotonic() < end, f"{pattern!r} never came:\n{self.screen()}"

    def is_open(self) -> bool:
        """Whether the console still runs."""
        return self.tmux("display-message", "-p", "#{pane_dead}").strip() == "0"

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux: sudo apt-get install tmux")
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


def test_a_run_from_start_to_finding_its_event_again(terminal: Terminal, tmp_path: Path) -> None:
    terminal.wait(r"quickstart .* QCN in two seconds")
    terminal.press("Enter")
    terminal.wait(r"nodes\.switch\.service_rate +950Mb/s")
    terminal.press("Down", "Enter")
    terminal.wait(r"Change pace")
    terminal.type_in("0.02")  # slow enough for a machine that does other things, too
    terminal.wait(r"pace +0\.02")
    terminal.press("r")
    terminal.wait(r"● running.*service +950 Mb/s")
    terminal.wait(r"switch\.sink *\n.*queue +[1-9][\d.]+ KB")
    terminal.press("R")
    terminal.wait(r"Change nodes\.switch\.service_rate now")
    terminal.type_in("0.1Gb/s")
    terminal.wait(r"service +100 Mb/s")
    terminal.wait(r"queue +1[2-5]\d[\d.]* KB")  # the queue answers: it was below 100 KB before
    terminal.press("s")
    terminal.wait(r"Stop the run now\?")
    terminal.press("y")
    terminal.wait(r"■ done")
    (folder,) = (tmp_path / "runs" / "quickstart").iterdir()
    terminal.press("1")
    terminal.wait(r"■ stopped")
    terminal.press("o")
    terminal.wait(r"Open a run folder")
    terminal.type_in(str(folder))
    terminal.wait(rf"quickstart {folder.name[-6:]}.*‖ speed")
    terminal.press("/")
    terminal.wait(r"words that a line must have")
    terminal.type_in("live service")
    terminal.wait(r"what +of[^\n]*\n[^\n]*◇ live +set +nodes\.switch\.service_rate +to 100Mb/s")
    for _ in terminal.until(r"queue of"):  # the first took the focus to the lines, unseen
        terminal.press("Enter")
    shown = terminal.screen()
    at = re.search(r"at ([\d.]+) s", shown)
    assert at is not None
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    (change,) = [e for e in events if e["kind"] == "set" and e["detail"].get("live")]
    assert f"{change['time_ps'] / 1e12:.3f}" == at[1], "the plots show its moment"
    terminal.press("q")
    end = time.monotonic() + PATIENCE_S
    while terminal.is_open() and time.monotonic() < end:
        time.sleep(0.1)
    assert not terminal.is_open()
    assert list((tmp_path / "live").iterdir()) == []


def test_the_console_ends_with_its_terminal(terminal: Terminal) -> None:
    terminal.wait(r"quickstart .* QCN in two seconds")
    process = int(terminal.tmux("list-panes", "-F", "#{pane_pid}"))
    terminal.close()
    end = time.monotonic() + PATIENCE_S
    while process_exists(process) and time.monotonic() < end:
        time.sleep(0.1)
    assert not process_exists(process)
