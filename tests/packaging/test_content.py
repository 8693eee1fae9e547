"""What the wheel and the sdist hold."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from orchestrator import __version__
from tests.packaging.conftest import ROOT, Venv, build

PACKAGES = ("firmware", "orchestrator", "plugins", "tailback", "traces", "traffic")
ELSEWHERE = {"traces/pytest_plugin/entry_point.py"}
"""Installed under another name."""
pytestmark = pytest.mark.slow


def content(wheel: Path) -> dict[str, str]:
    """Name and digest of every file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def tracked(*under: str) -> set[str]:
    """The files of the checkout, those that are not yet committed included."""
    words = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run([*words, *under], capture_output=True, text=True, check=True)
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return set(content(wheel))


def test_the_wheel_holds_the_packages_whole_and_nothing_else(names: set[str]) -> None:
    ours = tracked(*PACKAGES) - ELSEWHERE
    info = f"tailback_testbed-{__version__}.dist-info/"
    added = {"_tailback_pytest.py"}
    assert {name for name in names if not name.startswith(info)} == ours | added
    assert any(name.endswith(".v") for name in ours), "no Verilog to look for"
    assert any(name.endswith(".toml") for name in ours), "no plan to look for"


def test_every_package_says_that_it_is_typed(names: set[str]) -> None:
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


def test_metadata_tells_the_version_and_the_licence(wheel: Path, names: set[str]) -> None:
    assert f"tailback_testbed-{__version__}-py3" in wheel.name
    info = f"tailback_testbed-{__version__}.dist-info"
    assert f"{info}/licenses/LICENSE" in names
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"{info}/METADATA").decode()
    assert re.search(rf"^Version: {re.escape(__version__)}$", text, re.MULTILINE)
    assert "License-Expression: BSD-2-Clause" in text


def test_the_checkout_builds_the_same_wheel_as_the_sdist(wheel: Path, tmp_path: Path) -> None:
    build(tmp_path, "--wheel")
    (direct,) = tmp_path.glob("*.whl")
    assert content(direct) == content(wheel)


def test_the_sdist_holds_what_working_on_it_takes(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    wanted = tracked(*PACKAGES, "tests", "docs", "Makefile", "CHANGELOG.md")
    assert wanted <= held, sorted(wanted - held)[:5]
    assert {"pyproject.toml", "README.md", "LICENSE", ".pre-commit-config.yaml"} <= held


# mypy knows what `import tailback` gives, from the wheel alone.


def test_mypy_finds_the_types_and_the_mistakes(venv: Venv, tmp_path: Path) -> None:
    text = Path(__file__).with_name("user_script.py").read_text(encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(text)
    line = {word: 1 + text[: text.index(word)].count("\n") for word in ("reveal", "seven", "dikt")}
    options = ["--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--python-executable", venv.python, *options, script.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.stdout.splitlines() == [
        f'script.py:{line["reveal"]}: note: Revealed type is "str"',
        f'script.py:{line["seven"]}: error: Argument "seed" to "run" has incompatible type "str"; '
        'expected "int | None"  [arg-type]',
        f'script.py:{line["dikt"]}: error: "Run" has no attribute "verdikt"; maybe "verdict"?  '
        "[attr-defined]",
    ], done.stderr
