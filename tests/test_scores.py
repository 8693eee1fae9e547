"""The page of scores is of the kept files, and a file that is no score is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import scores
from tests.scores import Score, Survivor

GOOD: dict[str, Any] = {
    "score": "oracle",
    "seed": 7,
    "day": "2026-01-02",
    "command": "make oracle-edits DRAW=10 SEED=7",
    "tried": 10,
    "found": 9,
    "named": 8,
    "survivors": [{"name": "a `b`", "reason": "two_words | *three*"}],
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "score.json"
    path.write_text(json.dumps(GOOD | changes))
    return path


def test_the_page_is_that_of_the_kept_scores() -> None:
    assert scores.PAGE.read_text(encoding="utf-8") == scores.page(scores.kept_scores())


def test_a_score_is_read_as_it_was_written(tmp_path: Path) -> None:
    score = Score("faults", 3, "make", 2, 1, [Survivor("one", "why")])
    path = tmp_path / "deep" / "score.json"
    scores.write_score(path, score)
    assert scores.read_score(path) == score


def test_what_mutate_prints_is_a_score(tmp_path: Path) -> None:
    moved = [{"quantity": f"q{n} of s in all", "before": n, "after": 1e9} for n in range(3)]
    lost = {"change": "doubled: a.b", "outcome": "survived", "moved": moved}
    same = {"change": "halved: a.b", "outcome": "equivalent", "moved": []}
    found = {"change": "removed: a", "outcome": "caught", "moved": moved[:1]}
    plan = {"plan": "p", "draw": 3, "seed": 9, "outcomes": {"caught": 1, "survived": 1}}
    path = tmp_path / "mutate.json"
    path.write_text(json.dumps([plan | {"mutants": [lost, same, found]}]))
    score = scores.read_score(path)
    assert (score.score, score.seed, score.tried, score.found) == ("plans", 9, 2, 1)
    assert score.command == "tailback mutate p --draw 3 --seed 9 --json"
    reason = "moves q0 of s in all 0 -> 1e+09, q1 of s in all 1 -> 1e+09 and 1 more"
    assert score.survivors == [Survivor("p: doubled: a.b", reason)]
    path.write_text("[]")
    with pytest.raises(ValueError, match="no score"):
        scores.read_score(path)


def test_a_row_has_the_shares_and_a_line_each_survivor(tmp_path: Path) -> None:
    text = scores.page([scores.read_score(written(tmp_path))])
    command = "`make oracle-edits DRAW=10 SEED=7`"
    assert f"| 7 | 2026-01-02 | {command} | 10 | 9 (90%) | 8 (80%) |" in text
    assert "- seed 7: `a 'b'`: two\\_words \\| \\*three\\*" in text
    assert text.count("Not run yet.") == len(scores.SCORES) - 1


@pytest.mark.parametrize(
    "changes",
    [
        {"score": "another"},
        {"tried": 0, "found": 0, "named": 0},
        {"found": 11},
        {"named": 10},
        {"survivors": [{"name": "one"}]},
        {"survivors": 3},
        {"day": "yesterday"},
        {"seed": None},
    ],
)
def test_another_file_is_refused_and_nothing_is_kept(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(scores, "PAGE", tmp_path / "page.md")
    assert scores.main([str(written(tmp_path, **changes))]) == 2
    assert not (tmp_path / "kept").exists()


def test_a_score_is_kept_by_its_name_and_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(scores, "PAGE", tmp_path / "page.md")
    for found in (8, 9):
        assert scores.main([str(written(tmp_path, found=found))]) == 0
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["oracle-7.json"]
    assert [one.found for one in scores.kept_scores()] == [9]
    assert "9 (90%)" in (tmp_path / "page.md").read_text()
