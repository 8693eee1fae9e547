"""The table of a run over seeds and its verdict, from results that are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.run_seeds import as_markdown, cells, head, show_predicted, show_seeds


def row(**changes: Any) -> dict[str, Any]:
    found = {
        "metric": "queue_bytes.mean",
        "of": "s.a",
        "phase": "run",
        "unit": "B",
        "min": 1000,
        "max": 2000,
        "of_seeds": None,
        "mean": 1500.0,
        "sd": 100.0,
        "least": 1400.0,
        "most": 1600.0,
        "met": True,
        "uncertain": False,
        "met_in": 3,
        "count": 4,
    }
    return found | changes


def seed(number: int, *notes: str, reasons: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"seed": number, "notes": list(notes), "reasons": list(reasons)}


def result(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    found = {
        "plan": "mine",
        "title": "",
        "target": "simulated",
        "seeds": [seed(n) for n in (1, 2, 3)],
        "expectations": list(rows),
        "verdict": "met",
    }
    return found | changes


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")


def printed(capsys: pytest.CaptureFixture[str], found: dict[str, Any]) -> list[str]:
    show_seeds(found, Path("runs/mine"))
    lines = (" ".join(line.split()) for line in capsys.readouterr().out.splitlines())
    return [line for line in lines if line.strip("─━-═ ")]


@pytest.mark.parametrize(
    ("of_seeds", "end"), [(None, ""), ("median", " (median)"), ("75 %", " (in 75 %)")]
)
def test_a_row_has_its_numbers_its_band_and_in_how_many_seeds_it_is_met(
    of_seeds: str | None, end: str
) -> None:
    found = cells(row(of_seeds=of_seeds))
    assert found[:3] == ["queue_bytes.mean", "s.a", "run"]
    assert found[3:7] == ["1.5 KB", "100 B", "1.4 KB", "1.6 KB"]
    assert found[7].endswith(f"2 KB{end}")
    assert found[8] == "3 of 4"


def test_the_heading_counts_rows_and_names_seeds() -> None:
    rows = [row(), row(met=False)]
    assert head(result(*rows)) == "mine on simulated, 3 seeds (1, 2, 3): met (1 of 2)"
    four = [seed(n) for n in (1, 2, 3, 9)]
    assert head(result(seeds=four, verdict="missed")) == (
        "mine on simulated, 4 seeds (1 … 9): missed (0 of 0)"
    )


def test_the_page_has_a_line_for_each_row() -> None:
    rows = [row(), row(met=False), row(met=False, uncertain=True)]
    lines = as_markdown(result(*rows, title="A title")).split("\n")
    assert lines[:4] == ["# A title", "", head(result(*rows)), ""]
    assert lines[4].startswith("|  | metric | of | phase | mean |")
    assert lines[5] == "|" + " --- |" * 10
    assert [line.split(" | ")[0] for line in lines[6:9]] == ["| met", "| MISSED", "| uncertain"]
    assert lines[9:] == [""]
    assert as_markdown(result()).startswith("# mine\n")


def test_notes_name_the_seeds_that_they_are_of(capsys: pytest.CaptureFixture[str]) -> None:
    seeds = [seed(n, "slow") for n in range(1, 10)] + [seed(10, reasons=("late",))]
    found = printed(capsys, result(row(met=False), seeds=seeds, verdict="missed"))
    assert found[1].startswith("MISSED queue_bytes.mean s.a run 1.5 KB")
    assert found[2:] == [
        "verdict mine on simulated, 10 seeds (1 … 10): missed (0 of 1)",
        "note seed 1, 2, 3, 4, 5, 6, 7, 8, …: slow",
        "note seed 10: late",
        "folder runs/mine",
    ]
    eight = [seed(n, "slow") for n in range(1, 9)]
    assert "note seed 1, 2, 3, 4, 5, 6, 7, 8: slow" in printed(capsys, result(seeds=eight))


def test_a_run_without_expectations_has_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, result()) == [
        "verdict mine on simulated, 3 seeds (1, 2, 3): met (0 of 0)",
        "folder runs/mine",
    ]
    show_predicted(result() | {"predicted": {}})
    assert capsys.readouterr().out == ""
