"""What PLAN and --set mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator import algorithm
from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import Params
from orchestrator.terminal import plan_loading

SHIPPED = {"quickstart": Path("/shipped/quickstart.toml")}

PLAN = """name = "mine"
duration = "1s"
nodes.switch = { kind = "switch", congestion_point = { plugin = "test-cp", weight = 2 } }
nodes.nic = { kind = "nic" }
nodes.sink = { kind = "sink" }
links.up = { ends = ["nic", "switch"], rate = "1Gb/s", delay = "1us" }
links.down = { ends = ["switch", "sink"], rate = "1Gb/s", delay = "1us" }
"""


@pytest.fixture
def mine(registry, tmp_path):
    """A plan of the user's own, and a registry that finds its plugins."""
    cp = registry.algorithms[0]
    delay = algorithm.delay_line("fixed-delay", "none", Params, np.dtype([("x", "i8")]))
    registry.find = lambda kind, name: cp if kind == cp.kind else delay
    (tmp_path / "mine.toml").write_text(PLAN)
    return str(tmp_path / "mine.toml")


def test_a_shipped_name_comes_before_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").write_text("")
    assert plan_loading.locate("quickstart", SHIPPED) == SHIPPED["quickstart"]
    assert plan_loading.locate("./quickstart", SHIPPED) == Path("quickstart")


def test_a_file_needs_no_suffix_when_it_is_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("")
    assert plan_loading.locate("mine", SHIPPED) == Path("mine")
    assert plan_loading.locate("none.toml", SHIPPED) == Path("none.toml")


def test_an_unknown_plan_is_told_with_one_that_comes_near():
    with pytest.raises(BadInput, match="did you mean quickstart"):
        plan_loading.locate("quikstart", SHIPPED)


def test_settings_lie_on_top_of_the_plan(mine):
    plan = plan_loading.load_plan(mine, ["duration=2s", "nodes.switch.congestion_point.weight=3"])
    table = plan.to_table()
    assert table["duration"] == "2s"
    assert plan_loading.load_plan(mine, []).to_table()["duration"] == "1s"


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("duration=2", "duration"),
        ("nothing=1", "nothing"),
        ("nodes.switch.congestion_point.weight=-1", "weight"),
        ("novalue", "novalue"),
    ],
)
def test_a_wrong_setting_is_bad_input(mine, setting, word):
    with pytest.raises(BadInput, match=word):
        plan_loading.load_plan(mine, [setting])


def test_a_file_that_is_not_there_is_named(registry, tmp_path):
    with pytest.raises(BadInput, match="the plan cannot be read"):
        plan_loading.load_plan(str(tmp_path / "none.toml"), [])
