"""The page on architecture names the functions that are really called, in their order."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "architecture.svg"
ROW = re.compile(r"^\| `([\w/]+)\.py` \| `([\w.]+)` \| (?:`([\w.]+)`)? ?\|", re.M)
CORE = {"engine", "plan", "assembly", "live", "run", "targets", "testbed", "console", "cli",
        "terminal", "pages", "registry"}  # fmt: skip


@functools.cache
def called() -> dict[str, Any]:
    """What tests.docs.journey saw."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.journey"],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def section(heading: str) -> str:
    """What stands below a heading of the page."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert rest, heading
    return rest.partition("\n## ")[0]


def rows(text: str) -> list[tuple[str, str]]:
    """(function with its module, who called it) of every row of tables."""
    found = []
    for module, function, caller in ROW.findall(text):
        top = "orchestrator." if module.partition("/")[0] in CORE else ""
        found.append((f"{top}{module.replace('/', '.')}.{function}", caller))
    return found


def events(calls: list[tuple[int, str]]) -> list[list[tuple[str, str]]]:
    """(function, caller) of every call below each event of the loop."""
    found: list[list[tuple[str, str]]] = []
    above: list[str] = []
    for depth, name in calls:
        above[depth:] = [name]
        if depth == 2:
            assert name.endswith(".step")
            found.append([])
        elif depth > 2:
            found[-1].append((name, above[depth - 1].rpartition(".")[2]))
    return found


def stated(heading: str) -> list[list[tuple[str, str]]]:
    """The same as the page has it: a table per event, each below a line in bold."""
    return [rows(part) for part in re.split(r"^\*\*\w: .*\*\*$", section(heading), flags=re.M)[1:]]


def test_the_way_of_a_data_frame_is_as_the_page_says() -> None:
    ran = events(called()["data"])
    assert len(ran) == 4
    assert stated("The way of a data frame") == ran


def test_the_way_of_a_cnm_is_as_the_page_says() -> None:
    first, *others = events(called()["cnm"])
    sampled = next(n for n, (name, _) in enumerate(first) if name.endswith(".notify_chosen_source"))
    assert first[: sampled + 1] == [
        pair for pair in events(called()["data"])[1] if pair in first[: sampled + 1]
    ], "it begins within an event of the data frame"
    assert len(others) == 3
    assert stated("The way of a CNM") == [first[sampled:], *others]


def test_a_run_calls_what_the_page_says_in_that_order() -> None:
    ran = dict(called()["run"])
    order = list(ran)
    listed = rows(section("A run, from the command to its folder"))
    assert len(listed) > 15
    assert [name for name, _ in listed if name not in ran] == []
    for name, caller in listed:
        above = {one.rpartition(".")[2] for one in ran[name]} | {
            ".".join(one.rsplit(".", 2)[1:]) for one in ran[name]
        }
        assert not caller or caller in above, (name, caller)
    assert [order.index(name) for name, _ in listed] == sorted(
        order.index(name) for name, _ in listed
    )


def test_the_picture_shows_functions_that_the_page_names() -> None:
    drawn = re.findall(r'class="f"[^>]*>([^<]*)<', PICTURE.read_text(encoding="utf-8"))
    names = {name for line in drawn for name in re.findall(r"\w+", line.replace("qcn_cp.", ""))}
    names -= {"qcn_rp"}
    assert len(names) > 20
    page = {
        name.rpartition(".")[2]
        for heading in ("The way of a data frame", "The way of a CNM")
        for table in stated(heading)
        for name, _ in table
    }
    assert names - page == set()
    beside = {"capture", "is_message", "lane_index", "call_kernel", "count_arrival", "_count"}
    beside |= {"send_from_lane", "link_delay", "forward_by"}
    beside |= {
        "make_canonical",
        "encode_by",
        "encode_frame",
        "layout_of",
        "decode",
        "call_arrival_kernel",
        "receive_message",
        "wake_receiver",
    }
    beside |= {"receive_synced", "sync_arrival", "sync", "sync_addressed_port", "wake_port"}
    beside |= {"append_frame", "occupy_octets", "send_popped", "control_departure", "is_pause"}
    beside |= {"handle_arrival", "wake_node_timer"}
    beside |= {
        "apply_link_control",
        "receive_other",
        "count_at_send",
        "is_count_only",
        "count_frame",
    }
    on_the_lines = {"deliver_from_line", "deliver_due_frames", "leave_line"}
    assert page - names == beside | on_the_lines


@pytest.mark.parametrize("what", ["room", "package"])
def test_the_page_has_every_room_and_every_guest(what: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    linter = contracts["tool"]["importlinter"]
    page = section("Rooms")
    if what == "package":
        wanted = [name for name in linter["root_packages"] if name != "orchestrator"]
        assert all(f"| `{name}` |" in page for name in wanted)
        return
    layers = [name for layer in linter["contracts"][0]["layers"] for name in layer.split(" | ")]
    folders = [n for n in layers if (ROOT / n.replace(".", "/")).is_dir()]
    said = re.findall(r"^\| `(orchestrator/\w+)` ", page, flags=re.M)
    order = [name.replace("/", ".") for name in said]
    assert order == folders, "from the highest to the lowest, as import-linter has them"
    modules = [name.rpartition(".")[2] for name in layers if name not in folders]
    assert all(f"`{name}`" in page for name in modules)
