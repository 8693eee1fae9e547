"""A malformed plan is told in a sentence with exit code 2, and never ends in a traceback.

Mutants of the shipped plans go through the whole command line in this process. Some of them are
still plans. Those are not run to their end, which could take hours and needs another test; but
they are not waved through either: the target is one that builds the plan's world, carries out the
first events of it and then fails with a sentence of its own (exit code 3). A world too large to be
built in a moment is left out.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.assembly import assemble
from orchestrator.assembly.descriptor_bound import descriptors
from orchestrator.cli.main import command_line
from orchestrator.engine.node.event_loop import simulate
from orchestrator.errors import RunFailed
from orchestrator.targets.simulated import Simulated
from orchestrator.targets.software.software_target import Software
from orchestrator.terminal import exit_codes
from tests.plan_mutants import WAYS
from tests.shipped import KINDS, whole

MUTANTS = 10
EVENTS = 5_000
LARGEST_WORLD = 100_000
FAR_ENOUGH = "far enough for this test"


def begin_only(self, resolved, progress, session=None):
    """Build the world of a plan and carry out its first events."""
    if descriptors(resolved) <= LARGEST_WORLD:
        world = assemble(resolved).world
        simulate(world, min(resolved.plan.duration, 10**10) + 1, EVENTS)
    raise RunFailed(FAR_ENOUGH)


@pytest.fixture
def beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every target only begins, and this process keeps its signal handlers."""
    monkeypatch.setattr(exit_codes, "raise_on_signals", contextlib.nullcontext)
    for target in (Simulated, Software):
        monkeypatch.setattr(target, "run", begin_only)
        monkeypatch.setattr(target, "probe", lambda self: None)


def fault(code: int, said: str, name: str) -> str | None:
    """What is wrong with the way in which a command line ended; None when nothing is."""
    if "Traceback" in said:
        return "a traceback"
    messages = [line for line in said.splitlines() if line.startswith("tailback: ")]
    if len(messages) != 1:
        return f"{len(messages)} messages"
    if code == exit_codes.INVALID:
        return None if messages == [f"tailback: {FAR_ENOUGH}"] else "another failure"
    if code != exit_codes.BAD_INPUT:
        return f"exit code {code}"
    return None if name in messages[0] else "the file is not named"


@pytest.mark.usefixtures("beginning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plan", KINDS)
def test_a_mutant_is_a_plan_or_bad_input(plan, way, tmp_path, capsys):
    draw = random.Random(f"{plan.stem} {way}")
    text = whole(plan)
    path, out = tmp_path / "mutant.toml", tmp_path / "runs"
    for _ in range(MUTANTS):
        path.write_bytes(WAYS[way](draw, text))
        code = command_line(["run", str(path), "--no-report", "--out", str(out)])
        said = capsys.readouterr().err
        wrong = fault(code, said, path.name)
        assert wrong is None, f"{wrong}\n{said}\n--- the plan:\n{path.read_bytes()!r}"
        assert not out.exists()


@pytest.mark.usefixtures("beginning")
@pytest.mark.parametrize("plan", KINDS)
def test_what_is_mutated_is_a_plan(plan, tmp_path, capsys):
    """The other tests would hold for a command line that refuses everything.

    That every shipped plan can be loaded, assembled and begun is for tests/plans.
    """
    path = tmp_path / "right.toml"
    path.write_text(whole(plan), encoding="utf-8")
    code = command_line(["run", str(path), "--out", str(tmp_path / "runs")])
    assert (code, fault(code, capsys.readouterr().err, path.name)) == (exit_codes.INVALID, None)


@pytest.mark.usefixtures("beginning")
def test_settings_are_refused_the_same_way(tmp_path, capsys):
    draw = random.Random("settings")
    keys = ["duration", "nodes.switch.buffer", "nodes.nic", "links.up.rate", "seed", "", "x.y", "."]
    values = ["", "1", "-1", "2s", "1Gb/s", "{}", "[1", '"', "=", "é", "\x00", "1e999", "nan"]
    for _ in range(60):
        setting = draw.choice(keys) + draw.choice(["=", "", "=="]) + draw.choice(values)
        out = tmp_path / "runs"
        code = command_line(["run", "quickstart", "--set", setting, "--out", str(out)])
        said = capsys.readouterr().err
        assert fault(code, said, "") is None, (setting, said)
        assert not out.exists()


def deep(brackets: str, depth: int = 5000) -> bytes:
    """A value nested deeper than Python's stack."""
    return b"a = " + brackets[0].encode() * depth + brackets[1].encode() * depth


FILES = {
    "empty": b"",
    "a-line-feed": b"\n",
    "not-utf-8": b'name = "\xff\xfe"\n',
    "zeros": bytes(10_000),
    "binary": bytes(range(256)) * 64,
    "deep-lists": deep("[]"),
    "deep-tables": b"[" + b"a." * 5000 + b"a]\n",
    "long-number": b"seed = " + b"9" * 10_000,
    "long-line": b'name = "' + b"x" * 1_000_000 + b'"\n',
    "many-tables": b"".join(b"[nodes.n%d]\n" % n for n in range(20_000)),
    "json": b'{"name": "x"}',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files")
    for name, data in FILES.items():
        (path / f"{name}.toml").write_bytes(data)
    (path / "a-folder.toml").mkdir()
    (path / "to-nowhere.toml").symlink_to(path / "nothing")
    (path / "round.toml").symlink_to(path / "round.toml")
    return path


@pytest.mark.parametrize(
    "name", [*FILES, "a-folder", "to-nowhere", "round", "missing", "n\udcffame"], ids=repr
)
def test_a_file_that_is_no_plan(folder, name):
    """The real command, in a process of its own."""
    command = [sys.executable, "-m", "orchestrator.cli", "run", str(folder / f"{name}.toml")]
    done = subprocess.run(
        [*command, "--out", str(folder / "runs")],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=60,
        check=False,
    )
    assert fault(done.returncode, done.stderr, ".toml") is None, done.stderr[-2000:]
    assert done.returncode == exit_codes.BAD_INPUT
    assert done.stdout == ""
    assert len(done.stderr) < 20_000, "a sentence is to be read"
    assert not (folder / "runs").exists()
