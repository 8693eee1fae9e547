"""Options of targets: how a model is read, described, refused and kept."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import pytest
from pydantic import Field

from orchestrator.capability import Capability
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import without_files
from orchestrator.plan.quantity_types import Duration, Rate, Ratio, Size
from orchestrator.plan.target_options import (
    File,
    TargetOptions,
    check_values,
    options_of,
    read_given,
    read_options,
)
from orchestrator.registry import Registry
from orchestrator.run.execute_run import prepare
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import line_of_three


class RackOptions(TargetOptions):
    """One option of every type."""

    target = "rack"

    slots: int = Field(3, ge=1, lt=16, description="Slots.")
    factor: float | None = Field(None, gt=0, le=4)
    name: str = "a"
    strict: bool = False
    mode: Literal["fast", "slow"] | None = None
    cards: list[str] = []  # noqa: RUF012  (as plugins write it)
    most: Size = 2000
    wait: Duration | None = None
    rate: Rate | None = None
    share: Ratio = Fraction(1, 2)
    file: File | None = None


MODELS = {"rack": RackOptions, "bench": TargetOptions}
TEXTS = {
    "slots": ("7", 7),
    "factor": ("0.25", 0.25),
    "name": ("b", "b"),
    "strict": ("true", True),
    "mode": ("slow", "slow"),
    "cards": (["x", "y"], ["x", "y"]),
    "most": ("33KB", 33_000),
    "wait": ("2ms", 2 * 10**9),
    "rate": ("1Gb/s", 10**9),
    "share": ("15%", Fraction(3, 20)),
    "file": ("lab.toml", "lab.toml"),
}


@pytest.mark.parametrize("key", RackOptions.model_fields)
def test_a_text_is_read_as_its_type_and_written_so_that_it_is_read_again(key: str) -> None:
    text, value = TEXTS[key]
    options = RackOptions.read({key: text})
    assert getattr(options, key) == value
    given = options.to_table(given=True)
    assert list(given) == [key]
    assert RackOptions.read(given) == options
    assert RackOptions.read(options.to_table()).to_table() == options.to_table()


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("slots", "0", "at least 1 is expected"),
        ("slots", 16, "less than 16 is expected"),
        ("slots", "many", "a whole number is expected"),
        ("factor", "nan", "a finite number is expected"),
        ("factor", "x", "a number is expected"),
        ("factor", 5, "at most 4"),
        ("name", 5, "a text is expected"),
        ("strict", "yes", "true or false is expected"),
        ("mode", "slw", "did you mean slow"),
        ("cards", "x", "a list is expected"),
        ("most", "5", "the unit is missing"),
        ("wait", "5 parsecs", "no unit of a duration"),
    ],
)
def test_a_wrong_value_is_named_on_every_way(key: str, value: Any, accepted: str) -> None:
    with pytest.raises(BadInput, match=accepted) as caught:
        read_options(MODELS, "rack", {key: value}, "targets.rack")
    assert caught.value.problems[0].where == f"targets.rack.{key}"
    for read in (read_given, None):
        with pytest.raises(BadInput, match=accepted) as caught:
            if read is None:
                check_values(MODELS, {key: value}, {key: "--it"})
            else:
                read(MODELS, "rack", {key: value}, {key: "--it"})
        assert str(caught.value).startswith("--it: ")


@pytest.mark.parametrize(
    ("target", "key", "text"),
    [
        ("bench", "slots", "bench does not take it: rack has it; leave it out, or run on rack"),
        ("rack", "slot", "rack does not take it: did you mean slots?"),
        ("bench", "slot", "bench does not take it: it has none; leave it out"),
        ("unknown", "slots", "unknown does not take it: rack has it"),
    ],
)
def test_what_a_target_lacks_is_refused_with_those_that_have_it(
    target: str, key: str, text: str
) -> None:
    for read in (
        lambda: read_options(MODELS, target, {key: "5"}, f"targets.{target}"),
        lambda: read_given(MODELS, target, {key: "5"}, {key: "--it"}),
    ):
        with pytest.raises(BadInput, match=text):
            read()


def test_an_option_that_no_target_has_is_refused_before_a_plan_is_read() -> None:
    with pytest.raises(BadInput, match="option slot: no target has this option; did you mean slot"):
        check_values(MODELS, {"slot": "5"}, {"slot": "option slot"})


def test_an_option_is_described_with_its_type_default_and_bounds() -> None:
    described = {option.key: option for option in options_of(MODELS)}
    assert list(described) == list(RackOptions.model_fields)
    shown = {key: (o.metavar, o.default_text, o.bounds) for key, o in described.items()}
    assert shown["slots"] == ("N", "3", "1 <= x < 16")
    assert shown["factor"] == ("NUMBER", "", "0 < x <= 4")
    assert shown["mode"] == ("fast|slow", "", "")
    assert shown["strict"] == ("", "", "")
    assert shown["most"] == ("SIZE", "2KB", "")
    assert shown["wait"] == ("DURATION", "", "")
    assert shown["share"] == ("RATIO", "0.5", "")
    assert shown["file"] == ("FILE", "", "")
    assert described["cards"].many
    assert described["slots"].flag == "--slots"


def test_a_field_that_no_option_can_be_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match=r"table: .* is no type of an option"):
        type("T", (TargetOptions,), {"__annotations__": {"table": dict[str, int]}, "table": {}})
    with pytest.raises(TypeError, match="slots: an option needs a default"):
        type("T", (TargetOptions,), {"__annotations__": {"slots": int}})


def test_a_plan_of_another_machine_names_no_file_of_this_one() -> None:
    with without_files(), pytest.raises(BadInput, match="came from another machine"):
        RackOptions.read({"file": "/etc/passwd"})


def test_a_resolved_plan_has_the_options_of_its_target_alone() -> None:
    tables = {"simulated": {"pace": 0.5}, "gateware": {"cores": 2}}
    resolved = Plan(**line_of_three(targets=tables)).check(Registry.load())
    assert resolved.options.to_table() == {"pace": 0.5}
    assert resolved.plan.targets == {"simulated": {"pace": 0.5}}
    assert Plan.load(resolved.plan.to_toml()).check(Registry.load()).options == resolved.options
    bare = Plan(**line_of_three()).check(Registry.load()).plan
    assert "targets" not in bare.to_table()


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        ({"simulatd": {"pace": 0.5}}, "unknown target 'simulatd'; did you mean simulated"),
        ({"gateware": {"pace": 0.5}}, "simulated and software have it"),
        ({"software": {"stamps": "quartz"}}, "targets.software.stamps: 'quartz'"),
        ({"software": {"external": {"a": "b"}}}, "targets.software.external"),
    ],
)
def test_tables_of_all_targets_are_checked(tables: dict[str, Any], text: str) -> None:
    with pytest.raises(BadInput, match=text):
        Plan(**line_of_three(targets=tables)).check(Registry.load())


def test_options_on_top_win_over_those_of_the_plan() -> None:
    registry = Registry.load()
    plan = Plan(**line_of_three(targets={"simulated": {"pace": 0.5, "cores": 1}}))
    over = plan.with_options(registry, {"pace": "0.25"})
    assert over.check(registry).options.to_table() == {"pace": 0.25, "cores": 1}
    assert plan.check(registry).options.to_table() == {"pace": 0.5, "cores": 1}
    assert over.without_options(["pace", "as"]).targets == {"simulated": {"cores": 1}}
    assert plan.with_options(registry, {}) is plan


@pytest.mark.parametrize("text", ["a b", '"', "\\", "é\U0001f600", "true", "5", "x = 1", "[1]"])
def test_any_text_of_an_option_comes_through(text: str) -> None:
    registry = Registry.load()
    plan = Plan(**line_of_three(target="software"))
    options = {"profile": text, "external": [text, text]}
    resolved = plan.with_options(registry, options).check(registry)
    assert resolved.options.to_table() == {"launch": False} | options


@pytest.mark.parametrize("target", Registry.load().targets, ids=lambda target: target.name)
def test_a_target_has_the_options_of_its_capabilities(target: Any) -> None:
    keys = set(Registry.load().target_options[target.name].model_fields)
    for capability, names in (
        (Capability.PACE, {"pace"}),
        (Capability.CORES, {"cores"}),
        (Capability.DATAPATH, {"datapath", "stamps", "launch"}),
        (Capability.CARDS, {"testbed"}),
        (Capability.EXTERNAL, {"testbed", "external"}),
    ):
        if capability in target.capabilities:
            assert names <= keys
        elif names != {"testbed"}:
            assert not names - {"testbed"} & keys


def test_a_second_model_of_a_target_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def tailback_target_options() -> list[Any]:
        return [RackOptions, RackOptions, TargetOptions, 5]

    hook = {"tailback_target_options": tailback_target_options}
    registry = Registry([entry_point(monkeypatch, "rack", **hook)])
    assert registry.target_options == {"rack": RackOptions}
    told = " ".join(registry.problems)
    assert "its options of target 'rack' are left out" in told
    assert "TargetOptions does not name its target" in told
    assert "5 is no subclass of" in told


def test_a_plan_without_a_profile_is_run_as_it_is() -> None:
    plan = Plan(**line_of_three())
    resolved, place, entry = prepare(Registry.load(), plan, advise=True)
    assert (resolved.plan, place.name, entry) == (plan.check(Registry.load()).plan, "simulated", {})
