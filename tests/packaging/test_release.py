"""The commands of docs/releasing.md make a release of a clone, with its tag where it is pushed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from orchestrator import __version__
from tests.docs.pages import read
from tests.packaging.conftest import ROOT

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")


def commands(step: str) -> str:
    """The block of the page with a command."""
    (block,) = [b.text for b in read(ROOT / "docs" / "releasing.md").blocks if step in b.text]
    return block


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a maintainer: git's settings are in an empty home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {
        f"GIT_{role}_{key}": "me@here"
        for role in ("AUTHOR", "COMMITTER")
        for key in ("NAME", "EMAIL")
    }
    path = f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"
    return kept | who | {"HOME": str(tmp_path), "PATH": path, "GIT_CONFIG_NOSYSTEM": "1"}


def run(script: str, folder: Path, shell: dict[str, str]) -> str:
    """Run commands as one shell does; fails with what they printed."""
    words = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(
        words, cwd=folder, env=shell, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_the_procedure_makes_a_release_in_a_clone(tmp_path: Path, shell: dict[str, str]) -> None:
    """Version, changelog, commit, tag and push, into a repository of its own."""
    safe = f"git -c safe.directory='*' clone --quiet --bare --no-tags 'file://{ROOT}' origin.git"
    run(f"{safe} && git clone --quiet origin.git clone", tmp_path, shell)
    clone = tmp_path / "clone"
    for name in ("pyproject.toml", "CHANGELOG.md", "CITATION.cff", "orchestrator/__init__.py"):
        shutil.copy(ROOT / name, clone / name)  # also what is not committed yet
    shutil.rmtree(clone / "changelog.d", ignore_errors=True)
    shutil.copytree(ROOT / "changelog.d", clone / "changelog.d")
    (clone / "changelog.d" / "+one.fixed.md").write_text("A change that a user sees.\n")
    run("git add --all && git commit --quiet --message before", clone, shell)

    run(commands("towncrier build") + commands("git tag") + "\n", clone, shell)

    (version,) = re.findall(r"version=(\S+)", commands("towncrier build"))
    origin = tmp_path / "origin.git"
    assert run(f"git describe --exact-match release-{version}", origin, shell) == f"v{version}"
    assert run(f"git cat-file -t v{version}", origin, shell) == "tag"
    new = tmp_path / "new"
    run(f"git clone --quiet --branch v{version} origin.git new", tmp_path, shell)
    assert f'__version__ = "{version}"' in (new / "orchestrator" / "__init__.py").read_text("utf-8")
    assert yaml.safe_load((new / "CITATION.cff").read_text("utf-8"))["version"] == version
    sections = re.split(r"^## ", (new / "CHANGELOG.md").read_text("utf-8"), flags=re.M)
    assert re.match(rf"\[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n", sections[1])
    assert "- A change that a user sees.\n" in sections[1]
    assert sections[2].startswith(f"[{__version__}]")
    assert not list((new / "changelog.d").glob("+*"))
    assert run("git status --porcelain", clone, shell) == ""


def test_the_citation_names_the_release_that_the_changelog_begins_with() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    (version, date), *_ = re.findall(
        r"^## \[(\S+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert (cited["version"], cited["date-released"]) == (version, date)
    assert cited["version"] == __version__
