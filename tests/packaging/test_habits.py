"""What stands in two places says the same: checks before a commit, versions."""

from __future__ import annotations

import re
import subprocess
from importlib import metadata

import yaml

from orchestrator import __version__
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
    assert metadata.version("tailback") == __version__, "the environment is older than the checkout"


def test_the_changelog_begins_with_what_is_not_released() -> None:
    headings = re.findall(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[:2] == ["Unreleased", __version__]
