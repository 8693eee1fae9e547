"""Every hook is prefixed, documented with its signature, implemented by us and really called."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from orchestrator import hookspecs
from orchestrator.cli import main
from orchestrator.console.key_actions import decoded, near
from orchestrator.console.run_sources import load
from orchestrator.fuzz.rtl_fuzz import hunt_rtl
from orchestrator.live.feed_messages import CapturedFrame
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import GROUP, Registry
from orchestrator.rtl_module import RtlHunted, RtlOptions
from orchestrator.run.execute_run import run
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import line_of_three

DOCUMENT = Path(__file__).parents[2] / "docs" / "hooks.md"
HOOKS: dict[str, Callable[..., Any]] = {
    name: function
    for name, function in vars(hookspecs).items()
    if hasattr(function, "tailback_spec")
}


def sections() -> dict[str, str]:
    """Text of the document below each heading that names a hook."""
    parts = re.split(r"^## `(\w+)`\n", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_there_are_hooks_and_each_carries_the_prefix() -> None:
    assert len(HOOKS) >= 7
    assert all(name.startswith("tailback_") for name in HOOKS)
    public = {
        name
        for name, thing in vars(hookspecs).items()
        if inspect.isfunction(thing) and thing.__module__ == hookspecs.__name__
    }
    assert public == set(HOOKS), "a function of hookspecs.py that is no hook"


@pytest.mark.parametrize("name", HOOKS)
def test_it_says_in_one_line_what_it_is_for(name: str) -> None:
    first, *rest = (HOOKS[name].__doc__ or "").splitlines()
    assert 10 < len(first) < 95
    assert not rest or not rest[0].strip()


@pytest.mark.parametrize("name", HOOKS)
def test_its_arguments_are_named_and_annotated(name: str) -> None:
    signature = inspect.signature(HOOKS[name])
    for parameter in signature.parameters.values():
        assert parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert parameter.default is inspect.Parameter.empty
        assert parameter.annotation is not inspect.Parameter.empty
    assert signature.return_annotation is not inspect.Signature.empty


def test_the_document_has_a_section_for_every_hook_and_no_other() -> None:
    assert list(sections()) == list(HOOKS)


@pytest.mark.parametrize("name", HOOKS)
def test_the_document_has_its_signature_and_an_example(name: str) -> None:
    text = sections()[name]
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    signature = str(inspect.signature(HOOKS[name])).replace("'", "")
    stated, actual = (ast.parse(code) for code in (blocks[0], f"def {name}{signature}: ..."))
    assert ast.unparse(stated) == ast.unparse(actual)
    assert f"def {name}(" in blocks[1], "an example"
    for block in blocks:
        compile(block, str(DOCUMENT), "exec")
    assert len(text.split("```")[2].split()) > 10, "what it is for"


OF_OTHERS = {"tailback_metric_types"}
"""Hooks of which tailback has no plugin: its own metrics are declared in `orchestrator.plan`."""


@pytest.mark.parametrize("name", sorted(set(HOOKS) - OF_OTHERS))
def test_a_shipped_plugin_implements_it(name: str) -> None:
    assert getattr(Registry.load().hook, name).get_hookimpls()


def searched(app: typer.Typer, folder: Path) -> None:
    """A search of two places, with its map."""
    judged = {"metric": "utilization", "of": "switch.sink", "min": 0.9}
    plan = Plan(**line_of_three(expect=[judged])).check(Registry.load()).plan
    (folder / "line.toml").write_text(plan.to_toml(), encoding="utf-8")
    words = ["explain", str(folder / "line.toml"), "--free", "traffic.gen.rate=0.5Gb/s,1Gb/s"]
    done = CliRunner().invoke(app, [*words, "--jobs", "1", "--out", str(folder / "searched")])
    assert done.exit_code == 0, done.output


def swept(app: typer.Typer, folder: Path) -> None:
    """A sweep of two places, with its report."""
    words = ["sweep", str(folder / "line.toml"), "--over", "traffic.gen.rate=0.5Gb/s,1Gb/s"]
    done = CliRunner().invoke(app, [*words, "--jobs", "1", "--out", str(folder / "swept")])
    assert done.exit_code == 0, done.output


def hunted_alone(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, point: EntryPoint, folder: Path
) -> None:
    """A module of its own, which no other plugin is asked to run: that takes a simulator."""
    algorithm = registry.find("congestion_point", "qcn-cp")
    options = RtlOptions(folder / "mine.py", folder)
    with monkeypatch.context() as alone:
        alone.setattr(Registry, "load", classmethod(lambda cls: Registry([point])))
        assert hunt_rtl(algorithm, options, silent).module == "spy"


def test_every_hook_is_called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A plugin that implements all of them sees each one, with what the signature promises."""
    called: dict[str, set[str]] = {}
    answers: dict[str, Any] = {
        "tailback_algorithms": [],
        "tailback_frame_types": [],
        "tailback_targets": [],
        "tailback_metric_types": [],
        "tailback_target_options": [],
        "tailback_plans": [],
        "tailback_samples": (np.zeros(1, np.int64), [], np.zeros((1, 0), np.int64)),
        "tailback_frames": [],
        "tailback_frame_words": ("data", "of the spy"),
        "tailback_hunt_rtl": RtlHunted("spy", "spy", "none"),
        "tailback_metrics": ({"run": {"spy": {"calls": 1}}}, {"calls": "1"}),
    }

    def spy(name: str) -> Callable[..., Any]:
        arguments = list(inspect.signature(HOOKS[name]).parameters)

        def note(**given: Any) -> Any:
            called[name] = {key for key, value in given.items() if value is not None}
            return answers.get(name)

        named = ", ".join(arguments)
        passed = ", ".join(f"{argument}={argument}" for argument in arguments)
        scope: dict[str, Any] = {"note": note}
        exec(f"def {name}({named}):\n    return note({passed})", scope)
        function: Callable[..., Any] = scope[name]
        return function

    point = entry_point(monkeypatch, "spy", **{name: spy(name) for name in HOOKS})
    registry = Registry([*entry_points(group=GROUP), point])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
    app = main.assemble(registry)
    registry.plans()
    done = run(Plan(**line_of_three()), out=tmp_path)
    assert done.folder is not None
    load(done.folder)
    near(done.folder, 1)
    searched(app, tmp_path)
    swept(app, tmp_path)
    decoded([CapturedFrame(port="a.b", time_ps=1, outgoing=True, length=60, octets="00")])
    hunted_alone(registry, monkeypatch, point, tmp_path)
    assert called == {
        name: set(inspect.signature(function).parameters) for name, function in HOOKS.items()
    }
    assert done.result["metrics"]["run"]["spy"] == {"calls": 1}
    assert done.result["units"]["calls"] == "1"
    assert registry.problems == []
