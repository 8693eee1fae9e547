"""Which run a name means; a name that means none is answered with the runs that there are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.terminal.run_lookup import captures_of, find_run, runs_in

OLD, MIDDLE, NEW = "20260101T000000Z-aaaaaa", "20260102T000000Z-bbbbbb", "20260103T000000Z-cccccc"


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs of two plans in runs/, one that is not complete, and one that goes on."""
    monkeypatch.chdir(tmp_path)
    for name in (f"one/{OLD}", f"two/{MIDDLE}", f"one/{NEW}", f"one/.{NEW}.7.partial"):
        folder = Path("runs", name)
        folder.mkdir(parents=True)
        (folder / "result.json").touch()
    Path("runs/one/20260104T000000Z-dddddd").mkdir()


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        (f"runs/one/{OLD}", f"runs/one/{OLD}"),
        (f"one/{OLD}", f"runs/one/{OLD}"),
        ("latest", f"runs/one/{NEW}"),
        ("-1", f"runs/one/{NEW}"),
        ("-2", f"runs/two/{MIDDLE}"),
        ("-3", f"runs/one/{OLD}"),
        ("runs/-2", f"runs/two/{MIDDLE}"),
        ("two/latest", f"runs/two/{MIDDLE}"),
        ("runs/two/latest", f"runs/two/{MIDDLE}"),
        ("one/-2", f"runs/one/{OLD}"),
    ],
)
def test_a_name_means_a_run(name: str, folder: str) -> None:
    assert find_run(name) == Path(folder)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("runs/one", ["is a folder of runs", "`one/latest`", f"runs/one/{NEW}", f"runs/one/{OLD}"]),
        ("two", ["is a folder of runs", f"runs/two/{MIDDLE}"]),
        ("-4", ["only 3 runs in runs"]),
        ("two/-2", ["only 1 runs in runs/two"]),
        ("three/latest", ["no runs in three"]),
        ("nowhere", ["no such run folder", f"runs/one/{NEW}"]),
        ("runs/one/20260104T000000Z-dddddd", ["no result.json in it", f"runs/one/{NEW}"]),
        ("-0", ["no such run folder"]),
    ],
)
def test_a_name_that_means_none_is_told_which_there_are(name: str, words: list[str]) -> None:
    with pytest.raises(BadInput) as error:
        find_run(name)
    for word in words:
        assert word in str(error.value)


def test_a_folder_of_that_name_comes_before_its_meaning() -> None:
    Path("latest").mkdir()
    Path("latest/result.json").touch()
    assert find_run("latest") == Path("latest")


def test_runs_lie_elsewhere_too(tmp_path: Path) -> None:
    os.rename("runs", "kept")
    assert find_run("-2", Path("kept")) == Path("kept/two", MIDDLE)
    assert find_run("kept/latest") == Path("kept/one", NEW)
    with pytest.raises(BadInput, match="no runs in runs"):
        find_run("latest")
    assert [run.name for run in runs_in(Path("kept"))] == [OLD, MIDDLE, NEW]


def test_a_run_stands_for_its_captures() -> None:
    assert captures_of("any.pcap") == [Path("any.pcap")], "whoever reads it will say if it is none"
    with pytest.raises(BadInput, match="holds no captures"):
        captures_of("latest")
    made = [Path("runs/one", NEW, "captures", name) for name in ("a.pcapng", "b.pcapng")]
    made[0].parent.mkdir()
    for path in made:
        path.touch()
    assert captures_of("latest") == made
    assert captures_of(f"runs/one/{NEW}") == made


def test_a_folder_of_runs_is_answered_with_its_runs_and_what_to_type() -> None:
    with pytest.raises(BadInput) as error:
        find_run("runs/one")
    said = str(error.value)
    assert "is a folder of runs, not a run; `one/latest` is the newest of these:" in said
    assert said.index(NEW) < said.index(OLD), "the newest first"
    assert MIDDLE not in said, "it is another plan's"
    assert find_run("one/latest") == Path(f"runs/one/{NEW}")
