"""Table of a paper, with the run's values next to the published ones."""

from __future__ import annotations

from matplotlib.axes import Axes

from orchestrator.plan.drawable_metrics import unit_of, value_of
from traces.figures.figure_style import FAINT
from traces.figures.panels import Panel, description, published_label, unit_name, with_unit

OURS = "measured"
"""The head of a column without a label."""
ROW = 0.24
"""Height in inches."""


def rows_of(panel: Panel) -> tuple[list[str], list[list[str]]]:
    """(heads, rows): a row for each place, a column for each label and for what is published."""
    one = unit_name(panel)[1]
    unit = unit_of(panel.figure)
    heads, columns = [panel.figure.x_label], [list(panel.places)]
    published = {said.label: said for said in panel.figure.published}
    shown = [series.label for series in panel.series]
    for series in panel.series:
        heads.append(series.label or OURS)
        columns.append([_number(value / one) for value in series.y])
        if said := published.get(series.label):
            heads.append(published_label(said))
            columns.append([_number(value_of(value, unit) / one) for value in said.values])
    for label, said in published.items():
        if label not in shown:
            heads.append(published_label(said))
            columns.append([_number(value_of(value, unit) / one) for value in said.values])
    return heads, [list(row) for row in zip(*columns, strict=True)]


def _number(value: float) -> str:
    """Five digits: tables of papers give as many."""
    return "–" if value != value else f"{value:.5g}"


def caption(panel: Panel) -> str:
    """Caption of the numbers, with their unit."""
    return with_unit(description(panel.figure), unit_name(panel)[0])


def height(panel: Panel) -> float:
    """Inches that it takes."""
    return (len(panel.places) + 2.5) * ROW


def draw(axes: Axes, panel: Panel) -> None:
    """The table as a picture."""
    heads, rows = rows_of(panel)
    axes.set_axis_off()
    shown = axes.table(
        rows, colLabels=heads, loc="center", cellLoc="left", colLoc="left", edges="horizontal"
    )
    shown.auto_set_font_size(False)
    for cell in shown.get_celld().values():
        cell.set_edgecolor(FAINT)
        cell.set_linewidth(0.6)
        cell.set_facecolor("none")
    axes.set_title(" ".join(part for part in (panel.title, caption(panel)) if part), loc="left")
