"""Former names: each that is declared is accepted, reported, refused beside the current one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field

from orchestrator.batch.metric_columns import Pattern
from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import Params, Size
from orchestrator.plan.former_names import (
    METRICS,
    PLANS,
    REMOVED_IN,
    collecting,
    current_keys,
    former_of,
    other_names,
)
from orchestrator.plan.metric_registry import METRICS as KNOWN
from orchestrator.plan.metric_registry import check_metric_name
from orchestrator.plan.plan import Plan
from orchestrator.plan.plan_tables import Table
from orchestrator.plan.plugin_catalog import look_up
from orchestrator.registry import Registry
from orchestrator.terminal.plan_loading import load_plan
from traces.result_schema import with_current_metrics

ALGORITHMS = Registry.load().algorithms
PARAMETERS = [
    (one, old, new) for one in ALGORITHMS for old, new in sorted(former_of(one.params).items())
]
TABLES = [
    (table, old, new)
    for table in sorted(Table.__subclasses__(), key=lambda table: table.__name__)
    for old, new in sorted(former_of(table).items())
]
PLUGINS = [(one.kind, old, one.name) for one in ALGORITHMS for old in one.former]


def value_of(params: type[Params], name: str) -> Any:
    """A valid value of a parameter, as a plan has it."""
    field = params.model_fields[name]
    return params(**required(params)).to_table()[name] if not field.is_required() else "1KB"


def required(params: type[Params]) -> dict[str, Any]:
    """Values of the parameters without default."""
    return {name: __file__ for name, field in params.model_fields.items() if field.is_required()}


def test_there_are_former_names_of_every_sort() -> None:
    assert len(PARAMETERS) > 40
    assert min(len(TABLES), len(PLUGINS), len(METRICS), len(PLANS)) > 0


@pytest.mark.parametrize(
    ("algorithm", "old", "new"), PARAMETERS, ids=[f"{one.name}-{old}" for one, old, _ in PARAMETERS]
)
def test_a_former_parameter_is_accepted_once_and_reported(
    algorithm: Any, old: str, new: str
) -> None:
    if required(algorithm.params):  # a file, which this test has not
        former = former_of(algorithm.params)
        assert current_keys({old: 1}, former, "parameter") == {new: 1}
        with pytest.raises(ValueError, match=f"leave '{old}' out"):
            algorithm.params.model_validate({old: 1, new: 1})
        return
    value = value_of(algorithm.params, new)
    with collecting() as notes:
        use = look_up(Registry.load(), algorithm.kind, "x", {"plugin": algorithm.name, old: value},
                      bare=False)  # fmt: skip
    assert use.params == algorithm.params(**{new: use.params.to_table()[new]})
    assert old not in use.to_table()
    assert notes == [
        f"{algorithm.name}: parameter {old!r} is now {new!r}; "
        f"{REMOVED_IN} no longer accepts the former name"
    ]
    assert algorithm.params(**{old: getattr(use.params, new)}) == use.params
    with pytest.raises(BadInput, match=f"leave '{old}' out") as refused:
        algorithm.params.from_table({old: value, new: value}, "x")
    assert [problem.where for problem in refused.value.problems] == [f"x.{old}"]
    # a plan's data over another's: the name of the upper one holds, whichever it is
    assert new in other_names(old, algorithm.name)
    assert old in other_names(new, algorithm.name)


@pytest.mark.parametrize(
    ("table", "old", "new"), TABLES, ids=[f"{one.__name__}-{old}" for one, old, _ in TABLES]
)
def test_a_former_plan_key_is_accepted_and_refused_beside_the_current_one(
    table: type[Table], old: str, new: str
) -> None:
    with collecting() as notes:
        assert current_keys({old: 1, "other": 2}, former_of(table), "plan key") == {
            new: 1,
            "other": 2,
        }
    assert len(notes) == 1
    with pytest.raises(ValueError, match=f"leave '{old}' out"):
        table.model_validate({old: 1, new: 1})
    assert (other_names(old, None), other_names(new, None)) == ({new}, {old})


@pytest.mark.parametrize(("kind", "old", "new"), PLUGINS)
def test_a_former_plugin_is_found_by_its_former_name(kind: str, old: str, new: str) -> None:
    registry = Registry.load()
    assert registry.find(kind, old) is registry.find(kind, new)


@pytest.mark.parametrize(("old", "new"), METRICS.items())
def test_a_former_metric_is_read_as_the_current_one(old: str, new: str) -> None:
    known = {name for metrics in KNOWN.values() for name in metrics}
    assert old not in known
    with collecting() as notes:
        assert check_metric_name(old) == new
    assert notes == [
        f"metric {old!r} is now {new!r}; {REMOVED_IN} no longer accepts the former name"
    ]
    assert Pattern.read(f"{old} of x", "--metrics") == Pattern.read(f"{new} of x", "--metrics")


def test_a_result_of_an_earlier_release_is_read_with_current_metrics() -> None:
    (old, new), *_ = METRICS.items()
    row = {"of": "x", "phase": "run", "met": True}
    former = {
        "metrics": {"run": {"x": {old: 1, "utilization": 0.5}}},
        "units": {old: "count"},
        "expectations": [row | {"metric": old}],
    }
    assert with_current_metrics(former) == {
        "metrics": {"run": {"x": {new: 1, "utilization": 0.5}}},
        "units": {new: "count"},
        "expectations": [row | {"metric": new}],
    }


@pytest.mark.parametrize(("old", "new"), PLANS.items())
def test_a_former_shipped_plan_is_found(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert load_plan(old, []) == load_plan(new, [])
    assert f"plan '{old}' is now '{new}'" in capsys.readouterr().err


def test_settings_replace_the_value_by_either_name(capsys: pytest.CaptureFixture[str]) -> None:
    where = "nodes.s.ports.b.congestion_point"
    former = load_plan("codel", [f"{where}.longest=1MB"])
    current = load_plan("codel", [f"{where}.mtu=1MB"])
    both = load_plan("codel", [f"{where}.mtu=2MB", f"{where}.longest=1MB"])
    plans = [one.check(Registry.load()).plan for one in (former, current, both)]
    assert plans[0].to_toml() == plans[1].to_toml() == plans[2].to_toml()
    assert "longest" not in plans[0].to_toml()
    assert "codel: parameter 'longest' is now 'mtu'" in capsys.readouterr().err
    assert former.check(Registry.load()).former_names == former.former_names
    assert current.former_names == ()


def test_a_plan_replaces_a_value_of_its_base_by_either_name(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text(
        load_plan("codel", ["nodes.s.ports.b.congestion_point.mtu=9KB"]).to_toml() + "\n"
    )
    for name in ("longest", "mtu"):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            f'base = "below"\nname = "{name}"\n[nodes.s.ports.b.congestion_point]\n{name} = "1MB"\n'
        )
    plans = [
        Plan.load(tmp_path / f"{name}.toml", Registry.load()).check(Registry.load())
        for name in ("longest", "mtu")
    ]
    uses = [plan.use("congestion_point", "s.b") for plan in plans]
    assert uses[0] == uses[1]
    assert uses[0] is not None
    assert uses[0].params.mtu == 10**6
    assert [len(plan.former_names) for plan in plans] == [1, 0]


def test_a_traffic_entry_is_resolved_with_the_current_name_alone() -> None:
    data = Plan.load(Registry.load().plans()["codel"]).to_table()
    name, entry = next(iter(data["traffic"].items()))
    kept = {key: entry[key] for key in ("from", "to")}
    more = {"plugin": "messages", "size": "4KB", "count": 1, "every": "1ms"}
    data = {"name": "x", "duration": "1ms", "nodes": data["nodes"], "links": data["links"]} | {
        "traffic": {name: kept | more}
    }
    table = Plan(**data).check(Registry.load()).plan.to_table()["traffic"][name]
    assert (table["interval"], "every" in table) == ("1ms", False)


def test_the_timeline_sets_a_parameter_by_its_former_name() -> None:
    data = Plan.load(Registry.load().plans()["codel"]).to_table()
    data["timeline"] = [
        {"at": "10ms", "set": "nodes.s.ports.b.congestion_point.longest", "to": "3KB"}
    ]
    resolved = Plan(**data).check(Registry.load())
    assert resolved.actions[0].values == {"mtu": 3000}
    assert resolved.plan.timeline[0].set == "nodes.s.ports.b.congestion_point.mtu"
    assert len(resolved.former_names) == 1


@pytest.mark.parametrize(
    ("setting", "meant"),
    [
        ("nodes.s.ports.b.congestion_point.longst=1KB", "did you mean mtu?"),
        ("traffic.a.both_way=true", "did you mean bidirectional?"),
    ],
)
def test_a_slip_of_a_former_name_is_answered_with_the_current_one(setting: str, meant: str) -> None:
    name = next(iter(Plan.load(Registry.load().plans()["codel"]).traffic))
    with pytest.raises(BadInput) as refused:
        load_plan("codel", [setting.replace("traffic.a.", f"traffic.{name}.")])
    assert meant in str(refused.value)


def test_a_declaration_that_is_wrong_is_refused_where_it_is_made() -> None:
    with pytest.raises(TypeError, match="no field of it"):

        class Stale(Params):
            former: ClassVar[dict[str, str]] = {"old": "gone"}
            new: Size = Field(1, description="x")

    with pytest.raises(TypeError, match="still is one"):

        class InUse(Params):
            former: ClassVar[dict[str, str]] = {"old": "new"}
            new: Size = Field(1, description="x")
            old: Size = Field(1, description="x")
