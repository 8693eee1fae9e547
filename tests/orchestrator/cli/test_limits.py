"""Limits of the process and full disks: a sentence that blames what it was."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from pathlib import Path

import pytest

from orchestrator import python_command
from orchestrator.errors import RunFailed
from orchestrator.terminal import exit_codes


def limited(kind: int, most: int, *words: object, **options: object) -> tuple[int, str]:
    """Exit code and stderr of a command line whose process has a limit."""
    done = subprocess.run(
        python_command.module("orchestrator.cli", *map(str, words)),
        env=python_command.environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(kind, (most, most)),
        **{"stdout": subprocess.DEVNULL, **options},  # type: ignore[call-overload]
    )
    return done.returncode, done.stderr


def test_too_few_open_files_are_said_to_be_that(tmp_path: Path) -> None:
    plan = Path(__file__).parents[2] / "short.toml"
    words = ("run", plan, "--out", tmp_path, "--no-report")
    for most in (8, 13, 16):
        code, text = limited(resource.RLIMIT_NOFILE, most, *words)
        assert "Traceback" not in text
        assert "standard output" not in text
        if code == 0:  # enough for all but the feed, which does not end a run
            assert "this run cannot be watched" in text
            assert "Too many open files" in text
        else:
            assert code in (2, 3), text
            assert "may open no more files" in text
            assert "`ulimit -n` raises that" in text
            assert not list(tmp_path.iterdir())


def test_a_file_of_a_run_that_would_be_too_large_is_said_to_be_that(tmp_path: Path) -> None:
    plan = Path(__file__).parents[2] / "short.toml"
    words = ("run", plan, "--out", tmp_path, "--no-report", "--no-live")
    code, text = limited(resource.RLIMIT_FSIZE, 2000, *words)
    assert code == 3, text
    assert "no larger file may be written (the limit is 2000 octets)" in text
    assert "`ulimit -f` raises that" in text
    assert "room left" not in text, "there is"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_stdout_that_may_grow_no_more_is_said_to_be_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with (tmp_path / "plans").open("wb") as file:
        code, text = limited(resource.RLIMIT_FSIZE, 100, "plans", stdout=file)
    assert code == 2
    assert text.startswith("tailback: standard output: no larger file may be written (the limit")


def wrapped(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


FULL = os.strerror(errno.ENOSPC)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(errno.ENOSPC, FULL), 2, f"a file could not be written: {FULL}"),
        (OSError(errno.ENOSPC, FULL, "/out/x"), 2, f"/out/x: {FULL}"),
        (OSError(errno.EMFILE, "many", "/out/x"), 2, "may open no more files"),
        (wrapped(RunFailed("/out: x"), OSError(errno.EMFILE, "m")), 3, "may open no more files"),
        (wrapped(RunFailed("/out: x"), OSError(errno.EFBIG, "m")), 3, "/out: no larger file"),
        (OSError(os.strerror(errno.EFBIG) + " (Arrow)"), 2, "a file: no larger file"),
        (RunFailed(f"/a/{os.strerror(errno.EMFILE)}: is gone"), 3, "/a/Too many open files: is"),
    ],
)
def test_only_stdout_is_called_standard_output(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_codes.explain(error) == code
    text = capsys.readouterr().err
    assert said in text
    assert "standard output" not in text
