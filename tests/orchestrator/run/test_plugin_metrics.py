"""Metrics of plugins: refused where the name is taken, computed for each entity, never a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.plan.metric import COUNTER, GAUGE, RATIO, Metric, Unit
from orchestrator.plan.metric_registry import CORE, PLUGIN_METRICS, axis_label
from orchestrator.registry import GROUP, Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import line_of_three
from traces.report import write_report
from traces.run_reader import load

ONE = Metric(
    "mine.one", RATIO, GAUGE, "always 1", entities=("port", "flow"), compute=lambda *_: 1.0
)


@pytest.fixture(autouse=True)
def _without_plugin_metrics() -> Iterator[None]:
    """Leave the metrics that plugins declare as they were."""
    before = dict(PLUGIN_METRICS)
    yield
    PLUGIN_METRICS.clear()
    PLUGIN_METRICS.update(before)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Registry]:
    """The installed plugins and some in memory, each with one hook."""

    def made(**hooks: dict[str, Any]) -> Registry:
        points = [entry_point(monkeypatch, name, **of) for name, of in hooks.items()]
        found = Registry([*points, *entry_points(group=GROUP)])
        _ = found.metrics
        monkeypatch.setattr(Registry, "load", classmethod(lambda cls: found))
        return found

    return made


def declaring(*metrics: Metric) -> dict[str, Any]:
    return {"tailback_metric_types": lambda: list(metrics)}


def answering(values: Any, units: Any) -> dict[str, Any]:
    return {"tailback_metrics": lambda recording, phases: (values, units)}


def test_a_declared_metric_is_of_its_kinds_of_entity_in_every_phase(
    registry: Callable[..., Registry],
) -> None:
    found = registry(mine=declaring(ONE))
    plan = Plan(**line_of_three(), phases={"a": {"from": "0s", "to": "1ms"}})
    done = run(plan, out=None)
    for phase in ("run", "a"):
        having = {name for name, of in done.result["metrics"][phase].items() if "mine.one" in of}
        kinds = plan.entities()
        assert having == {name for name, of in kinds.items() if of & {"port", "flow"}}
    assert done.result["units"]["mine.one"] == "ratio"
    assert found.problems == []


def test_expectations_judge_a_declared_metric(registry: Callable[..., Registry]) -> None:
    registry(mine=declaring(ONE))
    bands = {"met": {"min": 0.5}, "missed": {"max": 0.5}}
    for verdict, band in bands.items():
        expect = [{"metric": "mine.one", "of": "switch.sink", **band}]
        done = run(Plan(**line_of_three(), expect=expect), out=None)
        assert done.result["verdict"] == verdict


@pytest.mark.parametrize("name", ["utilization", "frames.reprioritized", "fct_s.p99", "departures"])
def test_a_metric_of_the_core_cannot_be_declared(
    registry: Callable[..., Registry], name: str
) -> None:
    taken = Metric(name, RATIO, GAUGE, "0.1", entities=("port",), compute=lambda *_: 0.1)
    found = registry(thief=declaring(taken))
    (problem,) = found.problems
    assert problem.startswith("plugin thief of ")
    assert f"{name!r} is one of tailback's own" in problem
    assert "thief" not in [plugin for plugin, _ in found.metrics.values()]


def test_no_metric_of_the_core_is_replaced_by_what_a_plugin_answers(
    registry: Callable[..., Registry],
) -> None:
    """Of every metric there is, with the same verdict as without the plugin."""
    plan = Plan(
        **line_of_three(), expect=[{"metric": "utilization", "of": "switch.sink", "max": 2}]
    )
    plain = run(plan, out=None).result
    values = {"run": {"switch.sink": dict.fromkeys(CORE, 77.5)}}
    found = registry(thief=answering(values, dict.fromkeys(CORE, "1")))
    done = run(plan, out=None).result
    assert (done["metrics"], done["units"]) == (plain["metrics"], plain["units"])
    assert done["verdict"] == plain["verdict"] == "met"
    for name in CORE:
        assert any(f"its metric {name!r} is left out" in one for one in found.problems)
        assert any(f"plugin thief: its metric {name!r}" in one for one in done["notes"])


def test_of_two_plugins_with_one_metric_the_second_is_left_out(
    registry: Callable[..., Registry],
) -> None:
    found = registry(a=declaring(ONE), b=declaring(ONE))
    assert [plugin for plugin, _ in found.metrics.values()] == ["a"]
    assert "plugin b of " in found.problems[0]
    assert "'mine.one' is left out" in found.problems[0]
    found = registry(
        c=answering({"run": {"switch.sink": {"x.y": 1}}}, {"x.y": "1"}),
        d=answering({"run": {"switch.sink": {"x.y": 2, "mine.one": 3}}}, {}),
        e=declaring(ONE),
    )
    done = run(Plan(**line_of_three()), out=None).result["metrics"]["run"]["switch.sink"]
    assert (done["x.y"], done["mine.one"]) == (1, 1.0)
    assert len(found.problems) == 2


def test_a_unit_of_no_metric_is_named(registry: Callable[..., Registry]) -> None:
    found = registry(odd=answering({"run": {"switch.sink": {"x.y": 1}}}, {"x.z": "B", 5: "B"}))
    done = run(Plan(**line_of_three()), out=None).result["metrics"]["run"]["switch.sink"]
    assert done["x.y"] == 1
    assert any("a unit to 'x.z'; did you mean x.y?" in one for one in found.problems)
    assert any("a unit to 5; " in one for one in found.problems)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (3, "metrics and their units are expected"),
        (({"run": 3}, {}), "metrics and their units are expected"),
        (({"run": {"switch.sink": {"x.y": float("nan")}}}, {}), "nan is no finite number"),
        (({"run": {"switch.sink": {"x.y": "1"}}}, {}), "'1' is no finite number"),
        (({"warm-up": {"switch.sink": {"x.y": 1}}}, {}), "no phase 'warm-up'; known: run"),
        (({7: {"switch.sink": {"x.y": 1}}}, {}), "there is no phase 7"),
        (({"run": {"switch.sink": {"x.y": 1}}}, {"x.y": "furlong"}), "'furlong' is no unit"),
        (({"run": {"switch.sink": {"x.y": 1}}}, {"x.y": 5}), "5 is no unit of a metric; B, bit/s"),
    ],
)
def test_an_answer_that_is_no_table_of_numbers_is_left_out(
    registry: Callable[..., Registry], answer: Any, text: str
) -> None:
    found = registry(odd={"tailback_metrics": lambda recording, phases: answer})
    done = run(Plan(**line_of_three()), out=None)
    assert "x.y" not in done.result["metrics"]["run"]["switch.sink"]
    (problem,) = found.problems
    assert problem.startswith("plugin odd of ")
    assert text in problem


def test_a_metric_that_fails_is_named_and_the_run_kept(
    registry: Callable[..., Registry],
) -> None:
    def fail(recording: Any, entity: str, phase: Any) -> float:
        return float(recording.column(entity, "nothing")[0])

    metric = Metric("mine.two", RATIO, GAUGE, "fails", entities=("port",), compute=fail)
    found = registry(mine=declaring(metric))
    expect = [{"metric": "mine.two", "of": "switch.sink", "max": 1}]
    done = run(Plan(**line_of_three(), expect=expect), out=None)
    assert done.result["verdict"] == "missed"
    assert "'mine.two' could not be computed: MissingColumn" in found.problems[0]
    assert any("'mine.two' could not be computed" in one for one in done.result["notes"])


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (Metric("Mine", RATIO, GAUGE, "", entities=("port",), compute=min), "other characters"),
        (Metric("m.x", RATIO, GAUGE, "", entities=("prot",), compute=min), "no kind of entity"),
        (Metric("m.x", RATIO, GAUGE, "", entities=("port",)), "needs `entities` and `compute`"),
        (Metric("m.x", RATIO, GAUGE, "", compute=min), "needs `entities` and `compute`"),
        ("m.x", "'m.x' is not a Metric"),
    ],
)
def test_a_declaration_that_is_no_good_is_refused(
    registry: Callable[..., Registry], metric: Any, text: str
) -> None:
    found = registry(odd=declaring(metric))
    (problem,) = found.problems
    assert text in problem
    assert found.metrics == {}


@pytest.mark.parametrize(("unit", "basis"), [(Unit("furlong"), GAUGE), (RATIO, "guess")])
def test_unit_and_basis_are_known_ones(unit: Unit, basis: str) -> None:
    with pytest.raises(ValueError, match=r"m\.x: "):
        Metric("m.x", unit, basis, "")


def test_its_label_is_on_axes(registry: Callable[..., Registry]) -> None:
    labelled = Metric(
        "m.x", RATIO, COUNTER, "", label="share of x", entities=("port",), compute=min
    )
    registry(mine=declaring(labelled, ONE))
    assert axis_label("m.x") == "share of x"
    assert axis_label("mine.one") == "mine.one"
    assert axis_label("frames_moved") == CORE["frames.reprioritized"].sampled.label  # type: ignore[union-attr]


def test_a_report_that_is_drawn_again_has_the_panels_of_plugins(
    registry: Callable[..., Registry], tmp_path: Path
) -> None:
    def add(folder: Path) -> None:
        page = folder / "report.html"
        page.write_text(page.read_text("utf-8") + "<p>a panel</p>", "utf-8")

    registry(panel={"tailback_report": add})
    done = run(Plan(**line_of_three()), out=tmp_path)
    assert done.folder is not None
    inside, outside = done.folder / "report.html", tmp_path / "page.html"
    assert inside.read_text("utf-8").count("<p>a panel</p>") == 1
    for page in (inside, outside):
        write_report(load(done.folder), page)
        assert page.read_text("utf-8").count("<p>a panel</p>") == 1
    assert inside.read_text("utf-8").count("<p>a panel</p>") == 1
