"""Tables and conclusion of a search for parameters, from results that are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.explain_report import (
    as_markdown,
    conclusion,
    head,
    rows,
    short_names,
    shortened,
    show_search,
)

RATE, SIZE = "traffic.gen.rate", "nodes.switch.buffer"


def parameter(key: str, values: list[str], tried: list[str], **changes: Any) -> dict[str, Any]:
    found = {
        "key": key,
        "values": values,
        "tried": tried,
        "gaps": [],
        "least": values[0] if values else None,
        "most": values[-1] if values else None,
        "none_below": None,
        "none_above": None,
    }
    return found | changes


def region(places: int, *parameters: dict[str, Any], of: int = 4) -> dict[str, Any]:
    return {"places": places, "of": of, "box_places": places, "parameters": list(parameters)}


def statement(name: str, where: dict[str, Any], **changes: Any) -> dict[str, Any]:
    found = {
        "called": name,
        "region": where,
        "unit": "B",
        "min": 1000,
        "max": None,
        "least": 500.0,
        "most": 2000.0,
        "excludes_alone": [],
    }
    return found | changes


def result(**changes: Any) -> dict[str, Any]:
    places = [
        {"values": {RATE: rate, SIZE: size}, "holds": holds, "hold": sum(holds)}
        for rate, size, holds in (
            ("1Gb/s", "10KB", [True, True]),
            ("2Gb/s", "10KB", [True, False]),
            ("1Gb/s", "20KB", [False, False]),
            ("2Gb/s", "20KB", [True, True]),
        )
    ]
    found = {
        "plan": "mine",
        "title": "",
        "free": [{"key": RATE}, {"key": SIZE}],
        "seeds": [1, 2],
        "grid": True,
        "places": places,
        "statements": [statement("queue", region(3)), statement("drops", region(2))],
        "all": region(2, parameter(RATE, ["2Gb/s"], ["1Gb/s", "2Gb/s"])),
        "most": 2,
        "best": [0],
        "contradictions": [],
        "refused": [],
    }
    return found | changes


def test_short_names_are_as_long_as_they_have_to_be() -> None:
    assert short_names([RATE, SIZE]) == {RATE: "rate", SIZE: "buffer"}
    keys = ["traffic.a.rate", "traffic.b.rate"]
    assert short_names(keys) == {"traffic.a.rate": "a.rate", "traffic.b.rate": "b.rate"}
    keys = ["nodes.a.x.rate", "nodes.b.x.rate"]
    assert short_names(keys) == {"nodes.a.x.rate": "a.x.rate", "nodes.b.x.rate": "b.x.rate"}
    keys = ["nodes.a.x.y.rate", "nodes.b.x.y.rate"]
    assert short_names(keys) == {key: key for key in keys}
    assert short_names(["a.b & c.rate"]) == {"a.b & c.rate": "rate"}


def test_a_result_is_shortened_everywhere_and_left_as_it_was() -> None:
    long = result()
    short = shortened(long)
    assert short["places"][0]["values"] == {"rate": "1Gb/s", "buffer": "10KB"}
    assert [axis["key"] for axis in short["free"]] == ["rate", "buffer"]
    assert short["all"]["parameters"][0]["key"] == "rate"
    assert long["places"][0]["values"] == {RATE: "1Gb/s", SIZE: "10KB"}


def test_the_heading_has_places_parameters_and_seeds() -> None:
    text = f"mine: 4 places (every combination of {RATE}, {SIZE}), 2 seeds"
    assert head(result()) == text
    assert head(result(grid=False, seeds=[7])) == (
        f"mine: 4 places (a sample of {RATE}, {SIZE}), 1 seed"
    )


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ([parameter("rate", ["2"], ["1", "2"])], "rate = 2"),
        ([parameter("rate", ["2", "3"], ["1", "2", "3"])], "rate 2 to 3"),
        (
            [parameter("rate", ["2", "3"], ["1", "2", "3", "4"], none_below="1", none_above="4")],
            "rate 2 to 3 (not 1, 4)",
        ),
        ([parameter("rate", ["2"], ["1", "2"], none_below="1")], "rate = 2 (not 1)"),
        ([parameter("rate", ["1", "3"], ["1", "2", "3"], gaps=["2"])], "rate = 1, 3"),
        (
            [
                parameter(
                    "rate",
                    [str(n) for n in range(7)],
                    [str(n) for n in range(9)],
                    gaps=["2", "3"],
                )
            ],
            "rate 0 to 6 with 2 gaps",
        ),
        (
            [parameter("rate", [str(n) for n in range(6)], ["9"] * 9, gaps=["2"])],
            "rate = 0, 1, 2, 3, 4, 5",
        ),
        (
            [parameter("rate", ["2"], ["1", "2"]), parameter("size", ["5"], ["4", "5"])],
            "rate = 2, size = 5",
        ),
        (
            [parameter("rate", ["1", "2"], ["1", "2"])],
            "with every value of each parameter, not with all combinations",
        ),
    ],
)
def test_a_region_is_told_by_the_parameters_that_bound_it(
    parameters: list[dict[str, Any]], text: str
) -> None:
    assert conclusion(result(all=region(2, *parameters))) == [
        f"all 2 statements hold at 2 of 4 places: {text}"
    ]


def test_places_in_between_that_miss_a_statement_are_counted() -> None:
    every = region(2) | {"box_places": 5}
    assert conclusion(result(all=every))[1:] == [
        "not everywhere in between: 3 places there miss a statement"
    ]


def test_nowhere_has_its_contradictions_and_the_best_places() -> None:
    contradictions = [["queue"], ["queue", "drops"]] + [[f"s{n}"] for n in range(7)]
    found = conclusion(
        result(all=region(0), most=1, contradictions=contradictions, best=[1, 0, 2, 3])
    )
    assert found[:3] == [
        "nowhere do all 2 statements hold; at most 1 do",
        "holds nowhere: queue",
        "never together: queue; drops",
    ]
    assert found[3:9] == [f"holds nowhere: s{n}" for n in range(6)]
    assert found[9:] == [
        f"most hold at {RATE} = {rate}, {SIZE} = {size}"
        for rate, size in (("2Gb/s", "10KB"), ("1Gb/s", "10KB"), ("1Gb/s", "20KB"))
    ]


def test_places_that_make_no_plan_are_counted_with_a_reason() -> None:
    refused = [
        {"values": {"rate": "9"}, "reason": "plan: 1 problem\n  rate: too much  "},
        {"values": {"rate": "8"}, "reason": "x"},
    ]
    assert conclusion(result(refused=refused))[1:] == [
        "2 places make no plan, such as rate = 9: rate: too much"
    ]


def test_a_row_stands_for_each_statement() -> None:
    statements = [
        statement("queue", region(4)),
        statement("drops", region(0), least=0.0, most=0.0, unit="1", min=None, max=5),
        statement(
            *("delay", region(2, parameter("rate", ["2"], ["1", "2"]))),
            excludes_alone=[0, 1],
        ),
        statement("share", region(1, parameter("rate", ["2"], ["1", "2"])), excludes_alone=[3]),
    ]
    found = rows(result(statements=statements))
    assert [row[0] for row in found] == ["everywhere", "NOWHERE", "somewhere", "somewhere"]
    assert [row[1] for row in found] == ["queue", "drops", "delay", "share"]
    assert found[0][3:] == ["500 B to 2 KB", "4 of 4", "everywhere", ""]
    assert found[1][3:] == ["0", "0 of 4", "nowhere", ""]
    first = f"{RATE} = 1Gb/s, {SIZE} = 10KB"
    assert found[2][4:] == ["2 of 4", "rate = 2", f"{first} and 1 more"]
    assert found[3][6] == f"{RATE} = 2Gb/s, {SIZE} = 20KB"
    assert "1 KB" in found[0][2]


def test_the_page_has_statements_and_then_places() -> None:
    text = as_markdown(result(title="A title"))
    lines = text.split("\n")
    assert lines[:4] == ["# A title", "", head(result()), ""]
    assert lines[4] == "- all 2 statements hold at 2 of 4 places: rate = 2Gb/s"
    at = lines.index("| rate | buffer | hold | missed |")
    assert lines[at + 1 :] == [
        "| --- | --- | --- | --- |",
        "| 1Gb/s | 10KB | 2 of 2 |  |",
        "| 2Gb/s | 10KB | 1 of 2 | drops |",
        "| 1Gb/s | 20KB | 0 of 2 | queue; drops |",
        "| 2Gb/s | 20KB | 2 of 2 |  |",
        "",
    ]
    assert as_markdown(result()).startswith("# mine\n")


def test_the_table_and_the_conclusion_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show_search(result(), Path("runs/mine"))
    text = capsys.readouterr().out
    assert "all 2 statements hold at 2 of 4 places: rate = 2Gb/s\n" in text
    assert text.endswith("folder    runs/mine\n")
    assert "somewhere" in text
