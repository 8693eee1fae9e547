"""Owners of files in and out of user namespaces: this user, the system, others."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator import ownership
from orchestrator.errors import BadInput
from orchestrator.live import session_registry
from orchestrator.targets.software.namespace_probe import probe
from orchestrator.targets.software.worker_process import run_job
from orchestrator.testbed import curve_keys
from tests.orchestrator.targets.software.processes import NOBODY, as_nobody, ordinary_user_python

STRANGER = 12345
WHOLE = "         0          0 4294967295\n"
NUMBERS = st.sampled_from([0, 1, 1000, STRANGER, NOBODY, NOBODY + 1, 2**32 - 2])
PATHS = st.sampled_from(
    [*sorted(ownership.SYSTEM), *map(Path, ("/tmp/x", "/home/other", "/x", "/usr/share/x"))]
)


@pytest.fixture(scope="module")
def proc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proc")
    (folder / "self").mkdir()
    (folder / "sys" / "kernel").mkdir(parents=True)
    (folder / "sys/kernel/overflowuid").write_text(f"{NOBODY}\n")
    return folder


@pytest.fixture
def shown(proc: Path, monkeypatch: pytest.MonkeyPatch):
    """Sets this process's user and the mapping of its namespace."""

    def show(user: int, uid_map: str) -> None:
        (proc / "self/uid_map").write_text(uid_map)
        monkeypatch.setattr(ownership, "PROC", proc)
        monkeypatch.setattr(ownership.os, "getuid", lambda: user)

    return show


@given(user=NUMBERS, owner=NUMBERS, path=PATHS)
def test_outside_of_namespaces_numbers_alone_count(proc: Path, user: int, owner: int, path: Path):
    with pytest.MonkeyPatch.context() as patch:
        (proc / "self/uid_map").write_text(WHOLE)
        patch.setattr(ownership, "PROC", proc)
        patch.setattr(ownership.os, "getuid", lambda: user)
        assert ownership.is_mine(owner) == (owner == user)
        assert ownership.is_system(path, owner) == (owner == 0)
        assert ownership.stranger(owner) == f"belongs to another user (number {owner})"


@given(owner=NUMBERS, path=PATHS, first=NUMBERS, count=st.integers(1, 70_000))
def test_an_owner_without_a_number_is_the_system_for_its_own_folders_alone(
    proc: Path, owner: int, path: Path, first: int, count: int
):
    """And never this user, whatever number this process is shown with."""
    with pytest.MonkeyPatch.context() as patch:
        (proc / "self/uid_map").write_text(f"{first} 1000 {count}\n")
        patch.setattr(ownership, "PROC", proc)
        patch.setattr(ownership.os, "getuid", lambda: owner)
        unmapped = owner == NOBODY and not first <= NOBODY < first + count
        assert ownership.is_mine(owner) == (owner != NOBODY)
        assert ownership.is_system(path, owner) == (
            owner == 0 or (unmapped and path in ownership.SYSTEM)
        )
        assert ("without a number" in ownership.stranger(owner)) == unmapped


def test_a_process_without_a_number_owns_no_folder(shown, proc: Path, tmp_path: Path):
    """It is shown with the number of every stranger."""
    me = os.getuid() or STRANGER
    folder = with_one(tmp_path / "keys")
    if os.getuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, me, me)
    overflow = proc / "sys/kernel/overflowuid"
    overflow.write_text(f"{me}\n")
    try:
        shown(me, WHOLE)
        assert said(folder) == "me, 1 let in"
        shown(me, f"{me + 1} 0 1\n")
        assert "without a number in this user namespace" in said(folder)
        assert "without a number in this user namespace" in (
            session_registry._private(folder) or ""
        )
    finally:
        overflow.write_text(f"{NOBODY}\n")


def checked(control: Any, *folders: str) -> list[str]:
    """What the check of each folder of keys says, in a worker's namespace."""
    return [said(Path(folder)) for folder in folders]


def said(folder: Path) -> str:
    try:
        return f"{curve_keys.own(folder).name}, {len(curve_keys.listed(folder))} let in"
    except BadInput as error:
        return str(error)


def with_one(folder: Path) -> Path:
    curve_keys.make(folder, "me")
    curve_keys.authorise(folder, curve_keys.make(folder / "x", "x").public, "x")
    return folder


@pytest.mark.software
@pytest.mark.shares_cores
def test_keys_below_the_temporary_folder_are_read_in_a_worker(tmp_path: Path):
    """Whose user namespace has one number: for an ordinary user, root's folders are unmapped."""
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    folder = with_one(tmp_path / "keys")
    assert run_job(f"{__name__}:checked", str(folder)) == ["me, 1 let in"]


CODE = """
import json, sys
from pathlib import Path
from orchestrator.targets.software.isolation import isolate
from tests.orchestrator import test_ownership as test
sound, swapped = (test.with_one(Path(folder) / "keys") for folder in sys.argv[1:])
outside = [test.said(sound), test.said(swapped)]
isolate()
print(json.dumps([outside, [test.said(sound), test.said(swapped)]]))
"""


@pytest.mark.software
@pytest.mark.shares_cores
@pytest.mark.root
def test_a_folder_of_another_user_is_refused_in_a_namespace_too():
    """Below /tmp, which is accepted: an entry of another user, with keys of this one in it."""
    if (refused := probe()) is not None:
        pytest.skip(str(refused))
    if (python := ordinary_user_python()) is None:
        pytest.skip("user nobody can execute no interpreter here")
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as sound,
        tempfile.TemporaryDirectory(dir="/tmp") as other,
    ):
        inner = Path(other) / "inner"
        inner.mkdir()
        for folder, owner in ((sound, NOBODY), (inner, NOBODY), (other, STRANGER)):
            os.chown(folder, owner, owner)
        os.chmod(other, 0o755)
        done = as_nobody([python, "-c", CODE, sound, str(inner)], {"HOME": sound})
        assert done.returncode == 0, done.stderr
        outside, inside = json.loads(done.stdout)
    assert outside == ["me, 1 let in", f"{other}: belongs to another user (number {STRANGER})"]
    assert inside[0] == "me, 1 let in"
    assert inside[1].startswith(f"{other}: belongs to a user without a number in this user name")
