"""Every text names the distribution by its own name: a package index has another `tailback`."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest

from orchestrator.package_shadowing import DISTRIBUTION, FORMER_DISTRIBUTION
from tests.packaging.conftest import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = sorted(PYPROJECT["project"]["optional-dependencies"])
FORMER = rf"(?<![-\w./]){FORMER_DISTRIBUTION}(?![-\w/]|\.\w)"
MISTAKES = {
    "an extra of the former name": rf"{FORMER}\\?\[(?:{'|'.join(EXTRAS)})\\?\]",
    "pip installs the former name": rf"pip3? install(?:\s+-\S+)*\s+[\\'\"]*{FORMER}",
    "pip asks an index for tailback": rf"pip3? install(?:\s+-\S+)*\s+[\\'\"]*{DISTRIBUTION}"
    r"(?![-\w/]|\.\w|\\?\[)",
    "a dependency on the former name": rf"dependencies\\?\"?\s*[=:]\s*\[[^\]]*[\"'\\]+{FORMER}",
}


def mistakes(text: str) -> list[str]:
    """The mistakes in a text, one for each kind and place."""
    return [
        f"{kind}: {match[0]!r}"
        for kind, pattern in MISTAKES.items()
        for match in re.finditer(pattern, text)
    ]


def texts() -> Iterator[tuple[str, str]]:
    """Name and text of every file of the tree, those that are not yet committed included."""
    words = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (octets := path.read_bytes()):
            yield name, octets.decode("utf-8", "replace")


def test_no_text_of_the_tree_leads_to_another_distribution() -> None:
    found = [f"{name}: {mistake}" for name, text in texts() for mistake in mistakes(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pip install 'X[hunt]'", "pip install 'Y[hunt]'"),
        ("(pip install\n'X[prove]')", "(pip install\n'Y[prove]')"),
        (r"pip install 'X\[cluster\]'", r"pip install 'Y\[cluster\]'"),
        ('"X[sweeps]",  # both designs', '"Y[sweeps]",  # both designs'),
        ('dependencies = ["X"]', 'dependencies = ["Y"]'),
        ('dependencies = [\n  "numpy",\n  "X>=0.3",\n]', 'dependencies = [\n  "numpy",\n  "Y",\n]'),
        ("pip install X", "pip install ./tailback"),
        ("pip install --force-reinstall --no-deps X.", "pip install --no-deps ../tailback"),
        ("pip install Y", "pip install dist/Y-0.3.0.whl"),
        ("pip3 install --upgrade 'Y'", "pip install tailback-lab"),
    ],
)
def test_a_text_that_leads_elsewhere_is_found(before: str, after: str) -> None:
    def named(text: str) -> str:
        return text.replace("X", FORMER_DISTRIBUTION).replace("Y", DISTRIBUTION)

    assert mistakes(named(before))
    assert not mistakes(named(after))


def test_the_distribution_has_a_name_of_its_own_and_the_command_keeps_its() -> None:
    assert PYPROJECT["project"]["name"] == DISTRIBUTION
    assert list(PYPROJECT["project"]["scripts"]) == ["tailback"]


def test_an_extra_is_added_to_what_is_installed_without_an_index() -> None:
    """The remedy `pip install 'tailback-testbed[hunt]'` holds before an index has the name."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--dry-run"]
    words = ["--no-index", "--no-build-isolation", f"{DISTRIBUTION}[hunt]"]
    done = subprocess.run([*pip, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "Would install" not in done.stdout
