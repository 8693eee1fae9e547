"""Folders of configuration, state and caches: no working folder, and no failure without a home."""

from __future__ import annotations

import itertools
import os
import pwd
import random
from pathlib import Path

import pytest

from orchestrator import private_cache
from orchestrator.cli.agent import default_state
from orchestrator.cli.main import command_line
from orchestrator.live import session_registry
from orchestrator.profile import profile_store
from orchestrator.testbed import curve_keys
from orchestrator.user_folders import DEFAULTS, NO_HOME, user_folder

RELATIVE = ["", ".", "rel", "../x", "~", "$HOME", " /x", "x" * 5000, "\u0661"]
USERS = (curve_keys.default_folder, profile_store.folder, default_state, private_cache.key_file)


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """This user has neither a HOME nor an account, as `docker run --user 12345` has."""
    monkeypatch.delenv("HOME", raising=False)

    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in (*DEFAULTS, private_cache.FOLDER, private_cache.KEY):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("variable", DEFAULTS)
def test_a_relative_path_is_ignored(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv(variable, "/base")
    assert user_folder(variable) == Path("/base/tailback")
    for value in RELATIVE:
        monkeypatch.setenv(variable, value)
        assert user_folder(variable) == Path("/h", DEFAULTS[variable], "tailback")
    for home in RELATIVE[1:]:
        monkeypatch.setenv("HOME", home)
        assert user_folder(variable).is_relative_to(NO_HOME)


@pytest.mark.parametrize("seed", range(8))
def test_no_file_of_the_working_folder_counts(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is relative: keys, profiles, an agent's state, and the key of caches."""
    draw = random.Random(seed)
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", *DEFAULTS, "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, draw.choice([one for one in RELATIVE if one]))
    for name in (private_cache.KEY, session_registry.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    found = [*(folder() for folder in USERS), session_registry._wanted()]
    assert [path for path in found if path.absolute().is_relative_to(tmp_path)] == []
    assert os.listdir(tmp_path) == []


LINES = (
    ["keys", "list"],
    ["keys", "make"],
    ["machines"],
    ["agent", "--listen", "tcp://127.0.0.1:*"],
)


@pytest.mark.usefixtures("homeless")
@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_a_user_without_a_home_gets_a_sentence(
    line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Without --keys, which would name a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("orchestrator.user_folders.NO_HOME", tmp_path / "no" / "home")
    (tmp_path / "no").write_text("")
    code = command_line(line)
    said = capsys.readouterr().err
    assert (code, "Traceback" in said) == (2, False), said
    assert list(itertools.islice(tmp_path.iterdir(), 2)) == [tmp_path / "no"]
