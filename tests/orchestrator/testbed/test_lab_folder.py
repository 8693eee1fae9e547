"""A folder in which a lab runs is refused at once, and nothing in it is touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from orchestrator import python_command
from orchestrator.run import folder_lock

WITHIN_S = 60
"""Starting Python on a loaded machine; a lab that waited would wait for ever."""


@pytest.mark.parametrize("options", [[], ["--detach"]])
def test_a_folder_in_use_is_refused_untouched(tmp_path: Path, options: list[str]) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    files = {"pid": "4711\n", "log": "of the lab that runs\n", "inventory.toml": "name = 'lab'\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    handle = folder_lock.acquire(folder)
    try:
        done = subprocess.run(
            python_command.module("orchestrator.cli", "lab", "--folder", str(folder), *options),
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
    finally:
        folder_lock.release(handle)
    assert done.returncode == 2
    assert done.stderr == (
        f"tailback: --folder: {folder}: a lab runs in it (kill 4711); end that one, or name "
        "another folder\n"
    )
    assert {path.name: path.read_text() for path in folder.iterdir()} == files
