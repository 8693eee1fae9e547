"""Disks that are full, read-only, somebody else's or limited."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.orchestrator.targets.software.processes import (
    MARK,
    NOBODY,
    as_nobody,
    gone,
    ordinary_user_python,
)
from tests.robustness.runs import QUICK, one_sentence
from tests.traces_of_runs import Run

IN_TMPFS = """
options=$1 folder=$2; shift 2
mount -t tmpfs -o "$options" tmpfs "$folder" || exit 77
"$@"; code=$?
find "$folder" -mindepth 1
exit $code
"""


def in_tmpfs(options: str, folder: Path) -> list[str]:
    """What to put before a command to have a file system of its own over `folder`.

    After the command it prints what is left in there.
    """
    if shutil.which("unshare") is None:
        pytest.skip("unshare (util-linux) is not installed")
    # In a user namespace the default folder of live feeds may be that of root, and not ours.
    live = tempfile.mkdtemp(prefix="live.", dir=folder.parent)  # a socket's name has to be short
    before = [
        "env",
        f"TAILBACK_LIVE={live}",
        "unshare",
        "-Urm",
        "sh",
        "-c",
        IN_TMPFS,
        "sh",
        options,
        str(folder),
    ]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("mounts of one's own are not allowed here")
    return before


@pytest.mark.parametrize("size", ["200k", "1500k"])
def test_a_disk_that_is_full(target, tmp_path, size):
    before = in_tmpfs(f"size={size}", tmp_path)
    with Run(*QUICK, "--target", target, "--out", tmp_path, before=before) as run:
        code, output, said = run.end()
        assert run.left(tmp_path) == []
    assert (code, output) == (3, ""), said
    one_sentence(said, str(tmp_path), "no room left on the disk", "nothing of the run was kept")


def test_a_disk_without_room_for_another_file(target, tmp_path):
    before = in_tmpfs("nr_inodes=2", tmp_path)
    with Run(*QUICK, "--target", target, "--out", tmp_path, before=before) as run:
        code, output, said = run.end()
        assert run.left(tmp_path) == []
    assert (code, output) == (3, ""), said
    one_sentence(said, str(tmp_path), "no room left on the disk")


@pytest.mark.parametrize("limit", [1_000, 100_000])
def test_a_limit_on_the_size_of_files(target, out, limit):
    if shutil.which("prlimit") is None:
        pytest.skip("prlimit (util-linux) is not installed")
    before = ["prlimit", f"--fsize={limit}"]
    with Run(*QUICK, "--target", target, "--out", out, before=before) as run:
        code, output, said = run.end()
        assert run.left(out.parent) == []
    assert (code, output) == (3, ""), said
    one_sentence(said, str(out), f"(the limit is {limit} octets)", "`ulimit -f` raises that")
    assert not out.exists()


def test_a_file_system_that_is_read_only(target, tmp_path):
    before = in_tmpfs("ro", tmp_path)
    with Run(*QUICK, "--target", target, "--out", tmp_path / "runs", before=before) as run:
        code, output, said = run.end()
        assert run.left(tmp_path) == []
    assert (code, output) == (2, ""), said
    one_sentence(said, str(tmp_path), "Read-only file system", "--out DIR")


@pytest.mark.root
def test_a_folder_of_somebody_else(target):
    python = ordinary_user_python()
    if python is None:
        pytest.skip("user nobody can execute no Python of this version with our packages")
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as theirs:
        os.chmod(theirs, 0o755)
        os.chown(home, NOBODY, NOBODY)
        mark = f"somebody-else-{target}-{os.getpid()}"
        command = [python, "-m", "orchestrator.cli", *QUICK, "--target", target, "--out"]
        done = as_nobody([*command, f"{theirs}/runs"], {"HOME": home, MARK: mark})
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        one_sentence(done.stderr, theirs, "cannot be written to (Permission denied)", "--out DIR")
        assert os.listdir(theirs) == []
        assert gone(mark)


def test_a_file_in_the_place_of_the_folder(target, tmp_path):
    place = tmp_path / "runs"
    place.write_text("mine")
    with Run(*QUICK, "--target", target, "--out", place) as run:
        code, output, said = run.end()
        assert run.left(tmp_path) == []
    assert (code, output) == (2, "")
    one_sentence(said, str(place), "--out DIR")
    assert place.read_text() == "mine"


def test_a_disk_without_room_for_compiled_code(target, out, tmp_path):
    before = in_tmpfs("size=40k", tmp_path)
    arguments = [*QUICK, "--target", target, "--out", out]
    with Run(*arguments, before=before, NUMBA_CACHE_DIR=str(tmp_path)) as run:
        code, _, said = run.end()
        assert run.left(out.parent) == []
    assert code == 3, said
    one_sentence(said, "no room left on the disk")
    assert not out.exists()
