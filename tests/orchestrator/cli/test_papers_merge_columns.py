"""Columns of earlier pages: which are taken, which are left out, and files that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator import __version__
from orchestrator.cli.papers_merge_columns import MergedColumns, made_by
from orchestrator.errors import BadInput

ASKED = [
    {"metric": "m", "of": "s.a", "phase": "p", "min": 1, "max": 2, "unit": "B", "note": "old"},
    {"metric": "n", "of": "s.a", "phase": "p", "min": 1, "max": 2, "unit": "B", "of_seeds": "sd"},
]
ROW = {
    "met": True,
    "uncertain": False,
    "uncertainty": None,
    "met_in": 1,
    "count": 1,
    "mean": 1.5,
    "sd": None,
    "least": 1.5,
    "most": 1.5,
    "why": "",
}


def column(**changes: Any) -> dict[str, Any]:
    found = {
        "target": "software",
        "seeds": [1, 2],
        "run": 2,
        "pace": 1.0,
        "verdict": "met",
        "refused": "",
        "rows": [ROW, ROW],
        "mutants": None,
    }
    return found | changes


def written(path: Path, *columns: dict[str, Any], **changes: Any) -> Path:
    page = {
        "command": {"page": "tailback papers"},
        "made": {"tailback": "1", "commit": None},
        "papers": [{"plans": [{"plan": "mine", "asked": ASKED, "on": list(columns)}]}],
        "another": "key",
    }
    path.write_text(json.dumps(page | changes), encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "page.json"


def test_the_first_column_of_a_plan_and_target_is_taken(file: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other.json", column(target="gateware"), column(verdict="missed"))
    merged = MergedColumns.read([written(file, column()), other])
    found = merged.column("mine", "software", ASKED)
    assert found is not None
    assert (found["verdict"], found["seeds"]) == ("met", [1, 2])
    assert merged.column("mine", "simulated", ASKED) is None
    assert merged.column("yours", "software", ASKED) is None
    assert merged.taken == {("mine", "software"): file}


@pytest.mark.parametrize("changes", [{"refused": "no room"}, {"run": 1}])
def test_a_column_that_was_not_run_to_its_end_is_passed_over(
    file: Path, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    merged = MergedColumns.read([written(file, column(**changes))])
    assert merged.column("mine", "software", ASKED) is None
    merged = MergedColumns.read([written(file, column(**changes), column(verdict="missed"))])
    found = merged.column("mine", "software", ASKED)
    assert found is not None
    assert found["verdict"] == "missed"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("key", ["metric", "of", "phase", "min", "max", "unit", "of_seeds"])
def test_a_column_whose_plan_expects_otherwise_by_now_is_left_out_and_named(
    file: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    merged = MergedColumns.read([written(file, column())])
    now = [ASKED[0], ASKED[1] | {key: "other"}]
    assert merged.column("mine", "software", now) is None
    err = capsys.readouterr().err
    assert f"{file}: mine on software is left out: it expects otherwise by now" in err
    assert merged.taken == {}
    assert merged.file_table() == []


def test_a_column_with_more_or_fewer_rows_is_left_out(file: Path) -> None:
    merged = MergedColumns.read([written(file, column(rows=[ROW]))])
    assert merged.column("mine", "software", ASKED) is None
    assert merged.column("mine", "software", ASKED[:1]) is None


def test_texts_of_an_expectation_may_change(file: Path) -> None:
    merged = MergedColumns.read([written(file, column())])
    assert merged.column("mine", "software", [row | {"note": "new"} for row in ASKED]) is not None


def test_targets_beside_the_known_ones_have_the_seeds_of_their_first_column(file: Path) -> None:
    columns = [
        column(),
        column(target="gateware", seeds=[]),
        column(target="gateware", seeds=[3, 4]),
        column(target="gateware", seeds=[5]),
        column(target="other", seeds=[6]),
    ]
    merged = MergedColumns.read([written(file, *columns)])
    assert merged.target_seeds({"software": "1"}) == [("gateware", "3,4"), ("other", "6")]
    assert merged.target_seeds({}) == [("software", "1,2"), ("gateware", "3,4"), ("other", "6")]


def test_files_are_listed_with_the_targets_that_were_taken_of_each(
    file: Path, tmp_path: Path
) -> None:
    one = written(file, column(target="b"), column(target="a"))
    other = written(tmp_path / "other.json", column(target="c"), command={}, made={})
    unused = written(tmp_path / "unused.json", column(target="d"))
    merged = MergedColumns.read([one, other, unused])
    for target in ("b", "a", "c"):
        assert merged.column("mine", target, ASKED) is not None
    assert merged.file_table() == [
        {
            "file": "page.json",
            "targets": ["a", "b"],
            "command": "tailback papers",
            "made": {"tailback": "1", "commit": None},
        },
        {"file": "other.json", "targets": ["c"], "command": "", "made": {}},
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "the whole: Invalid JSON"),
        ("{}", "command: Field required"),
        ('{"command": {}, "papers": [{"plans": 3}]}', "papers.0.plans: Input should be"),
    ],
)
def test_what_is_no_page_is_refused_by_its_key(file: Path, text: str, words: str) -> None:
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        MergedColumns.read([file])
    assert str(caught.value).startswith(f"{file}: {words}")
    assert str(caught.value).endswith("what `tailback papers --json` printed is expected")


def test_a_file_that_is_not_there_is_refused(file: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        MergedColumns.read([file])


def test_a_page_says_by_which_version_it_was_made() -> None:
    found = made_by()
    assert found["tailback"] == __version__
    assert found["commit"] is None or len(str(found["commit"])) == 40
