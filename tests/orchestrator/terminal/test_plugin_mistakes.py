"""An error in a plugin's own code is said to be the plugin's; one of ours stays a bug."""

from __future__ import annotations

import functools
import importlib.util
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from orchestrator.registry import GROUP, Registry
from orchestrator.terminal import exit_codes

SOURCE = """
import json

def plain():
    return {}["a key"]

def through_a_library():
    return json.loads("{")

def through_tailback():
    from orchestrator.terminal.exit_codes import drop_stdout
    from orchestrator.registry import Registry
    return Registry(5)
"""


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """A plugin in a file of its own, the only one of the registry."""
    path = tmp_path / "board_of_others.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, path.stem, module)
    registry = Registry([EntryPoint("board", path.stem, GROUP)])
    load = functools.cache(lambda: registry)
    load()
    monkeypatch.setattr(Registry, "load", load)
    return module


@pytest.mark.parametrize(
    ("function", "line", "cause"),
    [("plain", 5, "KeyError: 'a key'"), ("through_a_library", 8, "JSONDecodeError")],
)
def test_a_plugins_mistake(
    board: object, capsys: pytest.CaptureFixture[str], function: str, line: int, cause: str
) -> None:
    with pytest.raises(Exception) as caught:
        getattr(board, function)()
    assert exit_codes.explain(caught.value) == exit_codes.BAD_INPUT
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    for part in ("plugin board", f"board_of_others.py:{line}", function, cause):
        assert part in said
    assert "bug in tailback" not in said


def test_a_mistake_of_ours_that_a_plugin_runs_into(
    board: object, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TypeError) as caught:
        board.through_tailback()  # type: ignore[attr-defined]
    assert exit_codes.explain(caught.value) == exit_codes.BUG
    assert "bug in tailback" in capsys.readouterr().err
