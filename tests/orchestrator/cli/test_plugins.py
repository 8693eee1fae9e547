"""`tailback plugins`."""

from __future__ import annotations

import json


def test_each_plugin_is_listed_with_its_defaults(tailback):
    done = tailback("plugins")
    assert done.exit_code == 0
    for text in ("congestion point", "test-cp", "set_point=26KB", "weight", "small", "simulated"):
        assert text in done.stdout


def test_a_broken_plugin_is_named_on_stderr(tailback):
    assert tailback("plugins").stderr == "tailback: broken 1.0: ImportError: no module named x\n"


def test_one_plugin_is_told_in_full(tailback):
    told = tailback("plugins", "test-cp").stdout
    assert told.startswith("test-cp: a test's own\n")
    for text in ("queue length aimed at", "> 0B", "required", "preset small: set_point = 1KB"):
        assert text in told


def test_a_machine_gets_json(tailback):
    found = json.loads(tailback("plugins", "--json").stdout)
    assert found["problems"] == ["broken 1.0: ImportError: no module named x"]
    (plugin,) = found["plugins"]
    assert plugin["targets"] == ["simulated"]
    assert plugin["presets"] == {"small": {"set_point": "1KB"}}
    assert [p["default"] for p in plugin["parameters"]] == ["26KB", None]


def test_an_unknown_plugin_is_named_with_one_that_comes_near(tailback):
    done = tailback("plugins", "tets-cp")
    assert done.exit_code == 2
    assert "'tets-cp'; did you mean test-cp?" in done.stderr
