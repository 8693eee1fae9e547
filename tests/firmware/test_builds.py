"""Builds with Verilator: they need no command `python`, and a failed one leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firmware import toolchain
from tests.firmware import simulate
from tests.firmware.building import built_whole


def build(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The smallest core, elsewhere than the builds that are kept."""
    monkeypatch.setattr(simulate, "BUILDS", folder)
    simulate.simulate("verilator", "lfsr32", "random_source", seed=2)


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`python` is what it is where there is none: code 127."""
    (tmp_path / "bin").mkdir()
    missing = tmp_path / "bin" / "python"
    missing.write_text("#!/bin/sh\necho 'python: not found' >&2\nexit 127\n")
    missing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{missing.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
@pytest.mark.usefixtures("no_python")
def test_a_second_try_tells_the_cause_again_and_a_third_succeeds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In those that fail the compiler does nothing, to keep them short."""
    with monkeypatch.context() as broken:
        broken.setattr(toolchain, "makeflags", lambda: f"{toolchain.MAKEFLAGS} CXX=true")
        for _ in range(2):
            with pytest.raises(pytest.fail.Exception, match="python: not found"):
                build(broken, tmp_path)
    build(monkeypatch, tmp_path)


def test_what_was_not_built_whole_is_built_anew(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    for attempt in ("killed", "refused"):
        with pytest.raises((KeyboardInterrupt, pytest.fail.Exception)), built_whole(folder, "it"):
            assert not folder.exists(), attempt
            folder.mkdir()
            (folder / "half.cpp").touch()
            raise KeyboardInterrupt if attempt == "killed" else RuntimeError
    with built_whole(folder, "it"):
        assert not folder.exists()
        folder.mkdir()
        (folder / "whole.cpp").touch()
    with built_whole(folder, "it"):
        assert (folder / "whole.cpp").exists()


def test_a_build_that_was_whole_is_not_so_after_a_change_failed(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    with built_whole(folder, "it"):
        folder.mkdir()
    with (
        pytest.raises(pytest.fail.Exception, match=r"it was not built:\n.*line 3"),
        built_whole(folder, "it") as log,
    ):
        log.write_text("error in line 3\n")
        raise RuntimeError("code 2")
    with built_whole(folder, "it"):
        assert not folder.exists()
        folder.mkdir()


def test_a_python_without_its_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian has it in a package of its own."""
    finder = pytest.importorskip("find_libpython", reason=simulate.NO_COCOTB)
    monkeypatch.setattr(finder, "find_libpython", lambda: None)
    monkeypatch.setattr("shutil.which", lambda command: f"/usr/bin/{command}")
    assert "apt-get install libpython3." in simulate.missing("icarus")
