"""What is told of branches: noted in processes of their own, sorted, kept and replayed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestrator import python_command
from orchestrator.cli.main import assemble
from orchestrator.fuzz import cross_target
from orchestrator.fuzz.branch_coverage import Branches, BranchShare, _share, branch_text, reasons
from orchestrator.fuzz.condition_coverage import Marks
from orchestrator.fuzz.fuzz_loop import REACHING
from orchestrator.fuzz.invariant_check import check_invariants
from orchestrator.fuzz.plan_corpus import plans_in
from orchestrator.fuzz.plan_minimizer import minimized
from orchestrator.fuzz.python_kernel_process import PythonKernels
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.orchestrator.worlds import Table, line_of_three, recorded

CORPUS = Path(__file__).parent / "corpus"
KERNEL = '''
def kernel(first, rounds):
    """Some conditions."""
    if first > 1:
        return 1
    # never true: nobody asks for it
    if first == -1:
        return 2
    for _ in range(rounds):  # never false: it is left before
        if first == 0:
            break
    return 3


def other(value):
    return 1 if value else 2
'''
CALLS = "import a_kernel\na_kernel.kernel({}, {})\n"


def noted(folder: Path, *calls: tuple[int, int]) -> tuple[Marks, Path]:
    """What processes that call a kernel note of it."""
    path = (folder / "a_kernel.py").resolve()
    path.write_text(KERNEL)
    marks = Marks(folder, [path])
    for first, rounds in calls:
        environment = marks.environment(python_command.environment(PYTHONDONTWRITEBYTECODE="1"))
        environment["PYTHONPATH"] += f":{folder}"
        command = python_command.code(CALLS.format(first, rounds))
        subprocess.run(command, env=environment, check=True, timeout=60)
    return marks, path


def places(share: BranchShare, name: str) -> list[tuple[int, bool]]:
    return [(number, how) for _, number, how in getattr(share, name)]


def test_a_branch_is_reached_missing_excused_or_contradicted(tmp_path: Path) -> None:
    marks, path = noted(tmp_path, (0, 3))
    share = _share(marks, [(path, "kernel")])
    assert [one.text for one in marks.files[path]] == [
        "first > 1", "first == -1", "for _ in range(rounds)", "first == 0", "value",
    ]  # fmt: skip
    assert places(share, "reached") == [(0, False), (1, False), (2, True), (3, True)]
    assert places(share, "missing") == [(0, True), (3, False)]
    assert places(share, "excused") == [(1, True), (2, False)]
    assert share.contradicted == []
    assert share.count == 6
    assert branch_text(marks, share.missing[0]) == (
        f"{tmp_path.name}/a_kernel.py:4:8 kernel: `first > 1` never true"
    )
    assert [one.rpartition(": ")[2] for one in reasons(marks, share.excused)] == [
        "nobody asks for it", "it is left before",
    ]  # fmt: skip
    marks.clear()
    assert _share(marks, [(path, "kernel")]).reached == []


def test_processes_add_up_and_a_wrong_remark_is_told(tmp_path: Path) -> None:
    marks, path = noted(tmp_path, (2, 0), (-1, 0), (1, 2))
    share = _share(marks, [(path, "kernel"), (path, "other")])
    assert places(share, "contradicted") == [(1, True), (2, False)]
    assert places(share, "excused") == []
    assert (0, True) in places(share, "reached")
    assert (3, False) in places(share, "reached")
    assert places(share, "missing") == [(3, True), (4, False), (4, True)]
    assert share.count == 10


def test_kernels_and_node_logic_are_counted_apart() -> None:
    branches = Branches(Registry.load().algorithms)
    folders = {path.parent.name for path in branches.files}
    assert folders == {"plugins", "traffic", "node"}


def command(*words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
    done = CliRunner().invoke(assemble(Registry.load(), ["hunt"]), ["hunt", *words, "--json"])
    assert done.exit_code in codes, done.output
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_plans_that_reached_something_are_kept_and_tried_first(tmp_path: Path) -> None:
    words = ("--branches", "--out", str(tmp_path))
    first = command("--plans", "3", "--seed", "5", *words)
    kept = [path for path, _ in plans_in(tmp_path / REACHING)]
    assert 1 <= len(kept) <= 3
    assert first["replayed"] == 0
    again = command("--plans", "1", "--seed", "900", *words)
    assert again["replayed"] == len(kept)
    for before, after in zip(
        first["branches"]["algorithms"], again["branches"]["algorithms"], strict=True
    ):
        assert set(after["missing"]) <= set(before["missing"]), after["name"]
        assert after["reached"] + len(after["missing"]) == after["branches"]


@pytest.mark.software
@pytest.mark.timeout(300)
def test_branches_are_counted_on_real_frames_too(tmp_path: Path) -> None:
    """What a plan of the corpus reaches there is nearly what it reaches on `simulated`."""
    for name in ("bcn", "one-octet"):
        (found,) = CORPUS.rglob(f"{name}.toml")
        shutil.copy(found, tmp_path)
    with PythonKernels(target="software") as real, PythonKernels() as plain:
        for _, plan in plans_in(tmp_path):
            looked = check_invariants(plan.check(Registry.load()), (real, plain))
            assert looked.finding is None, looked.finding
        there, here = (
            {branch_text(one.marks, b) for b in one.kernels.reached} for one in (real, plain)
        )
        node = real.reached()["node"]["reached"]
    assert len(there & here) > 0.8 * len(here)
    assert node > 100


@pytest.mark.software
@pytest.mark.timeout(300)
def test_the_command_tells_branches_of_real_frames_apart(tmp_path: Path) -> None:
    """Whether the machine kept up or not: then a count may be off, which is a finding."""
    words = ("--plans", "1", "--branches", "--target", "software", "--out", str(tmp_path))
    done = command(*words, codes=(0, 1))
    here, there = done["branches"], done["branches"]["targets"]["software"]
    assert 0 < there["kernels"]["reached"] <= here["kernels"]["branches"]
    names = [[one["name"] for one in each["algorithms"]] for each in (there, here)]
    assert set(names[0]) - set(names[1]) == {"sockets"}
    assert [one["name"] for one in here["not_run"]] == ["sockets"]
    assert there["not_run"] == []


def test_plain_python_that_measures_something_else_is_found() -> None:
    resolved = Plan(**line_of_three()).check(Registry.load())
    recording = recorded(line_of_three())
    with PythonKernels() as plain:
        assert plain(resolved, recording) is None
        assert plain.new > 0
        assert plain(resolved, recording) is None
        assert plain.new == 0
        plain.forget()
        recording.column("switch.sink", "frames_in")[3] += 1
        finding = plain(resolved, recording)
        assert plain.new > 0
    assert finding is not None
    assert finding.what == "differs: plain Python"


def test_a_longer_run_with_more_frames_is_not_smaller() -> None:
    """One traffic less shows it in a longer run alone, which has more frames."""
    table = line_of_three()
    table["traffic"]["more"] = table["traffic"]["gen"]

    def frames(one: Table) -> int | None:
        if len(one["traffic"]) == 2:
            return 10
        return 20 if one["duration"] > table["duration"] else None

    assert len(minimized(table, frames, tries=300)["traffic"]) == 2


def test_flows_of_an_entry_are_counted_together() -> None:
    """A target with one flow of two has no count that is wrong, but the sum is."""
    table = line_of_three()
    table["traffic"]["gen"] |= {"flows": 2, "rate": 10**8}
    one = recorded(table)
    table["traffic"]["gen"]["flows"] = 1
    finding = cross_target.beyond_seeds("there", recorded(table), [one])
    assert finding is not None
    assert "all flows of gen" in finding.text
