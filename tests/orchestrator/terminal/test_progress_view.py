"""Progress on stderr: a bar for a person, sparse lines for a log."""

from __future__ import annotations

import io
import sys

import pytest

from orchestrator.progress import Progress, moment
from orchestrator.terminal import progress_view


def test_a_log_gets_a_line_per_stage_and_few_in_between(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress_view.time, "monotonic", lambda: now[0])
    with progress_view.shown() as report:
        report(Progress("compiling", 0.0, "first run, about 8 s"))
        for step in range(120):
            now[0] += 0.1
            report(Progress("simulating", step / 120))
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[:2] == ["compiling (first run, about 8 s)", "simulating"]
    assert 3 <= len(lines) <= 5
    assert lines[2].startswith("simulating 4")


@pytest.mark.parametrize(
    ("now", "duration", "said"),
    [
        (0.0114, 0.04, "t = 0.0114 s of 0.04 s"),
        (0.5, 0.9, "t = 0.500 s of 0.9 s"),
        (1.26, 2.0, "t = 1.3 s of 2 s"),
        (70.0, 80.0, "t = 70.0 s of 80 s"),
        (3e-6, 1e-4, "t = 0.000003 s of 0.0001 s"),
    ],
)
def test_where_a_short_run_is_can_be_seen(now: float, duration: float, said: str):
    assert moment(now, duration) == said


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress_view.shown() as report:
        report(Progress("simulating", 0.5, "t = 1 s of 2 s"))
    assert "simulating" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "t = 1 s of 2 s" in terminal.getvalue()
