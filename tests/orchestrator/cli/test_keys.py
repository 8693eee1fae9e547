"""`tailback keys`: pairs that are made, keys that are let in, listed and revoked."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli import keys as module
from orchestrator.cli import main
from orchestrator.registry import Registry
from tests.orchestrator.cli.command_page import check_commands


@pytest.fixture
def keys(tmp_path: Path) -> Callable[..., Result]:
    """The command on a folder of the test's own."""
    app = main.assemble(Registry.load())
    return lambda *words: CliRunner().invoke(
        app, ["keys", *map(str, words), "--keys", str(tmp_path / "keys")]
    )


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The public half of another machine's key."""
    app = main.assemble(Registry.load())
    folder = tmp_path / "other"
    words = ["keys", "make", "--keys", str(folder), "--name", "alice"]
    assert CliRunner().invoke(app, words).exit_code == 0
    return folder / "own.pub"


def test_a_pair_is_made_and_its_public_half_is_printed(
    keys: Callable[..., Result], tmp_path: Path
) -> None:
    done = keys("make", "--name", "bob")
    assert done.exit_code == 0, done.output
    place, public = done.stdout.split()
    assert place == str(tmp_path / "keys" / "own.pub")
    assert public in Path(place).read_text()
    assert 'name = "bob"' in Path(place).read_text()
    assert (tmp_path / "keys" / "own.key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("node", "name"), [("lab 1/x", "lab-1-x"), ("node.a_b-c", "node.a_b-c"), ("", "own")]
)
def test_a_pair_is_named_after_the_machine(
    keys: Callable[..., Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    node: str,
    name: str,
) -> None:
    monkeypatch.setattr(platform, "node", lambda: node)
    assert keys("make").exit_code == 0
    assert f'name = "{name}"' in (tmp_path / "keys" / "own.pub").read_text()


def test_keys_are_let_in_listed_and_revoked(keys: Callable[..., Result], other: Path) -> None:
    own = keys("make", "--name", "bob").stdout.split()[1]
    done = keys("authorise", other)
    assert (done.exit_code, done.stdout) == (0, "authorised: alice\n")
    done = keys("know", other, "--name", "control")
    assert (done.exit_code, done.stdout) == (0, "known: control\n")
    rows = json.loads(keys("list", "--json").stdout)
    public = rows[1]["key"]
    assert rows == [
        {"what": "own", "name": "bob", "key": own},
        {"what": "let in", "name": "alice", "key": public},
        {"what": "controller", "name": "control", "key": public},
    ]
    assert public in other.read_text()
    text = keys("list").stdout
    assert all(word in text for word in ("what", "let in", "controller", "alice"))
    done = keys("revoke", "alice")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("revoked: alice")
    left = json.loads(keys("list", "--json").stdout)
    assert "let in" not in [row["what"] for row in left]


def test_a_role_is_kept_and_one_that_there_is_not_is_refused(
    keys: Callable[..., Result], other: Path, tmp_path: Path
) -> None:
    assert keys("authorise", other, "--role", "watch", "--name", "carol").exit_code == 0
    assert 'role = "watch"' in (tmp_path / "keys" / "authorised" / "carol.pub").read_text()
    assert keys("authorise", other, "--role", "rule").exit_code != 0


def test_its_options_are_those_of_the_page() -> None:
    found = check_commands(module)
    assert found == [f"keys {word}" for word in ("make", "authorise", "know", "revoke", "list")]
