"""The registry: what plugins contribute, where it is from, and what becomes of broken ones."""

from __future__ import annotations

import errno
import json
import os
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import Field

from orchestrator.algorithm import Algorithm, congestion_point
from orchestrator.errors import BadInput, Refused, RunFailed
from orchestrator.hookspecs import hookimpl
from orchestrator.package_shadowing import DISTRIBUTION, FORMER_DISTRIBUTION
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params, Size
from orchestrator.plan.target_options import TargetOptions
from orchestrator.registry import GROUP, Registry, UnknownAlgorithm
from orchestrator.run.execute_run import run
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import Empty, line_of_three

STATE = np.dtype([("x", np.int64)])
SHIPPED = {
    "congestion_point": {"qcn-cp"},
    "delay_line": {"fixed-delay", "jittered-delay"},
    "pause": {"pause"},
    "reaction_point": {"qcn-rp"},
    "traffic": {"cbr"},
}


def point(name: Any) -> Algorithm:
    return congestion_point(name, "does nothing", Empty, STATE, arrival=lambda *_: 0)


def installed() -> list[EntryPoint]:
    return list(entry_points(group=GROUP))


def names(registry: Registry) -> list[str]:
    return [algorithm.name for algorithm in registry.algorithms]


def test_what_is_shipped() -> None:
    registry = Registry.load()
    found = {(a.kind, a.name) for a in registry.algorithms}
    assert {(kind, name) for kind, names in SHIPPED.items() for name in names} <= found
    assert {"simulated", "software"} <= {target.name for target in registry.targets}
    assert {"quickstart", "netfpga-fig08", "netfpga-fig11-w0"} <= set(registry.plans())
    assert registry.problems == []


def test_every_algorithm_names_its_origin() -> None:
    for algorithm in Registry.load().algorithms:
        assert algorithm.origin.startswith(f"{DISTRIBUTION} ")
    assert Registry.load().find("congestion_point", "qcn-cp").origin.endswith(" (plugins)")


def test_algorithms_are_in_order_of_kind_and_name() -> None:
    keys = [(a.kind, a.name) for a in Registry.load().algorithms]
    assert keys == sorted(set(keys))


def test_it_is_loaded_once() -> None:
    assert Registry.load() is Registry.load()


@pytest.mark.parametrize(("kind", "name"), [("congestion_point", "qcn-cpp"), ("pause", "qcn-cp")])
def test_what_is_not_there_is_named_with_what_is(kind: str, name: str) -> None:
    with pytest.raises(UnknownAlgorithm) as caught:
        Registry.load().find(kind, name)
    assert set(caught.value.known) >= SHIPPED[kind]
    assert name in str(caught.value)


def test_an_unknown_target() -> None:
    with pytest.raises(BadInput, match=r"there is no target 'simulate'.*simulated"):
        Registry.load().target("simulate")


def test_hooks_are_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry([entry_point(monkeypatch, "empty")])
    assert (registry.algorithms, registry.targets, registry.plans()) == ([], [], {})
    assert registry.problems == []


def test_a_module_that_is_not_there_is_one_sentence() -> None:
    registry = Registry([*installed(), EntryPoint("gone", "no_such_module_at_all", GROUP)])
    (problem,) = registry.problems
    assert problem.startswith("plugin gone of ")
    assert "ModuleNotFoundError: No module named 'no_such_module_at_all'" in problem
    assert "\n" not in problem
    assert "qcn-cp" in names(registry)


def fail(*_: Any) -> Any:
    raise RuntimeError("first line\nsecond line")


@pytest.mark.parametrize(
    ("hook", "answer", "told"),
    [
        ("tailback_algorithms", fail, "tailback_algorithms: RuntimeError: first line"),
        ("tailback_algorithms", lambda: ["no algorithm"], "'no algorithm' is not an Algorithm"),
        ("tailback_algorithms", lambda: None, "tailback_algorithms: TypeError"),
        ("tailback_algorithms", lambda: point("good"), "it returned Algorithm(name='good'"),
        ("tailback_algorithms", lambda: sys.exit(0), "tailback_algorithms: SystemExit: 0"),
        ("tailback_algorithms", lambda: [point("")], "'' names no congestion_point"),
        ("tailback_algorithms", lambda: [point("two words")], "'two words' names no"),
        ("tailback_algorithms", lambda: [point(5)], "5 names no congestion_point; a name has"),
        (
            "tailback_algorithms",
            lambda: [congestion_point("odd", "", Empty, STATE)],
            "its congestion_point 'odd' has no kernel and no messages",
        ),
        (
            "tailback_algorithms",
            lambda: [congestion_point("odd", "", Empty, ["seen"], arrival=fail)],
            "TypeError: odd: its state is ['seen']; make it with record(",
        ),
        (
            "tailback_algorithms",
            lambda: [congestion_point("odd", "", Empty, None, arrival=fail)],
            "TypeError: odd: its state is None; make it with record(",
        ),
        ("tailback_targets", lambda: [Simulated()], "its target 'simulated' is left out"),
        ("tailback_algorithms", lambda: [congestion_point], "is not an Algorithm"),
        (
            "tailback_algorithms",
            lambda: [Algorithm("odd", "router", "", Empty, STATE, {})],
            "ValueError: odd: kind 'router' is none of congestion_point",
        ),
        (
            "tailback_algorithms",
            lambda: [congestion_point("odd", "", Empty, STATE, arival=fail)],
            "ValueError: odd: a congestion_point has no kernel 'arival' (arrival,",
        ),
        (
            "tailback_algorithms",
            lambda: [congestion_point("odd", "", Empty, np.dtype([("x", "f8")]))],
            "ValueError: odd: state field x must be int64",
        ),
        ("tailback_targets", fail, "tailback_targets: RuntimeError: first line"),
        (
            "tailback_targets",
            lambda: [SimpleNamespace(name="half", summary="")],
            "is no orchestrator.target.Target",
        ),
        ("tailback_plans", lambda: ["quickstart"], "'quickstart' is not the path of a .toml file"),
        ("tailback_plans", lambda: [Path("/none.toml")], "is not the path of a .toml file"),
    ],
)
def test_an_unusable_contribution_is_one_sentence_and_harms_nobody(
    monkeypatch: pytest.MonkeyPatch, hook: str, answer: Any, told: str
) -> None:
    registry = Registry([entry_point(monkeypatch, "odd", **{hook: lambda: answer()}), *installed()])
    found = names(registry), [t.name for t in registry.targets], list(registry.plans())
    whole = Registry(installed())
    assert found == (names(whole), [t.name for t in whole.targets], list(whole.plans()))
    (problem,) = registry.problems
    assert problem.startswith("plugin odd of ")
    assert told in problem
    assert "\n" not in problem


def test_what_is_right_beside_what_is_wrong_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = entry_point(monkeypatch, "mixed", tailback_algorithms=lambda: [point("good"), 7])
    registry = Registry([plugin])
    assert names(registry) == ["good"]
    assert len(registry.problems) == 1


def test_a_name_that_is_taken_is_told_with_the_one_that_has_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = entry_point(monkeypatch, "zzz", tailback_algorithms=lambda: [point("qcn-cp")])
    registry = Registry([late, *installed()])
    assert registry.find("congestion_point", "qcn-cp").origin.startswith(f"{DISTRIBUTION} ")
    (problem,) = registry.problems
    assert problem.startswith("plugin zzz of ")
    assert f"'qcn-cp' is left out, because {DISTRIBUTION} " in problem


def test_a_hook_with_arguments_that_do_not_exist_is_one_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugin = entry_point(monkeypatch, "odd", tailback_algorithms=lambda registry: [])
    registry = Registry([plugin, *installed()])
    assert "qcn-cp" in names(registry)
    assert len(registry.problems) == 1
    assert "odd" in registry.problems[0]
    assert (
        "tailback_algorithms: unknown arguments 'registry'; it takes: none" in registry.problems[0]
    )


def test_unknown_arguments_of_a_hook_are_named_with_those_that_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugin = entry_point(monkeypatch, "odd", tailback_metrics=lambda recording, plan, x: ({}, {}))
    (problem,) = Registry([plugin]).problems
    assert problem.endswith("unknown arguments 'plan', 'x'; it takes: recording, phases")


@pytest.mark.parametrize("name", ["quickstart", "mine"])
def test_a_plan_of_a_name_that_is_taken_is_left_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of two files comes first by its path."""
    other = tmp_path / "0" / "mine.toml"
    path = tmp_path / f"{name}.toml"
    for file in (other, path):
        file.parent.mkdir(exist_ok=True)
        file.write_text('name = "x"\n', encoding="utf-8")
    points = [
        entry_point(monkeypatch, "aa", tailback_plans=lambda: [tmp_path / "0" / "mine.toml"]),
        entry_point(monkeypatch, "bb", tailback_plans=lambda: [path]),
    ]
    registry = Registry([*installed(), *points])
    plans = registry.plans()
    assert path not in plans.values()
    assert plans["mine"] == other
    (problem,) = registry.problems
    assert problem.startswith("plugin bb ")
    assert f"its plan '{name}' is left out, because " in problem


def test_a_hook_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip in a hook's name would otherwise be a plugin that silently does nothing."""
    plugin = entry_point(monkeypatch, "slip", tailback_algoritms=lambda: [point("mine")])
    registry = Registry([plugin, *installed()])
    assert "qcn-cp" in names(registry)
    (problem,) = registry.problems
    assert "tailback_algoritms" in problem


def test_a_plugin_that_ends_the_process_when_imported_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Leaver(EntryPoint):
        def load(self) -> Any:
            sys.exit("not today")

    registry = Registry([Leaver("leaver", "leaver", GROUP), *installed()])
    assert "qcn-cp" in names(registry)
    (problem,) = registry.problems
    assert "leaver" in problem


def test_two_entry_points_of_one_name_do_not_put_a_shipped_plugin_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Entry point names are each distribution's own: "builtin" and "traffic" are common ones."""
    rival = entry_point(monkeypatch, "builtin", tailback_algorithms=lambda: [point("mine")])
    for points in ([rival, *installed()], [*installed(), rival]):
        registry = Registry(points)
        assert {"mine", "qcn-cp"} <= set(names(registry))
        assert registry.find("congestion_point", "qcn-cp").origin.startswith(f"{DISTRIBUTION} ")
        assert "in_memory_builtin" in registry.find("congestion_point", "mine").origin


@pytest.mark.parametrize("hook", ["tailback_metrics", "tailback_run_files", "tailback_report"])
def test_a_plugin_that_fails_during_a_run_does_not_take_the_run_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hook: str
) -> None:
    module = ModuleType("in_memory_late")
    scope: dict[str, Any] = {}
    arguments = {
        "tailback_metrics": "recording, phases",
        "tailback_run_files": "folder, recording, plan",
        "tailback_report": "folder",
    }
    exec(f"def hook({arguments[hook]}):\n    raise RuntimeError('too late')", scope)
    setattr(module, hook, hookimpl(scope["hook"]))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    registry = Registry([EntryPoint("late", module.__name__, GROUP), *installed()])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
    done = run(Plan(**line_of_three()), out=tmp_path)
    assert done.result["metrics"]["run"]["switch.sink"]["throughput_bps"] > 0
    assert done.folder is not None
    assert (done.folder / "samples.parquet").exists()
    assert (done.folder / "report.html").exists()
    (problem,) = registry.problems
    assert problem.startswith("plugin late of ")
    assert f"{hook}: RuntimeError: too late" in problem


CORE_FILES = ["result.json", "plan.toml", "manifest.json", "events.jsonl", "samples.parquet"]


@pytest.mark.parametrize("hook", ["tailback_run_files", "tailback_report"])
@pytest.mark.parametrize("way", ["write", "remove", "rename"])
def test_a_plugin_that_changes_a_file_of_the_run_is_named_and_the_file_put_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hook: str, way: str
) -> None:
    def spoil(folder: Path, **_: Any) -> None:
        for name in CORE_FILES:
            if way == "write":
                (folder / name).write_text("{}")
            elif way == "remove":
                (folder / name).unlink()
            else:
                (folder / "mine.txt").write_text("mine")
                (folder / "mine.txt").rename(folder / name)
        (folder / "own.csv").write_text("1,2")

    def files(folder: Path, recording: Any, plan: Any) -> None:
        spoil(folder)

    def report(folder: Path) -> None:
        spoil(folder)

    hooks = {"tailback_run_files": files, "tailback_report": report}
    late = entry_point(monkeypatch, "late", **{hook: hooks[hook]})
    registry = Registry([late, *installed()])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
    done = run(Plan(**line_of_three()), out=tmp_path, report=hook == "tailback_report")
    assert done.folder is not None
    assert (
        json.loads((done.folder / "result.json").read_text())["verdict"] == done.result["verdict"]
    )
    assert pq.read_table(done.folder / "samples.parquet").num_rows > 0
    assert (done.folder / "plan.toml").read_text().startswith("name = ")
    assert (done.folder / "own.csv").exists()
    for name in CORE_FILES:
        (problem,) = (one for one in registry.problems if f" {name}, which was there" in one)
        assert problem.startswith("plugin late of ")
        assert f"{hook}: it {'removed' if way == 'remove' else 'changed'} {name}" in problem


def test_a_file_too_large_to_be_kept_is_refused_with_plugin_and_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("orchestrator.run.guarded_files.MOST_KEPT", 10)

    def spoil(folder: Path, recording: Any, plan: Any) -> None:
        (folder / "result.json").write_text("{}")

    late = entry_point(monkeypatch, "late", tailback_run_files=spoil)
    registry = Registry([late, *installed()])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
    with pytest.raises(BadInput, match=r"plugin late: tailback_run_files: it changed result\.json"):
        run(Plan(**line_of_three()), out=tmp_path, report=False)


def test_an_error_of_the_system_in_a_plugin_is_the_plugins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(folder: Path, recording: Any, plan: Any) -> None:
        (tmp_path / "weights.bin").read_bytes()

    late = entry_point(monkeypatch, "late", tailback_run_files=missing)
    registry = Registry([late, *installed()])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
    done = run(Plan(**line_of_three()), out=tmp_path / "runs", report=False)
    assert done.folder is not None
    (problem,) = registry.problems
    assert problem.startswith("plugin late of ")
    assert "tailback_run_files: FileNotFoundError" in problem
    assert "weights.bin" in problem


def test_a_full_disk_in_a_plugin_is_the_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(folder: Path, recording: Any, plan: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "big")

    late = entry_point(monkeypatch, "late", tailback_run_files=full)
    registry = Registry([late, *installed()])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
    with pytest.raises(RunFailed, match="no room left on the disk"):
        run(Plan(**line_of_three()), out=tmp_path, report=False)


@pytest.mark.parametrize("target", ["hourglas", 5, ""])
def test_options_of_no_target_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, target: Any
) -> None:
    class Odd(TargetOptions):
        grains: int = 3

    Odd.target = target
    odd = entry_point(monkeypatch, "odd", tailback_target_options=lambda: [Odd])
    registry = Registry([odd, *installed()])
    assert {"simulated", "software"} <= {one.name for one in registry.targets}
    (problem,) = registry.problems if registry.target_options else [""]
    assert "plugin odd of " in problem
    told = "no such target; " if target == "hourglas" else "does not name its target"
    assert told in problem


OWN = ["traces.samples.write_samples", "traces.pcapng.write", "traces.metrics.compute"]


@pytest.mark.parametrize("part", OWN)
@pytest.mark.parametrize(
    ("error", "told", "words"),
    [
        (MemoryError("512 octets"), RunFailed, "not enough memory.*512 octets.*nothing of the run"),
        (pa.lib.ArrowMemoryError("malloc of size 8"), RunFailed, "not enough memory.*malloc"),
        (ValueError("a bug"), ValueError, "a bug"),
        (RuntimeError("can't start new thread"), RuntimeError, "thread"),
    ],
    ids=["memory", "arrow", "value", "thread"],
)
def test_a_run_whose_own_writer_fails_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    part: str,
    error: Exception,
    told: type[Exception],
    words: str,
) -> None:
    def fail(*arguments: Any, **named: Any) -> None:
        raise error

    monkeypatch.setattr(part, fail)
    plan = line_of_three()
    plan["capture"] = {"ports": ["switch.sink"]}
    with pytest.raises(told, match=words):
        run(Plan(**plan), out=tmp_path, report=False)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "nothing is kept"
    assert Registry.load().problems == [], "it is not a plugin of a stranger"


def test_a_run_whose_report_cannot_be_drawn_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A page that `tailback report` can draw later is not worth a run."""
    registry = Registry(installed())
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))

    def fail(*arguments: Any, **named: Any) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr("traces.report.report", fail)
    done = run(Plan(**line_of_three()), out=tmp_path)
    assert done.folder is not None
    assert "tailback_report: MemoryError: no room" in registry.problems[0]


def test_each_plugin_has_the_distribution_that_it_came_with() -> None:
    """The description of one is read once, and told of its own plugins alone."""
    reads: list[str] = []

    class Installed:
        def __init__(self, name: str, version: str) -> None:
            self._name, self.version = name, version

        @property
        def name(self) -> str:
            reads.append(self._name)
            return self._name

    ours, theirs = Installed(DISTRIBUTION, "1.0"), Installed("guest", "2.0")
    points = [
        EntryPoint(name, "no_such_module_anywhere", "tailback")._for(of)  # type: ignore[attr-defined]
        for name, of in (("b", ours), ("a", theirs), ("c", ours))
    ]
    registry = Registry(points)
    assert registry._origins == {
        "b": f"{DISTRIBUTION} 1.0 (no_such_module_anywhere)",
        "c": f"{DISTRIBUTION} 1.0 (no_such_module_anywhere)",
        "a": "guest 2.0 (no_such_module_anywhere)",
    }
    assert list(registry._origins) == ["b", "c", "a"], "ours first"
    assert registry._ours == {"b", "c"}
    assert sorted(reads) == ["guest", DISTRIBUTION]


def test_a_distribution_of_the_former_name_beside_ours_is_refused() -> None:
    """Both have the same entry points, so every plugin would be registered twice."""
    dists = [SimpleNamespace(name=name, version="1.0") for name in ("guest", FORMER_DISTRIBUTION)]
    points = [
        EntryPoint(name, "no_such_module_anywhere", GROUP)._for(of)  # type: ignore[attr-defined]
        for name, of in zip("ab", dists, strict=True)
    ]
    with pytest.raises(Refused, match=r"tailback 1\.0, its former name, .*pip uninstall tailback"):
        Registry(points)
    assert Registry(points[:1]).problems


class Odd(Params):
    """A default that no plan could give."""

    line: Size = Field("many", description="a queue")  # type: ignore[assignment]


class Negative(Params):
    """A default below its bound."""

    count: int = Field(-1, ge=0, description="a number")


@pytest.mark.parametrize(
    ("params", "cause"),
    [
        (Odd, "odd: line: the default 'many': "),
        (Negative, "odd: count: the default -1: Input should be greater than or equal to 0"),
        (object, "odd: <class 'object'> is no model derived from Params"),
        (Empty(), "odd: Empty() is no model derived from Params"),
        (None, "odd: None is no model derived from Params"),
    ],
)
def test_parameters_without_a_sound_default_are_one_sentence(
    params: Any, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made() -> list[Algorithm]:
        return [congestion_point("odd", "for a test", params, STATE, arrival=lambda *_: 0)]

    registry = Registry([*installed(), entry_point(monkeypatch, "odd", tailback_algorithms=made)])
    assert "qcn-cp" in names(registry)
    (problem,) = registry.problems
    assert cause in problem


@pytest.mark.parametrize(
    ("thing", "cause"),
    [
        (3, "3 has no hooks"),
        (None, "None has no hooks"),
        ((1, 2), "(1, 2) has no hooks"),
        (SimpleNamespace(other=1), "it has no hooks"),
        (Empty, "it has no hooks"),
    ],
)
def test_an_entry_point_to_what_is_no_plugin_is_one_sentence(
    thing: Any, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("holds_a_thing")
    module.thing = thing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    registry = Registry([*installed(), EntryPoint("odd", "holds_a_thing:thing", GROUP)])
    (problem,) = registry.problems
    assert cause in problem
    assert "entry point" in problem
    assert "qcn-cp" in names(registry)


SOURCE = """import json

def deep():
    return json.loads("{")

FAULT

def tailback_algorithms():
    return []
"""


@pytest.mark.parametrize(
    ("fault", "line", "told"),
    [
        ("deep()", 4, "JSONDecodeError"),
        ("import no_such_module_at_all", 6, "ModuleNotFoundError"),
        ("raise SystemExit(0)", 6, "SystemExit: 0"),
        ("", None, "its tailback_algorithms is no hook yet; decorate it with @hookimpl"),
    ],
)
def test_an_error_while_it_is_loaded_has_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, line: int | None, told: str
) -> None:
    path = tmp_path / "faulty_in_test.py"
    path.write_text(SOURCE.replace("FAULT", fault), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry([EntryPoint("faulty", path.stem, GROUP), *installed()])
    sys.modules.pop(path.stem, None)
    (problem,) = registry.problems
    assert told in problem
    assert "\n" not in problem
    if line is not None:
        assert f"{path}:{line}: " in problem
