"""Layers of a plan: bases by name and by file, scaling, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import former_names
from orchestrator.plan.base_plans import layers, scaled

S = Fraction(100)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("1Gb/s", "100Gb/s"),
        ("1 Gbps", "100Gb/s"),
        ("100us", "1us"),
        ("1s", "10ms"),
        ("33KB", "33KB"),
        ("1/128", "1/128"),
        ("15%", "15%"),
        ("plain text", "plain text"),
        ("netfpga", "netfpga"),
        (5, 5),
        (True, True),
        (None, None),
        (
            ["1s", {"rate": "1Gb/s", "note": "1Gb/s"}],
            ["10ms", {"rate": "100Gb/s", "note": "1Gb/s"}],
        ),
    ],
)
def test_rates_are_multiplied_and_times_divided(value: Any, result: Any) -> None:
    problems: list[Problem] = []
    assert scaled(value, S, "", problems) == result
    assert problems == []


@pytest.mark.parametrize("key", ["name", "title", "paper", "note", "preset", "plugin", "target"])
def test_texts_for_people_and_names_stay(key: str) -> None:
    assert scaled({key: "1s"}, S, "", []) == {key: "1s"}
    assert scaled({"at": "1s"}, S, "", []) == {"at": "10ms"}


def test_what_does_not_stay_whole_is_a_problem_at_its_place() -> None:
    problems: list[Problem] = []
    assert scaled({"a": ["1ns", "5ps"]}, Fraction(1000, 3), "", problems) == {"a": ["3ps", "5ps"]}
    ((where, value, accepted),) = [(p.where, p.value, p.accepted) for p in problems]
    assert (where, value) == ("a[1]", "5ps")
    assert accepted == "a value that stays a whole number of ps at scale 1000/3 is expected"


def test_a_quantity_of_a_range_cannot_be_scaled() -> None:
    problems: list[Problem] = []
    assert scaled({"rate": "{n}Gb/s"}, S, ".x", problems) == {"rate": "{n}Gb/s"}
    assert [(p.where, p.value) for p in problems] == [("x.rate", "{n}Gb/s")]
    assert "without braces" in problems[0].accepted
    assert scaled({"label": "{n} pieces of s"}, S, "", []) == {"label": "{n} pieces of s"}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def names(found: Any) -> list[str]:
    return [layer.data["name"] for layer in found]


def test_layers_are_the_lowest_first_with_their_files(tmp_path: Path) -> None:
    low = written(tmp_path / "nets", "low", 'name = "low"\n')
    middle = written(tmp_path, "middle", 'name = "middle"\nbase = "nets/low.toml"\nscale = "1/2"\n')
    data = {"name": "top", "base": "middle"}
    found = layers("mine", data, tmp_path / "top.toml", {}, "text")
    assert names(found) == ["low", "middle", "top"]
    assert [layer.scale for layer in found] == [1, Fraction(1, 2), 1]
    assert [layer.file for layer in found] == [str(low), str(middle), "mine"]
    assert [layer.source for layer in found] == [
        f"{low} (a base of mine)",
        f"{middle} (a base of mine)",
        "mine",
    ]
    assert [layer.text for layer in found] == [low.read_text(), middle.read_text(), "text"]


def test_a_shipped_plan_is_found_by_its_name_and_by_its_former_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "shipped", "ring", 'name = "ring"\n')
    shipped = {"ring": path}
    assert names(layers("x", {"name": "t", "base": "ring"}, None, shipped)) == ["ring", "t"]
    monkeypatch.setitem(former_names.PLANS, "circle", "ring")
    assert names(layers("x", {"name": "t", "base": "circle"}, None, shipped)) == ["ring", "t"]


def test_a_file_is_looked_for_beside_the_plan_and_then_beside_shipped_ones(tmp_path: Path) -> None:
    shipped = {"ring": written(tmp_path / "shipped", "ring", 'name = "ring"\n')}
    written(tmp_path / "shipped" / "nets", "two", 'name = "shipped two"\n')
    data = {"name": "t", "base": "nets/two.toml"}
    mine = tmp_path / "mine" / "t.toml"
    assert names(layers("x", data, mine, shipped)) == ["shipped two", "t"]
    written(tmp_path / "mine" / "nets", "two", 'name = "own two"\n')
    assert names(layers("x", data, mine, shipped)) == ["own two", "t"]


def refused(data: dict[str, Any], path: Path | None = None, **shipped: Path) -> str:
    with pytest.raises(BadInput) as caught:
        layers("mine", data, path, shipped)
    return str(caught.value)


@pytest.mark.parametrize("base", [3, "", "x" * 1001, "a\0b", ["a"]])
def test_a_base_that_is_no_name_is_refused(base: Any) -> None:
    assert "the name of a plan, or a file, is expected" in refused({"base": base})


def test_a_base_that_is_nowhere_is_refused_with_what_is_near(tmp_path: Path) -> None:
    written(tmp_path, "ring", "")
    text = refused({"base": "rings"}, tmp_path / "t.toml")
    assert "unknown plan 'rings'; did you mean ring?" in text
    assert "there are none" in refused({"base": "rings"})
    text = refused({"base": "nets/x.toml"}, tmp_path / "t.toml")
    assert f"a file below {tmp_path} is expected" in text
    assert f"a file below {tmp_path} is expected" in refused({"base": "x.toml"}, tmp_path / "t")


@pytest.mark.parametrize("key", ["scale", "without"])
def test_keys_of_a_base_need_one(key: str) -> None:
    assert "this key needs a 'base'" in refused({key: 2})


@pytest.mark.parametrize(("scale", "words"), [(0, "more than 0"), ("0%", "more than 0"), ("x", "")])
def test_a_scale_is_a_ratio_above_0(scale: Any, words: str) -> None:
    text = refused({"base": "x", "scale": scale})
    assert "scale" in text
    assert words in text


def test_circles_of_bases_are_refused(tmp_path: Path) -> None:
    one = written(tmp_path, "one", 'base = "two"\n')
    written(tmp_path, "two", 'base = "one"\n')
    text = refused({"base": "two"}, one)
    assert "without a circle, are expected" in text
    assert "two.toml" in text
    assert "without a circle" in refused({"base": "one"}, one)
