"""Settings of the command line."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan


def test_values_are_toml_or_text(full: str, catalog: Any) -> None:
    plan = Plan.load(full).with_settings(
        [
            "nodes.switch.service_rate=400Mb/s",
            "seed = 7",
            'title="a = b"',
            "nodes.switch.congestion_point.weight=0",
            "nodes.switch.ports.nic1.buffer=9KB",
            "nodes.nic2.limiter.depth=5KB",
            "expect[1].min=0.5",
            "capture.ports=[]",
        ]
    )
    table = plan.check(catalog).plan.to_table()
    assert table["nodes"]["switch"]["service_rate"] == "400Mb/s"
    assert (table["seed"], table["title"]) == (7, "a = b")
    assert table["nodes"]["switch"]["congestion_point"]["weight"] == 0
    assert table["nodes"]["switch"]["ports"]["nic1"] == {"buffer": "9KB"}
    assert table["nodes"]["nic2"]["limiter"]["depth"] == "5KB"
    assert table["expect"][1]["min"] == 0.5
    assert table["capture"]["ports"] == []


def test_a_key_with_ranges_sets_every_one(full: str) -> None:
    table = Plan.load(full).with_settings(["nodes.nic{1..2}.limiter.depth=5KB"]).to_table()
    assert [table["nodes"][f"nic{n}"]["limiter"]["depth"] for n in (1, 2)] == ["5KB", "5KB"]
    with pytest.raises(BadInput, match="at most 4096 keys"):
        Plan.load(full).with_settings(["nodes.nic{1..99}{1..99}.limiter.depth=5KB"])
    with pytest.raises(BadInput, match="did you mean nic"):
        Plan.load(full).with_settings(["nodes.nic{1,x}.limiter.depth=5KB"])


def test_a_default_follows_what_it_is_derived_from(full: str) -> None:
    links = Plan.load(full).with_settings(["links.up1.delay=1ms"]).to_table()["links"]
    assert links["up1"]["delay_back"] == "1ms"


@pytest.mark.parametrize(
    ("setting", "where", "words"),
    [
        ("sed=7", "sed", "did you mean seed or seeds?"),
        ("nodes.swich.buffer=1KB", "nodes.swich", "did you mean switch?"),
        ("nodes.switch.bufer=1KB", "nodes.switch.bufer", "did you mean buffer?"),
        ("nodes.switch.buffer.x=1KB", "nodes.switch.buffer", "nothing below"),
        ("nodes.switch.buffer=1", "nodes.switch.buffer", "such as '33KB'"),
        ("nodes.switch.ports.snk.buffer=1KB", "nodes.switch.ports.snk", "did you mean sink?"),
        ("timeline.9.at=1s", "timeline.9", "unknown index"),
        ("timeline.0.att=1s", "timeline.0.att", "did you mean at"),
        ("seed", "--set", "KEY=VALUE"),
        ("=7", "--set", "KEY=VALUE"),
        (".=7", "", "unknown key"),
        ("seed=2024-01-01", "seed", "whole number"),
    ],
)
def test_a_wrong_setting_names_its_key(full: str, setting: str, where: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        Plan.load(full).with_settings([setting])
    (problem,) = caught.value.problems
    assert problem.where == where
    assert words in str(problem)


def test_a_parameter_that_the_plugin_lacks(full: str, catalog: Any) -> None:
    plan = Plan.load(full).with_settings(["nodes.switch.congestion_point.wieght=1"])
    with pytest.raises(BadInput, match="did you mean weight"):
        plan.check(catalog)
