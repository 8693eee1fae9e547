"""A model that two processes want is built by one of them; nodes beside gateware end with it."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from firmware import gateware_target
from firmware.target.cosimulation import never_sends
from firmware.verilated import model_build
from firmware.verilated.model_build import Model, build_lock
from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from tests.patience import PATIENCE_S

ONE = Model("qcn_nic", (("FLOWS", 2),))
PLAN = Path(__file__).parents[1] / "hardware" / "plans" / "reaction_point.toml"
HOLDER = """
import sys
from pathlib import Path
from firmware.verilated.model_build import _move_into_cache, build_lock
with build_lock(Path(sys.argv[1]), lambda: None):
    print("held", flush=True)
    sys.stdin.read()
    library = Path(sys.argv[2])
    built = library.with_suffix(".turn") / "out.so"
    built.touch()
    _move_into_cache(built.parent, library)
"""


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Another process that builds ONE until its input ends; the folder of what is built."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = model_build._model_library(ONE, False)
    words = [sys.executable, "-c", HOLDER, str(library.with_suffix(".turn")), str(library)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_what_another_process_builds_is_taken_from_it(
    held: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_build, "_build", lambda *_: pytest.fail("it was built twice"))
    waits = threading.Event()
    sleep = threading.Event().wait
    monkeypatch.setattr(
        "firmware.verilated.model_build.time.sleep", lambda s: waits.set() or sleep(s)
    )
    found: list[Path] = []
    taker = threading.Thread(
        target=lambda: found.append(model_build.build_model(ONE, lambda _: None))
    )
    taker.start()
    assert waits.wait(PATIENCE_S)
    assert found == []
    held.communicate()
    taker.join(PATIENCE_S)
    assert found == [model_build._model_library(ONE, False)]
    assert not found[0].with_suffix(".turn").exists()


def test_one_that_died_leaves_the_turn_to_the_next(
    held: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_build, "_build", lambda model, library, counts: library.touch())
    held.kill()
    held.wait()
    assert model_build.build_model(ONE, lambda _: None).exists()


@pytest.mark.usefixtures("held")
def test_who_waits_is_ended_with_the_builds_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "firmware.verilated.model_build.time.sleep", lambda _: model_build.end_builds()
    )
    with pytest.raises(RunFailed, match=r"qcn_nic .* was not built: it was ended"):
        model_build.build_model(ONE, lambda _: None)


def test_a_build_that_fails_leaves_the_turn(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), build_lock(tmp_path / "it", lambda: None):
            raise ZeroDivisionError
    assert not (tmp_path / "it").exists()


def test_models_are_kept_by_the_tools_version_and_not_by_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    here = model_build._model_library(ONE, False)
    monkeypatch.setattr(model_build, "_verilator", lambda: tmp_path / "elsewhere")
    assert model_build._model_library(ONE, False) == here
    monkeypatch.setattr(model_build.importlib.metadata, "version", lambda name: f"{name} 0.1")
    assert model_build._model_library(ONE, False) != here


@pytest.mark.parametrize(
    ("node", "settings", "expected"),
    [
        ("sink", [], True),
        ("nic2", [], True),
        ("nic1", [], False),  # sends
        ("nic2", ["traffic.load.to=nic2"], False),  # could acknowledge
        ("nic2", ['nodes.nic2.notification_point={plugin="dcqcn-np"}'], False),
        ("switch", [], False),
    ],
)
def test_who_is_silent(node: str, settings: list[str], expected: bool) -> None:
    plan = Plan.load(PLAN.read_text()).with_settings(settings)
    assert never_sends(plan, node) is expected


def test_samples_of_nodes_beside_end_with_the_run() -> None:
    clock = SimpleNamespace(row=4)
    world = SimpleNamespace(clock=[clock], row_times=np.array([0, 10, 20, 30, 0]))
    beside: Any = SimpleNamespace(world=world)
    gateware_target._end_samples(beside, 20)
    assert clock.row == 3
