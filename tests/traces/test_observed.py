"""What algorithms show of their state: in the samples, in metrics, in figures and in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import Column
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US, assembled, line_of_three
from traces import figures
from traces.report import report
from traces.run_reader import Run, load
from traces.samples import read_samples


def table() -> dict[str, Any]:
    """Ten times what a port with CoDel serves: it drops as soon as it may."""
    figure = {"title": "Wait", "y": "codel.sojourn_s", "of": ["switch.sink"]}
    made = line_of_three(duration=20 * MS, phases={"late": {"from": 10 * MS, "to": 20 * MS}})
    made["nodes"]["switch"] = {
        "kind": "switch",
        "service_rate": 10**8,
        "congestion_point": {"plugin": "codel", "target": 200 * US, "interval": 2 * MS},
    }
    expect = {"metric": "codel.sojourn_s.mean", "of": "switch.sink", "min": "1ms", "max": "12ms"}
    return made | {"expect": [expect], "figure": [figure]}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any]]:
    """A run of it, read from its folder."""
    found = run(Plan(**table()), out=tmp_path_factory.mktemp("runs"))
    assert found.folder is not None
    return load(found.folder), found.result


def test_metrics_are_the_statistics_of_the_samples(done: tuple[Run, dict[str, Any]]) -> None:
    shown, result = done
    wait = shown.table.column("switch.sink", "sojourn")
    late = wait[(shown.times_ps >= 10 * MS) & (shown.times_ps < 20 * MS)] / 1e12
    assert len(late) == 100
    found = result["metrics"]["late"]["switch.sink"]
    for part, value in {
        "mean": late.mean(),
        "sd": late.std(),
        "min": late.min(),
        "max": late.max(),
        "p99": np.sort(late)[98],
    }.items():
        assert found[f"codel.sojourn_s.{part}"] == pytest.approx(value)
        assert result["units"][f"codel.sojourn_s.{part}"] == "s"
    assert result["units"]["codel.count.mean"] == "count"


def test_they_are_judged(done: tuple[Run, dict[str, Any]]) -> None:
    (row,) = done[1]["expectations"]
    assert row["met"]
    assert row["unit"] == "s"


def test_early_drops_are_measured_and_lost_frames_are_both(
    done: tuple[Run, dict[str, Any]],
) -> None:
    found = done[1]["metrics"]["run"]["switch.sink"]
    assert found["frames.dropped_early"] > 3
    lost = found["frames.dropped"] + found["frames.dropped_early"]
    assert found["frames.drop_ratio"] == pytest.approx(lost / found["frames.received"])


def test_the_file_of_samples_says_what_metrics_are_called(
    done: tuple[Run, dict[str, Any]],
) -> None:
    shown, _ = done
    assert shown.folder is not None
    columns = read_samples(shown.folder / "samples.parquet")[1]
    wait = Column("switch", "switch.sink", "sojourn", "ps", "gauge", "codel.sojourn_s")
    assert wait in columns
    assert {c.metric for c in columns if c.quantity == "queue_bytes"} == {""}


def test_the_report_draws_them(done: tuple[Run, dict[str, Any]]) -> None:
    shown, _ = done
    assert list(figures.columns_with_values(shown)) == [
        "codel.sojourn_s",
        "codel.dropping",
        "codel.count",
    ]
    panels = figures.state_figure(shown).axes
    (line,) = panels[0].get_lines()
    assert line.get_label() == "switch.sink"
    assert panels[0].get_ylabel() == "sojourn_s (ms)"
    most = shown.table.column("switch.sink", "sojourn").max() / 1e9
    assert max(line.get_ydata()) == pytest.approx(most)
    assert "State of the algorithms over time" in report(shown)


def test_a_figure_of_the_plan_draws_them(done: tuple[Run, dict[str, Any]]) -> None:
    shown, _ = done
    (drawn,) = figures.planned(shown)
    (series,) = drawn.plots[0].series
    most = shown.table.column("switch.sink", "sojourn").max() / 1e12
    assert series.y.max() == pytest.approx(most)


def test_a_series_that_is_called_as_another_one_is_refused() -> None:
    made = table()
    point = {"plugin": "pie"}
    made["nodes"]["switch"] |= {"congestion_point": point}
    made["expect"] = made["figure"] = []
    resolved = Plan(**made).check(Registry.load())
    algorithm = resolved.uses["congestion_point"]["switch.sink"].algorithm
    twice = (*algorithm.columns, algorithm.columns[0])
    object.__setattr__(algorithm, "columns", twice)
    try:
        with pytest.raises(BadInput, match=r"two series of switch.(nic|sink) are called 'delay'"):
            assembled(made)
    finally:
        object.__setattr__(algorithm, "columns", twice[:-1])


def test_nothing_is_drawn_of_a_run_whose_algorithms_show_nothing(tmp_path: Path) -> None:
    found = run(Plan(**line_of_three()), out=tmp_path, report=False)
    assert found.folder is not None
    assert figures.columns_with_values(load(found.folder)) == {}
