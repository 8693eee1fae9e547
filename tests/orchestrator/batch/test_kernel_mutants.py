"""Edits of kernels: those that a reader of the papers would think of are among them, and an edit
is gone without a trace when the next experiment is run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from orchestrator.algorithm import Algorithm
from orchestrator.batch import kernel_edit
from orchestrator.batch.batch_executor import run_points
from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.kernel_edit import KernelEdit
from orchestrator.batch.kernel_mutants import kernel_edits, kernel_functions
from orchestrator.batch.point_worker import PointRunner
from orchestrator.batch.worker_replies import DONE
from orchestrator.engine import cache_paths
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.orchestrator.worlds import line_of_three


def algorithm(name: str) -> Algorithm:
    return next(one for one in Registry.load().algorithms if one.name == name)


def edits_of(name: str) -> list[KernelEdit]:
    return [
        edit
        for function, is_event in kernel_functions(algorithm(name))
        for _, make in kernel_edits(function, is_event)
        if (edit := make()) is not None
    ]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("codel", "square_root(min(max(count, 1), 1 << 20) << 2 * ROOT_BITS) -> min("),
        ("codel", "assignment forgotten: state.count += 1"),
        ("pie", "term dropped: grown"),
        ("pie", "reset forgotten: state.summed = 0"),
        ("qcn-cp", "plugins.qcn_cp.on_arrival"),
        ("qcn-rp", "event ignored"),
        ("dctcp", "factor dropped"),
        ("timely", "branch never taken"),
        ("hpcc", "branch always taken"),
        ("dcqcn-rp", "assignment forgotten: state.alpha"),
        ("swift", "branch never taken"),
        ("nscc", "constant changed"),
    ],
)
def test_edits_that_papers_speak_of(name: str, change: str) -> None:
    assert [one.change for one in edits_of(name) if change in one.change]


@pytest.mark.parametrize("name", ["codel", "pie", "dctcp", "hpcc", "swift"])
def test_each_edit_is_one_change_that_python_can_read(name: str) -> None:
    edits = edits_of(name)
    assert len(edits) > 20
    for edit in edits:
        assert edit.code().co_name == edit.function
        assert "<mutant of plugins." in edit.code().co_filename
    sources = {(edit.module, edit.function, edit.source) for edit in edits}
    assert len(sources) > len(edits) * 0.7  # some of them come to the same code


def qcn(**changes: Any) -> Plan:
    """One source at twice the service rate, held by QCN."""
    table = line_of_three(duration=20 * 10**9) | changes
    table["nodes"] = {
        "nic": {"kind": "nic", "reaction_point": {"plugin": "qcn-rp"}},
        "switch": {
            "kind": "switch",
            "service_rate": 5 * 10**8,
            "buffer": 150_000,
            "congestion_point": {"plugin": "qcn-cp"},
        },
        "sink": {"kind": "sink"},
    }
    return Plan(**table)


def edit_of(name: str, part: str) -> KernelEdit:
    return next(one for one in edits_of(name) if part in one.change)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the cache: other tests write into the one that all share."""
    run_points([Point(Experiment.of(qcn()), 1)], jobs=1)
    folder = tmp_path / "cache"
    shutil.copytree(cache_paths.folder() / "entries", folder / "entries")
    monkeypatch.setenv(cache_paths.VARIABLE, str(folder))
    return folder


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("qcn-rp", "plugins.qcn_rp.on_feedback"),  # a kernel
        ("qcn-cp", "plugins.qcn_cp._count"),  # what a kernel calls, through another function
        ("qcn-cp", "branch never taken: if feedback > 0"),
    ],
)
def test_an_edit_runs_alone_and_leaves_nothing_in_the_cache(
    name: str, part: str, cache: Path
) -> None:
    subject = Experiment.of(qcn())
    ignored = subject.with_kernel(edit_of(name, part))
    (plain,) = run_points([Point(subject, 1)], jobs=1)
    before = files(cache)
    points = [Point(one, 1) for one in (subject, ignored, subject, ignored)]
    first, second = run_points(points[:1], jobs=1), run_points(points[1:2], jobs=1)
    assert first[0].row["metrics"] == plain.row["metrics"]
    assert second[0].row["metrics"] != plain.row["metrics"]
    # the same in one worker, one after the other
    other = [Point(one, 2) for one in (subject, ignored)]
    mixed = run_points([other[0], other[1], Point(subject, 1)], jobs=1)
    assert mixed[2].row["metrics"] == plain.row["metrics"]
    assert mixed[1].row["metrics"] != mixed[0].row["metrics"]
    assert files(cache) == before


def test_an_edit_is_gone_once_another_is_applied() -> None:
    ignored, shortened = (edit_of("qcn-cp", part) for part in ("_count", "count_arrival"))
    table, runner, found = Experiment.of(qcn()).table, PointRunner(), []
    try:
        for edit in (None, ignored, shortened, ignored, None):
            kernel_edit.apply_edit(edit)
            outcome, row = runner.answer(table, 1)
            assert outcome == DONE, row
            found.append(row["metrics"])
    finally:
        kernel_edit.apply_edit(None)
    assert found[0] == found[4] != found[1] == found[3]


def test_equal_results_have_equal_keys_and_others_have_others() -> None:
    subject = Experiment.of(qcn())
    edits = edits_of("qcn-rp")
    digests = {subject.with_kernel(one).digest for one in edits} | {subject.digest}
    sources = {(one.module, one.function, one.source) for one in edits}
    assert len(digests) == len(sources) + 1


def test_an_edit_without_effect_measures_the_same() -> None:
    subject = Experiment.of(qcn())
    edit = edit_of("qcn-rp", "on_feedback")
    head, _, _ = edit.source.partition("\n")
    module, name = edit.module, edit.function
    own = kernel_edit.KernelEdit(module, name, _own_source(module, name), "none")
    assert head.startswith("def ")
    found = run_points([Point(subject, 1), Point(subject.with_kernel(own), 1)], jobs=1)
    assert found[0].row["metrics"] == found[1].row["metrics"]


def _own_source(module: str, name: str) -> str:
    import ast
    import importlib
    import inspect

    from orchestrator.engine.jit import plain

    tree = ast.parse(inspect.getsource(plain(getattr(importlib.import_module(module), name))))
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    return ast.unparse(tree)


def test_a_kernel_that_never_ends_or_cannot_be_compiled_stops_nothing_else() -> None:
    from dataclasses import replace

    subject = replace(Experiment.of(qcn()), cpu_s=20.0)
    edit = edit_of("qcn-rp", "on_feedback")
    head = edit.source.partition("\n")[0]
    loop = replace(edit, source=f"{head}\n    while True:\n        state.byte_stage += 1\n")
    nothing = replace(edit, source=f"{head}\n    return undefined_name\n")
    endless = replace(subject.with_kernel(loop), cpu_s=3.0)
    faulty = subject.with_kernel(nothing)
    points = [Point(one, seed) for one in (endless, faulty, subject) for seed in (1, 2)]
    failures: dict[str, str] = {}
    found = run_points(points, jobs=1, failures=failures)
    assert [one.point for one in found] == points[4:]
    assert set(failures) == {endless.digest, faulty.digest}
    assert "signal" in failures[endless.digest]
    assert "undefined_name" in failures[faulty.digest]
