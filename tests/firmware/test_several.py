"""Models that are not built yet are built side by side, and all end with the first error."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from firmware.verilated import model_build, parallel_build
from firmware.verilated.model_build import Model
from orchestrator.errors import RunFailed
from orchestrator.progress import Progress

ONE, TWO, THREE = (Model("qcn_nic", (("FLOWS", flows),)) for flows in (2, 4, 8))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[Model]:
    """The models that are there; two cores."""
    found: set[Model] = set()
    monkeypatch.setattr(parallel_build, "is_built", lambda model, counts: model in found)
    monkeypatch.setattr(parallel_build.os, "sched_getaffinity", lambda _: {0, 1})
    return found


def test_what_is_missing_is_built_at_once_and_reported_from_one_thread(
    kept: set[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=60)
    asked: list[tuple[Model, bool]] = []
    said: list[tuple[Progress, int]] = []

    def built(model: Model, progress: Any, done: float = 0.0, *, counts: bool) -> Path:
        if model not in kept:
            both.wait()
            kept.add(model)
            asked.append((model, counts))
        progress(Progress("building", done, model.title))
        return Path(model.title)

    monkeypatch.setattr(parallel_build, "build_model", built)
    kept.add(THREE)
    libraries = parallel_build.build_models(
        [ONE, TWO, ONE, THREE], lambda p: said.append((p, threading.get_ident())), counts=True
    )
    assert libraries == {one: Path(one.title) for one in (ONE, TWO, THREE)}
    assert sorted(asked, key=str) == sorted([(ONE, True), (TWO, True)], key=str)
    assert {thread for _, thread in said} == {threading.get_ident()}
    assert ONE.title in said[0][0].detail
    assert TWO.title in said[0][0].detail


@pytest.mark.parametrize("error", [RunFailed("no"), KeyboardInterrupt()])
def test_whatever_ends_it_ends_all_builds(
    kept: set[Model], error: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = threading.Event()
    ended: list[Model] = []
    popen = subprocess.Popen

    def starts(*words: Any, **how: Any) -> Any:
        process = popen(*words, **how)
        begun.set()
        return process

    def built(model: Model, progress: Any, done: float = 0.0, *, counts: bool) -> Path:
        if model == TWO:
            assert begun.wait(60)
            raise error
        with pytest.raises(RunFailed, match="was not built"):
            model_build._run(["sleep", "100"], tmp_path, "it")
        ended.append(model)
        return tmp_path

    monkeypatch.setattr(model_build.subprocess, "Popen", starts)
    monkeypatch.setattr(model_build, "verilator_environment", dict)
    monkeypatch.setattr(parallel_build, "build_model", built)
    since = time.monotonic()
    with pytest.raises(type(error)):
        parallel_build.build_models([ONE, TWO, THREE], lambda _: None)
    assert time.monotonic() - since < 60
    assert ONE in ended
    assert model_build._running_builds == set()


def test_what_counts_is_compiled_otherwise_and_kept_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], folder: Path, what: str) -> None:
        ran.append(command)
        (folder / "out.so").touch()
        (folder / "made").mkdir(exist_ok=True)
        (folder / "made" / "Vnode___024root.h").touch()

    monkeypatch.setattr(model_build, "_run", run)
    monkeypatch.setattr(model_build, "_verilator", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    libraries = [
        model_build.build_model(ONE, lambda _: None, counts=counts) for counts in (False, True)
    ]
    assert len(set(libraries)) == 2
    assert all(library.exists() for library in libraries)
    assert [model_build.is_built(ONE), model_build.is_built(ONE, counts=True)] == [True, True]
    with monkeypatch.context() as other:
        other.setattr(model_build, "COMPILE_COUNTING", (*model_build.COMPILE_COUNTING, "-g"))
        assert [model_build.is_built(ONE), model_build.is_built(ONE, counts=True)] == [True, False]
    compilers = [command for command in ran if command[0] == "g++" and "-o" in command]
    assert [("-O3" in one, "-O1" in one) for one in compilers] == [(True, False), (False, True)]
    verilators = [command for command in ran if command[0] == "verilator"]
    assert ["--coverage-line" in one for one in verilators] == [False, True]
