"""Curves of a sweep: one for each value of the second parameter, panels for those of the third."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

from orchestrator.batch.parquet_dataset import HALF, PARAMETER_POINTS
from traces.figures.sweep_curves import MOST_CURVES, MOST_PANELS, sweep_curves
from traces.sweep_results import SweepResults

METRIC = "switch.sink queue_bytes.mean"
KEYS = ("traffic.a.rate", "nodes.s.weight", "links.up.delay")


def drawn(folder: Path, values: list[list[float]], edge: float | None = None) -> Figure:
    """The figure of a grid, where the mean is the first value plus ten times the second one and a
    hundred times the third one; the last point comes first."""
    points = list(itertools.product(*values))[::-1]
    axes = [
        {"key": key, "words": False, "unit": "", "spacing": "list"} for key in KEYS[: len(values)]
    ]
    found: dict[str, Any] = {"design": "grid", "axes": axes, "units": {METRIC: "B"}}
    found["edge"] = None if edge is None else {"metric": METRIC, "value": edge}
    (folder / "sweep.json").write_text(json.dumps(found))
    means = [sum(value * 10**n for n, value in enumerate(point)) for point in points]
    columns = {
        axis["key"]: column for axis, column in zip(axes, zip(*points, strict=True), strict=True)
    }
    columns |= {METRIC: means, METRIC + HALF: [0.5] * len(means)}
    table = pa.table({key: list(column) for key, column in columns.items()})
    pq.write_table(table, folder / PARAMETER_POINTS)
    return sweep_curves(SweepResults(folder), METRIC)


def curves(panel: Any) -> list[list[float]]:
    return [list(line.get_ydata()) for line in panel.lines]


def test_one_parameter_has_one_curve_in_its_order_and_no_legend(tmp_path: Path) -> None:
    (panel,) = drawn(tmp_path, [[1.0, 2.0, 4.0]]).axes
    assert curves(panel) == [[1, 2, 4]]
    assert panel.get_legend() is None
    assert panel.get_xlabel() == KEYS[0]
    assert panel.get_ylabel() == METRIC
    (band,) = panel.collections
    assert band.get_paths()[0].get_extents().ymin == pytest.approx(0.5)
    assert band.get_paths()[0].get_extents().ymax == pytest.approx(4.5)


def test_the_second_parameter_has_a_curve_for_each_value_with_its_text(tmp_path: Path) -> None:
    (panel,) = drawn(tmp_path, [[1.0, 2.0], [3.0, 5.0]]).axes
    assert curves(panel) == [[31, 32], [51, 52]]
    legend = panel.get_legend()
    assert legend.get_title().get_text() == KEYS[1]
    assert [text.get_text() for text in legend.get_texts()] == ["3", "5"]


def test_the_third_parameter_has_a_panel_for_each_value(tmp_path: Path) -> None:
    figure = drawn(tmp_path, [[1.0, 2.0], [3.0, 5.0], [7.0, 8.0, 9.0]], edge=730.0)
    shown = [panel for panel in figure.axes if panel.axison]
    assert [panel.get_title() for panel in shown] == [f"{KEYS[2]} = {value}" for value in (7, 8, 9)]
    for panel, value in zip(shown, (7, 8, 9), strict=True):
        *found, edge = curves(panel)
        assert found == [[100 * value + 31, 100 * value + 32], [100 * value + 51, 100 * value + 52]]
        assert edge == [730, 730]
    assert [bool(panel.get_ylabel()) for panel in figure.axes] == [True, False, True, False]
    assert [panel.get_legend() is not None for panel in shown] == [True, False, False]


def test_of_many_values_some_are_drawn_with_the_first_and_the_last(tmp_path: Path) -> None:
    many = [float(value) for value in range(20)]
    figure = drawn(tmp_path, [[1.0], many, many])
    assert len(figure.axes) == MOST_PANELS
    for panel, of_third in ((figure.axes[0], 0), (figure.axes[-1], 19)):
        assert len(panel.lines) == MOST_CURVES
        ends = [curves(panel)[0][0], curves(panel)[-1][0]]
        assert ends == [1 + 100 * of_third, 191 + 100 * of_third]
