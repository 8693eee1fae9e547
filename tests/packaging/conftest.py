"""The distribution as users get it: built once, and installed outside of the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Installed = Callable[[Path], "Venv"]


class Venv:
    """A virtual environment that sees this one's libraries behind its own packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
        subprocess.run(make, check=True, timeout=60)
        self.python = folder / "bin" / "python"
        (self.site,) = folder.glob("lib/python*/site-packages")
        # Not as site folder: the .pth that leads to the checkout must not be read.
        (self.site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")

    def install(self, wheel: Path) -> None:
        """Have pip install a wheel, alone."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"]
        offline = ["--no-deps", "--no-index", "--disable-pip-version-check", "--no-compile"]
        self._checked([*pip, *offline, str(wheel)])

    def uninstall(self, name: str) -> None:
        """Have pip remove a distribution."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "uninstall", "--quiet"]
        self._checked([*pip, "--yes", name])

    def run(self, folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command of this environment in a folder."""
        program, *arguments = map(str, words)
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH",)}
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )

    @staticmethod
    def _checked(command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was made of it."""
    out = tmp_path_factory.mktemp("dist")
    build(out)
    return out


def build(out: Path, *options: str) -> None:
    """Build the checkout; without options: the sdist, and the wheel from that."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), *options]
    done = subprocess.run(
        [*command, str(ROOT)], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """tailback's wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture
def venv(tmp_path: Path, wheel: Path) -> Venv:
    """An environment of its own with tailback in it."""
    made = Venv(tmp_path / "venv")
    made.install(wheel)
    return made
