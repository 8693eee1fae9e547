"""The terminal's table of a sweep, from a result and a file of places that are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.batch.parquet_dataset import HALF, PARAMETER_POINTS
from orchestrator.cli.sweep_table import MOST_ROWS, head, show_sweep

RATE, MODE, METRIC = "traffic.gen.rate", "nodes.s.mode", "queue_bytes.mean of s.a in run"


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def written(folder: Path, count: int) -> None:
    table = {
        RATE: [n * 1e6 for n in range(count)],
        MODE: ["fast"] * count,
        "seeds": [3] * count,
        METRIC: [1000.0 * n for n in range(count)],
        METRIC + HALF: [None if n == 0 else 100.0 for n in range(count)],
        "another": [0] * count,
    }
    pq.write_table(pa.table(table), folder / PARAMETER_POINTS)


def result(count: int, **changes: Any) -> dict[str, Any]:
    found = {
        "plan": "mine",
        "places": count,
        "points": 3 * count,
        "axes": [{"key": RATE, "unit": "bit/s"}, {"key": MODE, "unit": ""}],
        "draw": [METRIC],
        "units": {METRIC: "B"},
        "invalid": 0,
        "refused": {"places": 0, "such_as": []},
    }
    return found | changes


def lines(folder: Path, found: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_sweep(found, folder)
    printed = (" ".join(line.split()) for line in capsys.readouterr().out.splitlines())
    return [line for line in printed if line.strip("─━-═ ")]


def test_places_have_their_values_seeds_mean_and_half_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, 3)
    assert lines(tmp_path, result(3), capsys) == [
        f"mine: 3 places of {RATE}, {MODE}, 9 points",
        f"{RATE} {MODE} seeds {METRIC}",
        "0 b/s fast 3 0 B",
        "1 Mb/s fast 3 1 KB ± 100 B",
        "2 Mb/s fast 3 2 KB ± 100 B",
        f"folder {tmp_path}",
    ]
    assert head(result(3)) == f"mine: 3 places of {RATE}, {MODE}, 9 points"


def test_places_beyond_the_most_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, MOST_ROWS + 5)
    found = lines(tmp_path, result(MOST_ROWS + 5), capsys)
    assert found[-2] == f"… and 5 places more in {PARAMETER_POINTS}"
    assert len(found) == 2 + MOST_ROWS + 2
    refused = {"places": 5, "such_as": [{"values": {RATE: "9"}, "reason": "plan:\n  too much "}]}
    found = lines(tmp_path, result(MOST_ROWS + 5, refused=refused), capsys)
    assert found[-2] == f"5 places make no plan, such as {RATE} = 9: too much"
    assert not any("places more" in line for line in found)


def test_a_sweep_of_nothing_that_is_drawn_has_its_folder_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, 0)
    assert lines(tmp_path, result(0, draw=[]), capsys) == [f"folder {tmp_path}"]


def test_points_that_were_distorted_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, 1)
    assert lines(tmp_path, result(1, invalid=2), capsys)[-2] == (
        "2 points are left out: the machine distorted them each time; the same command tries them "
        "again"
    )


def test_an_edge_has_the_values_that_it_lies_between(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, 1)
    between = [
        {"at": {MODE: "fast"}, "along": RATE, "from": "1Mb/s", "to": "2Mb/s", "to_above": True},
        {"at": {MODE: "slow"}, "along": RATE, "from": "3Mb/s", "to": "4Mb/s", "to_above": False},
    ]
    edge = {"metric": METRIC, "value": 20_000.0}
    found = lines(tmp_path, result(1, between=between, edge=edge), capsys)
    at = found.index(f"{METRIC} crosses 20 KB")
    assert found[at + 1 : at + 4] == [
        f"{MODE} between {RATE} it goes",
        "fast 1Mb/s and 2Mb/s from below to above",
        "slow 3Mb/s and 4Mb/s from above to below",
    ]


def test_effects_have_their_errors_or_why_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, 1)
    indices = {RATE: {"first": 0.5, "first ±": 0.01, "total": 0.75, "total ±": 0.0125}}
    found = lines(tmp_path, result(1, effects={"m": indices, "other": None}), capsys)
    at = found.index("m: shares of its variance")
    assert found[at + 1 : at + 4] == [
        "parameter alone in all",
        f"{RATE} 0.500 ± 0.010 0.750 ± 0.013",
        "no effects on other: some places have no number, or all have the same",
    ]
