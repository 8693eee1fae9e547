"""Files that change while a process lives are read again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.plan.file_cache import cached_per_file
from tests.orchestrator.worlds import Table, recorded
from tests.traffic.test_collectives import messages, star


def test_a_file_is_read_once_for_each_of_its_states(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    @cached_per_file
    def read(path: str, more: int) -> str:
        seen.append((Path(path).read_text(), more))
        return seen[-1][0]

    file = tmp_path / "file"
    file.write_text("one")
    assert [read(str(file), 1), read(str(file), 1), read(str(file), 2)] == ["one"] * 3
    os.replace(_written(tmp_path / "other", "two"), file)
    assert read(str(file), 1) == "two"
    file.write_text("longer")
    assert read(str(file), 1) == "longer"
    assert seen == [("one", 1), ("one", 2), ("two", 1), ("longer", 1)]
    file.unlink()
    with pytest.raises(FileNotFoundError):
        read(str(file), 1)


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def _flows(size: int) -> str:
    return f"source,destination,size_B,start_us\nh1,h2,{size},0\n"


def _goal(size: int) -> str:
    return f"num_ranks 2\nrank 0 {{\nsend {size}b to 1\n}}\nrank 1 {{\nrecv {size}b from 0\n}}\n"


@pytest.mark.parametrize(("plugin", "text"), [("flows", _flows), ("goal", _goal)])
def test_a_plan_runs_with_the_file_as_it_is_now(
    plugin: str, text: Callable[[int], str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    plan: Table = star(2, plugin=plugin, file=str(file))
    plan["traffic"]["t"] |= {"from": ["h1"], "to": ["h2"]}
    for size in (1000, 2000):
        os.replace(_written(tmp_path / "next", text(size)), file)
        assert messages(recorded(plan)).size.tolist() == [size]
