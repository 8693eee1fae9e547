"""What stands in two places says the same: checks before a commit, versions."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from orchestrator import __version__
from orchestrator.package_shadowing import DISTRIBUTION
from tests.packaging.conftest import ROOT


def test_pre_commit_checks_what_make_lint_checks() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    repositories = yaml.safe_load(text)["repos"]
    assert [one["repo"] for one in repositories] == ["local"], "a foreign repository"
    hooks = repositories[0]["hooks"]
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert recipe is not None
    lines = [line.strip().lstrip("@") for line in recipe[1].splitlines()]
    checks = [line.replace("$(BIN)", ".venv/bin") for line in lines]
    assert [hook["entry"] for hook in hooks] == checks
    for hook in hooks:
        assert hook["always_run"]
        assert not hook["pass_filenames"], "make lint looks at everything"


def test_pre_commit_accepts_its_configuration() -> None:
    command = [ROOT / ".venv" / "bin" / "pre-commit", "validate-config"]
    done = subprocess.run(
        [*command, ".pre-commit-config.yaml"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_version_stands_in_one_place_and_the_changelog_tells_of_it() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "\nversion =" not in text
    released = re.findall(
        r"^## \[(\S+)\] - \d{4}-\d{2}-\d{2}$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert released[0] == __version__
    assert metadata.version(DISTRIBUTION) == __version__, (
        "the environment is older than the checkout"
    )


def changelog(root: Path) -> str:
    """What towncrier adds to the changelog for the fragments of a tree."""
    command = [ROOT / ".venv" / "bin" / "towncrier", "build", "--draft", "--version", "9.9.9"]
    done = subprocess.run(
        [*command, "--date", "2031-02-03"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fragments(root: Path) -> list[Path]:
    """The files of changes that are not released."""
    return sorted((root / "changelog.d").glob("+*.md"))


def test_every_fragment_is_one_sentence_of_a_known_kind() -> None:
    assert "## [9.9.9] - 2031-02-03" in changelog(ROOT)  # of an unknown kind: an error
    for path in fragments(ROOT):
        text = path.read_text("utf-8")
        assert re.fullmatch(r"[^-*#\s][^\n]{1,198}\.\n", text), f"{path.name}: {text!r}"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree without changes that are not released."""
    (tmp_path / "changelog.d").mkdir()
    for name in ("pyproject.toml", "changelog.d/README.md", "changelog.d/template.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_fragments_become_a_section_in_the_form_of_the_changelog(tree: Path) -> None:
    for name in ("+b.fixed", "+a.fixed", "+c.added", "+d.security", "+e.removed", "+f.changed"):
        (tree / "changelog.d" / f"{name}.md").write_text(f"Sentence {name[1]}.\n")
    kinds = {"Added": "c", "Changed": "f", "Fixed": "ab", "Security": "d", "Removed": "e"}
    section = "## [9.9.9] - 2031-02-03\n"
    for kind, names in kinds.items():
        section += f"\n### {kind}\n\n" + "".join(f"- Sentence {name}.\n" for name in names)
    assert changelog(tree).strip() == section.strip()


@pytest.mark.parametrize("name", ["+a.feature.md", "+a.md", "notes.md"])
def test_a_file_that_is_no_fragment_is_an_error(tree: Path, name: str) -> None:
    (tree / "changelog.d" / name).write_text("Sentence.\n")
    with pytest.raises(AssertionError, match=re.escape(name)):
        changelog(tree)


def test_the_changelog_of_a_release_has_a_line_for_each_change() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    section = re.split(r"^## ", text, flags=re.M)[1]
    assert "[Unreleased]" not in text, "changes that are not released are in changelog.d"
    kinds = re.findall(r"^### (.*)$", section, re.M)
    assert kinds == [k for k in ("Added", "Changed", "Fixed", "Security", "Removed") if k in kinds]
    entries = re.findall(r"^- (?:.+\n)(?:  .+\n)*", section, re.M)
    assert entries
    long = [entry for entry in entries if len(entry) > 260 or entry.count("\n") > 2]
    assert not long, long
