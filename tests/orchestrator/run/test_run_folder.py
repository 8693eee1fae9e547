"""The run folder: complete or not there at all, however the run ends."""

from __future__ import annotations

import glob
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from orchestrator.errors import BadInput, RunFailed
from orchestrator.run import folder_lock, partial_runs, reaper
from orchestrator.run.run_folder import RunFolder
from tests.patience import PATIENCE_S

WRITER = """
import sys, time
from pathlib import Path
from orchestrator.run.run_folder import RunFolder
print("begun", flush=True)
while True:
    with RunFolder.open(Path(sys.argv[1]), "plan") as folder:
        for index in range(20):
            folder.write_json(f"captures/{index}.json", list(range(200)))
        folder.write_json("result.json", {"complete": True})
        folder.commit()
"""
"""Makes one run after the other, until something stops it."""


FORKER = """
import os, sys, time
from pathlib import Path
from orchestrator.run.run_folder import RunFolder
with RunFolder.open(Path(sys.argv[1]), "plan") as folder:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    print("begun", flush=True)
    time.sleep(60)
"""
"""Has a child that outlives it."""


def start(code: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    """Run Python code in a process of its own; its stdout and stderr are pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    )


def wait_until(condition, seconds: float = PATIENCE_S) -> bool:
    """Look every 5 ms whether a condition has come true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def partials(base: Path) -> list[Path]:
    """Partial folders anywhere below; what vanishes while this looks is passed over."""
    names = glob.glob(
        f"**/.*{partial_runs.SUFFIX}", root_dir=base, recursive=True, include_hidden=True
    )
    return [base / name for name in names]


def test_a_committed_run_has_its_files_under_its_final_name(tmp_path):
    with RunFolder.open(tmp_path / "runs", "plan") as folder:
        folder.write_json("result.json", {"a": 1})
        folder.write_text("plan.toml", "seed = 1\n")
        assert partials(tmp_path) == [folder.path]
        assert not folder.final.exists()
        path = folder.commit()
    assert path == folder.path == folder.final
    assert path.parent == tmp_path / "runs" / "plan"
    assert json.loads((path / "result.json").read_text()) == {"a": 1}
    assert sorted(p.name for p in path.iterdir()) == ["plan.toml", "result.json"]
    assert partials(tmp_path) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_leaving_by_an_error_leaves_nothing(tmp_path, error):
    base = tmp_path / "deep" / "runs"
    with pytest.raises(error), RunFolder.open(base, "plan") as folder:
        folder.write_text("half", "x")
        raise error
    assert list(tmp_path.iterdir()) == []  # nor the folders above it that were made for it


def test_leaving_without_commit_leaves_nothing_but_what_was_there(tmp_path):
    with RunFolder.open(tmp_path, "plan") as folder:
        folder.commit()
    with RunFolder.open(tmp_path, "plan"):
        pass
    assert list((tmp_path / "plan").iterdir()) == [folder.final]


def test_an_existing_folder_is_never_overwritten(tmp_path):
    with RunFolder.open(tmp_path, "plan") as folder:
        folder.final.mkdir()
        with pytest.raises(RunFailed, match="nothing was overwritten"):
            folder.commit()
    assert folder.final.exists()
    assert partials(tmp_path) == []


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up"])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path, name):
    with pytest.raises(BadInput, match="cannot be the name of a folder"):
        RunFolder.open(tmp_path, name)


@pytest.mark.parametrize("seed", range(12))
def test_kill_9_at_any_moment_leaves_only_complete_runs(tmp_path, seed):
    process = start(WRITER, tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(random.Random(seed).uniform(0.0, 0.12))
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    assert wait_until(lambda: not partials(tmp_path))
    for run in tmp_path.glob("plan/*"):
        assert json.loads((run / "result.json").read_text()) == {"complete": True}
        assert len(list(run.rglob("*.json"))) == 21


def test_kill_9_takes_the_folders_made_for_the_run_along(tmp_path):
    code = WRITER.replace("folder.commit()", "print(1, flush=True); time.sleep(60)")
    process = start(code, tmp_path / "deep" / "runs")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    assert len(partials(tmp_path)) == 1
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    assert wait_until(lambda: not list(tmp_path.iterdir()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_whole_group_leaves_nothing(tmp_path, number):
    code = WRITER.replace("folder.commit()", "print(1, flush=True); time.sleep(60)")
    process = start(code, tmp_path / "runs", start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    os.killpg(process.pid, number)  # as a terminal that closes; the reaper must outlive it
    process.communicate(timeout=PATIENCE_S)
    assert wait_until(lambda: not list(tmp_path.iterdir()))


def test_a_child_that_lives_on_does_not_keep_the_folder_alive(tmp_path):
    process = start(FORKER, tmp_path / "runs", start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        process.kill()
        process.wait(timeout=PATIENCE_S)
        assert wait_until(lambda: not list(tmp_path.iterdir()))
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)


def test_a_forked_child_that_leaves_the_block_does_not_remove_it(tmp_path):
    with RunFolder.open(tmp_path, "plan") as folder:
        child = os.fork()
        if child == 0:
            folder.__exit__(None, None, None)
            os._exit(0)
        os.waitpid(child, 0)
        assert folder.path.exists()
        folder.commit()
    assert folder.final.exists()


def test_what_a_dead_run_and_reaper_left_is_removed_by_the_next_run(tmp_path):
    left = tmp_path / "plan" / ".20260101T000000Z-abcdef.1.partial"
    (left / "captures").mkdir(parents=True)
    assert partial_runs.stale_folders(tmp_path) == [left]
    with RunFolder.open(tmp_path, "other") as folder:
        assert not left.exists()
        assert partial_runs.stale_folders(tmp_path) == []
        assert list(partial_runs.partial_folders(tmp_path)) == [folder.path]
        assert partial_runs.remove_stale(tmp_path) == []
        assert folder.path.exists()


def test_a_link_is_never_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / f".link{partial_runs.SUFFIX}").symlink_to(kept)
    assert partial_runs.remove_stale(tmp_path) == []
    assert kept.exists()


def test_a_removed_folder_cannot_be_locked(tmp_path):
    with pytest.raises(FileNotFoundError):
        folder_lock.acquire(tmp_path / "gone")
    assert not folder_lock.is_free(tmp_path / "gone")


def _make_runs(base: Path, count: int) -> None:
    for index in range(count):
        with RunFolder.open(base, "plan") as folder:
            folder.write_json("result.json", index)
            if index % 3:
                folder.commit()


def test_many_runs_at_once_in_processes_do_not_disturb_each_other(tmp_path):
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_make_runs, args=(tmp_path / "runs", 9)) for _ in range(4)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(PATIENCE_S)
        assert run.exitcode == 0
    found = list((tmp_path / "runs" / "plan").iterdir())
    assert len(found) == 4 * 6
    assert all((path / "result.json").exists() for path in found)


def _abandon_runs(base: Path, who: int, count: int) -> None:
    for index in range(count):
        with RunFolder.open(base, f"plan-{who}-{index % 3}") as folder:
            folder.write_json("captures/x.json", index)


def test_folders_that_vanish_beside_a_run_do_not_stop_it(tmp_path):
    context = multiprocessing.get_context("fork")
    base = tmp_path / "runs"
    runs = [context.Process(target=_abandon_runs, args=(base, who, 40)) for who in range(4)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(PATIENCE_S)
        assert run.exitcode == 0
    # whoever made `runs` may have left before its neighbours: that it stays, empty, is all right
    assert list(tmp_path.rglob("*")) in ([], [base])


def test_runs_at_once_in_threads_do_not_disturb_each_other(tmp_path):
    runs = [threading.Thread(target=_make_runs, args=(tmp_path, 6)) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(PATIENCE_S)
    assert len(list((tmp_path / "plan").iterdir())) == 3 * 4


REFUSED = """
import sys
from pathlib import Path
from orchestrator.errors import BadInput
from orchestrator.run.run_folder import RunFolder
try:
    RunFolder.open(Path(sys.argv[1]), "plan")
except BadInput as error:
    print(error)
"""


def ordinary() -> list[str]:
    """What to put before a command so that file modes count for it, even for root."""
    if os.getuid() != 0:
        return []
    enter = ["unshare", "--user"]  # with no user mapped: the same files, no power over them
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode:
        pytest.skip("root cannot give up its power over files here")
    return enter


@pytest.mark.parametrize("below", ["", "new"])
def test_a_folder_that_may_not_be_written_is_named_before_the_run(tmp_path, below):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    base = closed / below
    done = subprocess.run(
        [*ordinary(), sys.executable, "-c", REFUSED, str(base)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    sentence = f"{base}: the output folder cannot be written to (Permission denied)"
    assert done.stdout.startswith(sentence)
    assert "--out" in done.stdout
    assert not done.stderr
    assert list(closed.iterdir()) == []


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "runs").write_text("")
    with pytest.raises(BadInput, match="runs: the output folder cannot be written to"):
        RunFolder.open(tmp_path / "runs", "plan")


def test_a_limit_on_file_size_ends_like_a_full_disk(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with (
            pytest.raises(RunFailed, match="no room left on the disk"),
            RunFolder.open(tmp_path, "plan") as folder,
        ):
            folder.write_text("samples", "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


FILL = """
import sys
from pathlib import Path
from orchestrator.errors import RunFailed
from orchestrator.run.run_folder import RunFolder
try:
    with RunFolder.open(Path(sys.argv[1]), "plan") as folder:
        if sys.argv[2] == "parquet":
            import numpy, pyarrow, pyarrow.parquet
            table = pyarrow.table({"x": numpy.random.default_rng(1).integers(0, 1 << 60, 500_000)})
            pyarrow.parquet.write_table(table, folder.file("samples.parquet"))
        else:
            folder.write_text("samples", "x" * 10_000_000)
        folder.commit()
except RunFailed as error:
    print(error)
print(sorted(Path(sys.argv[1]).rglob("*")))
"""


@pytest.mark.parametrize("writer", ["text", "parquet"])
def test_a_full_disk_is_said_in_a_sentence_and_leaves_nothing(tmp_path, writer):
    small = f'mount -t tmpfs -o size=256k none "{tmp_path}" && exec "$@"'
    enter = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", small, "sh"]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    done = subprocess.run(
        [*enter, sys.executable, "-c", FILL, str(tmp_path), writer],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    sentence, left = done.stdout.splitlines()
    assert sentence.startswith(f"{tmp_path}: no room left on the disk (")
    assert sentence.endswith("nothing of the run was kept")
    assert left == "[]"


def test_an_error_that_is_not_about_the_folder_passes_through(tmp_path):
    with pytest.raises(PermissionError), RunFolder.open(tmp_path, "plan"):
        raise PermissionError(1, "Operation not permitted", "/dev/net/tun")
    assert list(tmp_path.iterdir()) == []


def test_not_a_number_is_refused_before_it_is_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"), RunFolder.open(tmp_path, "plan") as folder:
        folder.write_json("result.json", {"x": float("nan")})


def test_the_reaper_stays_away_from_folders_in_use(tmp_path):
    used = tmp_path / "used"
    (used / "other").mkdir(parents=True)
    reaper.remove(str(used / "gone"), [str(used), str(tmp_path)])
    assert (used / "other").exists()


def test_a_place_that_takes_no_folder_is_named() -> None:
    with pytest.raises(BadInput, match="/proc/nowhere: no folder can be made there"):
        RunFolder.open(Path("/proc/nowhere"), "plan")
