"""RO-Crate metadata of a capsule: the data set, its files, and the action that made them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.traces.capsule.test_difference_causes import record
from traces.capsule.ro_crate import MEANS, crate_of

STARTED = "2026-11-23T12:00:00+00:00"


def nodes(packed: dict[str, tuple[int, str]], title: str = "", **changes: Any) -> dict[str, Any]:
    found = crate_of(record(**changes), title, STARTED, packed)
    assert found["@context"] == "https://w3id.org/ro/crate/1.2/context"
    return {node["@id"]: node for node in found["@graph"]}


def test_the_data_set_has_its_files_in_order() -> None:
    files = {"data/result.json": (7, "ab"), "capsule.json": (5, "cd")}
    found = nodes(files)
    assert list(found) == [
        *("ro-crate-metadata.json", "./", "#run", "#tailback"),
        *("capsule.json", "data/result.json"),
    ]
    root = found["./"]
    assert root["name"] == "mine"
    assert root["description"] == (
        "A run of tailback: mine on simulated. `tailback verify` runs it again."
    )
    assert root["datePublished"] == "2026-11-23"
    assert root["hasPart"] == [{"@id": "capsule.json"}, {"@id": "data/result.json"}]
    assert root["mentions"] == {"@id": "#run"}
    assert nodes(files, "A title")["./"]["name"] == "A title"
    head = found["ro-crate-metadata.json"]
    assert head["about"] == {"@id": "./"}
    assert head["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}


@pytest.mark.parametrize(
    ("kind", "plan", "result"),
    [
        ("run", "plan.toml", "result.json"),
        ("seeds", "plan.toml", "seeds.json"),
        ("sweep", "sweep.toml", "sweep.json"),
    ],
)
def test_the_action_leads_from_the_plan_to_the_result(kind: str, plan: str, result: str) -> None:
    action = nodes({}, kind=kind, files={"b.csv": "files/b", "a.csv": "files/a"})["#run"]
    assert action["name"] == f"{kind} of mine on simulated"
    assert action["startTime"] == STARTED
    assert action["object"][1:] == [{"@id": "files/a"}, {"@id": "files/b"}]
    assert action["object"][0]["@id"].endswith(plan)
    assert action["result"][0]["@id"].endswith(result)
    assert action["instrument"] == {"@id": "#tailback"}


def test_the_instrument_has_versions_of_what_it_needs() -> None:
    tool = nodes({})["#tailback"]
    assert (tool["version"], tool["softwareRequirements"]) == ("1.0", ["numpy 2.0"])
    environment = {"tailback": "2", "libraries": {"a": "1", "b": None}}
    assert nodes({}, environment=environment)["#tailback"]["softwareRequirements"] == ["a 1"]
    assert nodes({}, environment={})["#tailback"]["softwareRequirements"] == []


def test_files_have_size_digest_format_and_meaning() -> None:
    names = ["data/result.json", "data/captures/x.pcapng", "files/one.csv", "data/unknown"]
    found = nodes(dict.fromkeys(names, (9, "ff")))
    assert found["data/result.json"] == {
        "@id": "data/result.json",
        "@type": "File",
        "name": "result.json",
        "description": MEANS["data/result.json"],
        "encodingFormat": "application/json",
        "contentSize": "9",
        "sha256": "ff",
    }
    assert found["data/captures/x.pcapng"]["encodingFormat"] == "application/x-pcapng"
    assert "description" not in found["data/captures/x.pcapng"]
    assert found["files/one.csv"]["description"] == "a file that the plan names"
    assert set(found["data/unknown"]) == {"@id", "@type", "name", "contentSize", "sha256"}
