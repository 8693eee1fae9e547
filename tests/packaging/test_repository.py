"""The files that a forge, a container builder and those who cite tailback read."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from orchestrator.package_shadowing import DISTRIBUTION, FORMER_DISTRIBUTION
from tests.docs.pages import read
from tests.packaging.conftest import ROOT, Venv

FORGE = ROOT / ".github"
FORMS = sorted(FORGE.glob("ISSUE_TEMPLATE/[!c]*.yml"))
READ_BY_OTHERS = (
    *(
        ROOT / name
        for name in ("CITATION.cff", "CONTRIBUTING.md", "Containerfile", ".dockerignore")
    ),
    *sorted(FORGE.rglob("*.yml")),
)


def instructions(name: str) -> list[str]:
    """The arguments of all instructions of a name in the Containerfile, in their order."""
    text = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", text, re.M)


def pip_commands() -> list[list[str]]:
    """What pip is asked for in the Containerfile, without the option that keeps images small."""
    steps = [step.strip() for run in instructions("RUN") for step in run.split("&&")]
    found = [shlex.split(step) for step in steps if step.startswith("pip ")]
    return [[word for word in words if word != "--no-cache-dir"] for words in found]


def test_the_image_is_made_by_the_commands_of_the_readme() -> None:
    readme = [
        shlex.split(line, comments=True)
        for block in read(ROOT / "README.md").blocks
        for line in block.text.splitlines()
        if line.startswith(("pip wheel", "pip install dist/"))
    ]
    assert len(readme) == 2
    assert [[w.removeprefix("/tmp/") for w in words] for words in pip_commands()] == readme


def test_the_image_runs_the_command_and_comes_from_debian() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert json.loads(instructions("ENTRYPOINT")[0]) == list(scripts)
    assert {stage.split()[0].partition(":")[0] for stage in instructions("FROM")} == {
        "debian",
        "base",  # the first stage
    }


def tracked() -> list[str]:
    """The files of the checkout."""
    words = ["git", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_the_build_context_has_all_that_is_tracked() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    folders = {line for line in ignored if line and not line.startswith(("#", "**/"))}
    assert {".git", ".venv", "runs"} <= folders
    assert not {name for name in tracked() if name.partition("/")[0] in folders}


@pytest.mark.slow
def test_the_steps_of_the_image_make_a_command_that_starts(tmp_path: Path) -> None:
    """Without a builder: pip's steps, in a copy of the build context and a venv of its own."""
    context = tmp_path / "src"
    for name in tracked():
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_bytes((ROOT / name).read_bytes())
    venv = Venv(tmp_path / "venv")
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "false", "PIP_NO_DEPS": "1"}
    for _, verb, *words in pip_commands():
        pip = [sys.executable, "-m", "pip", "--quiet"]
        into = ["--python", str(venv.python)] if verb == "install" else []
        line = shlex.join([*pip, *into, verb]) + " " + " ".join(words).replace("/tmp/", "")
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=context,
            env=os.environ | offline,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    (entry,) = json.loads(instructions("ENTRYPOINT")[0])
    shown = venv.run(tmp_path, entry, *json.loads(instructions("CMD")[0]))
    assert shown.returncode == 0, shown.stderr
    assert "Usage: tailback" in shown.stdout


def test_the_workflow_runs_what_every_machine_runs() -> None:
    (job,) = yaml.safe_load((FORGE / "workflows" / "ci.yml").read_text("utf-8"))["jobs"].values()
    assert job["steps"][-1]["run"].split()[-1] == ".ci/run"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in FORMS])
def test_an_issue_form_asks_for_what_a_report_needs(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"]
    assert form["description"]
    names = [field["id"] for field in form["body"]]
    assert len(set(names)) == len(names)
    assert any(field.get("validations", {}).get("required") for field in form["body"])
    assert all(field["attributes"]["label"] for field in form["body"])


def test_contributing_leads_to_pages_that_are_there() -> None:
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert "docs/contributing.md" in links
    assert all((ROOT / link).is_file() for link in links)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in READ_BY_OTHERS])
def test_no_host_is_named(path: Path) -> None:
    """Where packages and images come from is the matter of who installs."""
    assert not re.findall(r"https?://|\b[\w-]+\.(?:io|org|com|dev)\b", path.read_text("utf-8"))


# Every text names the distribution by its own name: a package index has another `tailback`.

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
