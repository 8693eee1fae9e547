"""Whatever ends a run, nothing of it stays behind, and a sentence says what went wrong.

Through the real command line, for both targets. A run that was ended while it wrote may have been
complete already: then its folder is whole. Moments are taken from what the run says of itself, or
drawn with a fixed seed; none depends on how fast the machine is.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.targets.software.probe import probe
from tests.orchestrator.targets.software.processes import (
    MARK,
    NOBODY,
    as_nobody,
    gone,
    marked,
    ordinary_user_python,
)
from tests.traces_of_runs import Run, partial_folders

pytestmark = pytest.mark.slow

QUICK = ["run", str(Path(__file__).with_name("short.toml"))]
ENDLESS = {
    "simulated": [*QUICK, "--set", "duration=3000s", "--set", "sample_interval=1s"],
    "software": [*QUICK, "--set", "duration=300s", "--set", "sample_interval=1s"],
}
RUNNING = {"simulated": "simulating", "software": "running"}
FILES = {
    *("plan.toml", "manifest.json", "events.jsonl", "result.json", "samples.parquet"),
    *("latency.parquet", "report.html"),
    *("captures/switch-sink.pcapng", "captures/nic-switch.pcapng"),
}
TARGETS = ["simulated", pytest.param("software", marks=pytest.mark.software)]


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """A target that this machine can run, its code compiled."""
    name: str = request.param
    if name == "software" and (refused := probe()) is not None:
        pytest.skip(str(refused))
    with tempfile.TemporaryDirectory() as out:
        Run(*QUICK, "--target", name, "--no-report", "--out", out).end()
    return name


@pytest.fixture
def software(target: str) -> str:
    if target != "software":
        pytest.skip("there is no worker")
    return target


@pytest.fixture
def out() -> Iterator[Path]:
    """A folder for runs that is not there yet."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "runs"


def whole(out: Path) -> list[Path]:
    """The run folders in `out`, each with all its files; anything else there is a fault."""
    folders = [Path(path) for path in sorted(out.glob("*/*"))]
    for folder in folders:
        names = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
        assert names == FILES, folder
        json.loads((folder / "result.json").read_text())
    return folders


def one_sentence(said: str, *words: str) -> None:
    """The last line is the only message, and it has the words."""
    lines = said.splitlines()
    assert "Traceback" not in said, said
    assert [line for line in lines if line.startswith("tailback:")] == lines[-1:], said
    assert all(word in lines[-1] for word in words), said


# --- kill -9 of the main process

MOMENTS = [random.Random(moment).uniform(0, 2) for moment in range(4)]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: f"{moment:.2f}s")
def test_killed_at_any_moment(target, out, moment):
    with Run(*QUICK, "--target", target, "--out", out) as run:
        time.sleep(moment)
        run.process.kill()
        run.end()
        assert run.left(out.parent) == []
    if whole(out) == []:
        assert not out.exists(), "the folders that were made for it are gone too"


@pytest.mark.parametrize("stage", ["compiling", "running", "writing", "drawing"])
def test_killed_at_a_stage(target, out, stage):
    if target == "simulated" and stage == "compiling":
        pytest.skip("it has no such stage when it is compiled")
    plan = ENDLESS[target] if stage == "running" else QUICK
    with Run(*plan, "--target", target, "--out", out) as run:
        assert run.wait_for(RUNNING[target] if stage == "running" else stage)
        assert stage != "running" or len(partial_folders(out.parent)) == 1
        assert target == "simulated" or stage != "running" or len(run.networks) >= 4
        run.process.kill()
        assert run.end()[0] == -signal.SIGKILL
        assert run.left(out.parent) == []
    assert len(whole(out)) <= (stage == "drawing")


def test_killed_while_it_compiles(target, out):
    with (
        tempfile.TemporaryDirectory() as cache,
        Run(*QUICK, "--target", target, "--out", out, NUMBA_CACHE_DIR=cache) as run,
    ):
        assert run.wait_for("compiling")
        time.sleep(0.5)
        run.process.kill()
        run.end()
        assert run.left(out.parent) == []
    assert not out.exists()


def test_killed_together_with_its_reaper_the_next_run_tidies_up(out):
    with Run(*ENDLESS["simulated"], "--target", "simulated", "--out", out) as run:
        assert run.wait_for("simulating")
        for process in marked(run.mark):
            os.kill(process, signal.SIGSTOP)  # so that the reaper cannot see the others end
        for process in marked(run.mark):
            os.kill(process, signal.SIGKILL)
        run.end()
        assert gone(run.mark)
    assert len(partial_folders(out)) == 1
    with Run(*QUICK, "--target", "simulated", "--out", out) as run:
        assert run.end()[0] == 0
        assert run.left(out.parent) == []
    assert len(whole(out)) == 1


# --- kill -9 of the worker


@pytest.mark.parametrize("stage", ["preparing", "running"])
def test_a_worker_that_is_killed_ends_the_run_with_a_sentence(software, out, stage):
    with Run(*ENDLESS[software], "--target", software, "--out", out) as run:
        assert run.wait_for(stage)
        while (worker := run.worker()) is None:
            assert run.process.poll() is None
            time.sleep(0.01)
        os.kill(worker, signal.SIGKILL)
        code, output, said = run.end()
        assert run.left(out.parent) == []
    assert (code, output) == (3, "")
    one_sentence(said, "target software", "the worker process ended (signal 9)")
    assert not out.exists()


# --- signals

SIGNALS = [
    pytest.param(signal.SIGINT, "interrupted", id="ctrl-c"),
    pytest.param(signal.SIGTERM, "stopped by SIGTERM", id="sigterm"),
]


@pytest.mark.parametrize(("number", "words"), SIGNALS)
@pytest.mark.parametrize("stage", ["compiling", "running", "writing"])
def test_a_signal_to_the_process_group(target, out, number, words, stage):
    if target == "simulated" and stage == "compiling":
        pytest.skip("it has no such stage when it is compiled")
    plan = ENDLESS[target] if stage in ("compiling", "running") else QUICK
    with Run(*plan, "--target", target, "--out", out) as run:
        assert run.wait_for(RUNNING[target] if stage == "running" else stage)
        run.interrupt(number)
        code, output, said = run.end()
        assert run.left(out.parent) == []
    if stage == "writing" and whole(out):
        return  # it was complete before the signal came
    # Python ends by the signal itself when the signal came within `exec` of a text
    assert code in (128 + number, -number)
    assert output == ""
    one_sentence(said, words, "nothing of an unfinished run was kept")
    assert not out.exists()


@pytest.mark.parametrize(("number", "words"), SIGNALS)
@pytest.mark.parametrize("moment", [0.5, 1.5])
def test_a_signal_while_it_compiles(target, out, number, words, moment):
    with (
        tempfile.TemporaryDirectory() as cache,
        Run(*QUICK, "--target", target, "--out", out, NUMBA_CACHE_DIR=cache) as run,
    ):
        assert run.wait_for("compiling")
        time.sleep(moment)
        run.interrupt(number)
        code, _, said = run.end()
        assert run.left(out.parent) == []
    assert code in (128 + number, -number)
    one_sentence(said, words)
    assert not out.exists()


@pytest.mark.parametrize("module", [b"pydantic_core", b"llvmlite", b"pyarrow"])
def test_ctrl_c_while_it_imports(out, module):
    with Run(*QUICK, "--target", "simulated", "--out", out) as run:
        maps = Path(f"/proc/{run.process.pid}/maps")
        while run.process.poll() is None and module not in maps.read_bytes():
            time.sleep(0.001)
        run.interrupt()
        code, _, said = run.end()
        assert run.left(out.parent) == []
    if not whole(out):
        assert code in (128 + signal.SIGINT, -signal.SIGINT)
        one_sentence(said, "interrupted")


SWALLOWED = """
import ctypes, signal, time
from orchestrator.terminal import exits
exits.raise_on_signals()
number = signal.Signals[{name!r}]
callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))
try:
    callback()
    time.sleep(20)
    print("swallowed")
except BaseException as error:
    print(exits.explain(error))
"""


@pytest.mark.parametrize(("number", "words"), SIGNALS)
def test_a_signal_that_a_callback_swallows_is_delivered_again(number, words):
    """The compiler calls back from C, from where no exception gets out."""
    command = [sys.executable, "-c", SWALLOWED.format(name=number.name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"{128 + number}\n"
    one_sentence(done.stderr, words)


# --- places that cannot be written to

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
    before = ["unshare", "-Urm", "sh", "-c", IN_TMPFS, "sh", options, str(folder)]
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


def test_a_folder_of_somebody_else(target):
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
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


# --- two at once


def test_two_runs_at_once_are_both_kept(target, out):
    """On a busy machine the software target's verdict may be that the machine was too busy."""
    arguments = [*QUICK, "--target", target, "--out", out, "--json"]
    with Run(*arguments) as one, Run(*arguments) as two:
        ended = [run.end() for run in (one, two)]
        assert [run.left(out.parent) for run in (one, two)] == [[], []]
    results = [json.loads(output) for _, output, _ in ended]
    assert sorted(Path(result["folder"]) for result in results) == whole(out)
    assert len(whole(out)) == 2
    for (code, _, _), result in zip(ended, results, strict=True):
        assert {"met": 0, "unjudged": 0, "missed": 1, "invalid": 3}[result["verdict"]] == code
        assert all(row["met"] for row in result["expectations"])
        assert sum(result["fidelity"].get("lost_outside_queues", {}).values()) == 0


def test_a_run_that_is_killed_leaves_its_neighbour_alone(target, out):
    with Run(*ENDLESS[target], "--target", target, "--out", out) as one:
        assert one.wait_for(RUNNING[target])
        with Run(*QUICK, "--target", target, "--out", out) as two:
            assert two.wait_for("running" if target == "software" else "writing")
            one.process.kill()
            one.end()
            two.end()
            assert two.left(out.parent) == []
        assert one.left(out.parent) == []
    assert len(whole(out)) == 1


# --- the folder of compiled code


def test_a_disk_without_room_for_compiled_code(target, out, tmp_path):
    before = in_tmpfs("size=40k", tmp_path)
    arguments = [*QUICK, "--target", target, "--out", out]
    with Run(*arguments, before=before, NUMBA_CACHE_DIR=str(tmp_path)) as run:
        code, _, said = run.end()
        assert run.left(out.parent) == []
    assert code == 3, said
    one_sentence(said, "no room left on the disk")
    assert not out.exists()
