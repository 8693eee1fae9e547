"""Tests of the sample of long tests."""

from __future__ import annotations

import argparse
import ast
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from tests import sample

ROOT = Path(__file__).parent.parent


@dataclass
class Item:
    """A collected test, as far as the sample looks at it."""

    nodeid: str
    slow: bool = False
    markers: list[str] = field(default_factory=list)

    @property
    def location(self) -> tuple[str, int, str]:
        """File, line and name."""
        return self.nodeid.partition("::")[0], 0, self.nodeid

    def get_closest_marker(self, name: str) -> bool:
        """Whether the test has that marker."""
        return (name == "slow" and self.slow) or name in self.markers

    def add_marker(self, name: str) -> None:
        """Marks the test."""
        self.markers.append(name)


@cache
def functions_of(path: str) -> set[str]:
    """Identifiers of the tests in a file, without parameters."""
    found = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(f"{path}::{node.name}")
        elif isinstance(node, ast.ClassDef):
            found |= {
                f"{path}::{node.name}::{one.name}"
                for one in node.body
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return found


def test_every_line_is_of_a_test_that_exists() -> None:
    """A test that is renamed would be in `make test` whole."""
    stale = [test for test in sample.kept() if test not in functions_of(test.partition("::")[0])]
    assert not stale


@pytest.mark.parametrize(
    ("kept", "instances", "marked"),
    [(0, 3, [0, 1, 2]), (1, 3, [1, 2]), (2, 5, [1, 3, 4]), (3, 3, []), (4, 3, [])],
)
def test_what_is_kept_is_spread_evenly(
    kept: int, instances: int, marked: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others, and slow instances, are left as they are."""
    table = tmp_path / "sample.txt"
    table.write_text(f"{kept} t.py::test_it\n")
    monkeypatch.setattr(sample, "TABLE", table)
    items = [Item(f"t.py::test_it[{index}]") for index in range(instances)]
    others = [
        Item("t.py::test_it[slow]", slow=True),
        Item("t.py::test_other"),
    ]
    sample.mark([*others, *items])  # type: ignore[list-item]
    assert [index for index, item in enumerate(items) if item.markers == ["unsampled"]] == marked
    assert not any(item.markers for item in others)


def test_parts_are_the_whole_and_a_module_is_in_one() -> None:
    """Every item is in one of three parts, each of which has some."""
    items = [Item(f"{module}.py::test_{number}") for module in range(20) for number in range(2)]
    parts = [sample.parted(items, number, 3) for number in (1, 2, 3)]  # type: ignore[arg-type]
    assert sorted(item.nodeid for chosen, _ in parts for item in chosen) == sorted(
        i.nodeid for i in items
    )
    modules = [{item.location[0] for item in chosen} for chosen, _ in parts]
    assert all(modules)
    assert sum(map(len, modules)) == 20
    assert all(len(chosen) + len(elsewhere) == 40 for chosen, elsewhere in parts)


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "a/3", "-1/3", "1/"])
def test_what_is_no_part_is_refused(text: str) -> None:
    """A part is a number of the parts, from 1."""
    with pytest.raises(argparse.ArgumentTypeError, match="2/3"):
        sample.part(text)


def test_the_table_follows_from_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of a core and of the clock have each their bound; short tests have no line."""
    monkeypatch.setattr(sample, "KEPT_CPU_S", 1.5)
    monkeypatch.setattr(sample, "KEPT_REAL_FRAMES_S", 4.0)
    measured = [
        *[(f"t.py::test_many[{index}]", 0.5, False) for index in range(10)],
        ("t.py::test_one", 3.1, False),
        ("t.py::test_short", 1.7, False),
        *[(f"t.py::test_two[{index}]", 2.9, False) for index in range(2)],
        *[(f"t.py::test_frames[{index}]", 1.9, True) for index in range(4)],
        ("t.py::test_frame", 4.5, True),
    ]
    assert sample.table(measured) == [
        "2 t.py::test_frames",
        "3 t.py::test_many",
        "0 t.py::test_one",
        "1 t.py::test_two",
    ]
