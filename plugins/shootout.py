"""Command `tailback shootout RUN`: table and figure of a `shootout` or `shootout-sizes` run.

The plans have a network for every scheme; what they are called in `shootout` stands here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from plugins import shootout_sizes as sizes
from tailback.plugin import BadInput, Problem, output_console, print_json, text_table

PLAN = "shootout"
SCHEMES = {
    "qcn": "QCN",
    "qin": "QCN at inputs",
    "fecn": "FECN",
    "p4q": "P4QCN",
    "dcq": "DCQCN",
    "pfc": "PFC alone",
}
"""Prefix of a network's names -> the scheme."""
WORKLOADS = ("fan-in", "squeeze", "victim")
SOURCES = 4
COLUMNS = {
    "throughput": ("Gb/s at d1", 1e-9),
    "victim": ("victim, Gb/s", 1e-9),
    "fairness": ("Jain's index", 1.0),
    "queue": ("mean queue, KB", 1e-3),
    "latency": ("latency p99, ms", 1e3),
    "paused": ("h2 paused, ms", 1e3),
    "messages": ("messages", 1.0),
}
"""Measure -> its heading, and what it is multiplied by."""

Measures = dict[str, float | None]


def measures(metrics: dict[str, dict[str, Any]], prefix: str) -> Measures:
    """The measures of one network in one phase; `metrics` is entity -> metric -> number."""

    def of(entity: str, metric: str) -> float | None:
        return metrics.get(f"{prefix}-{entity}", {}).get(metric)

    flows = [f"f{k}" for k in range(1, SOURCES + 1)]
    rates = [of(flow, "throughput_bps") or 0.0 for flow in flows]
    tails = [value for flow in flows if (value := of(flow, "latency_s.p99")) is not None]
    limiters = [f"h{k}.rp{n}" for k in range(1, SOURCES + 1) for n in range(2)]
    received = [of(limiter, "feedback.received") for limiter in limiters]
    squares = sum(rate * rate for rate in rates)
    return {
        "throughput": sum(rates),
        "victim": of("v", "throughput_bps"),
        "fairness": sum(rates) ** 2 / (len(rates) * squares) if squares else None,
        "queue": of(f"s.{prefix}-d1", "queue_bytes.mean"),
        "latency": max(tails, default=None),
        "paused": of(f"h2>{prefix}-s", "pause.time_s"),
        "messages": float(sum(value or 0 for value in received)),
    }


def metrics_of(folder: Path) -> dict[str, Any]:
    """Phase -> entity -> metric -> number of a run folder. Raises BadInput."""
    path = folder / "result.json"
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(str(folder), f"{path} cannot be read: {error}; name a run folder") from None
    metrics: dict[str, Any] = result.get("metrics", {})
    return metrics


def read(folder: Path) -> dict[str, dict[str, Measures]]:
    """Workload -> scheme -> measures of a run folder. Raises BadInput for any other plan's."""
    metrics = metrics_of(folder)
    if not all(workload in metrics for workload in WORKLOADS):
        accepted = f"the folder of a run of the plan {PLAN!r} or {sizes.PLAN!r} is expected"
        raise BadInput(str(folder), [Problem("RUN", str(folder), accepted)])
    return {
        workload: {prefix: measures(metrics[workload], prefix) for prefix in SCHEMES}
        for workload in WORKLOADS
    }


def text(name: str, value: float | None) -> str:
    """A measure as the table has it."""
    return "" if value is None else f"{value * COLUMNS[name][1]:.3g}"


def markdown(found: dict[str, dict[str, Measures]]) -> str:
    """The table, a block of rows for each workload."""
    heads = ["workload", "scheme", *(head for head, _ in COLUMNS.values())]
    lines = [heads, ["---"] * len(heads)]
    for workload, schemes in found.items():
        for prefix, values in schemes.items():
            cells = [text(name, values[name]) for name in COLUMNS]
            if workload != "victim":
                cells[1] = ""
            lines.append([workload, SCHEMES[prefix], *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def draw(found: dict[str, dict[str, Measures]], path: Path) -> None:
    """The figure: a row of bars for each measure, a column for each workload."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = ("throughput", "fairness", "queue", "latency", "paused")
    figure, axes = plt.subplots(len(rows), 3, figsize=(9, 9), sharey="row", layout="constrained")
    colours = plt.get_cmap("tab10").colors  # type: ignore[attr-defined]
    for column, workload in enumerate(WORKLOADS):
        for row, name in enumerate(rows):
            place, (heading, scale) = axes[row][column], COLUMNS[name]
            heights = [(found[workload][p][name] or 0.0) * scale for p in SCHEMES]
            place.bar(range(len(SCHEMES)), heights, color=colours[: len(SCHEMES)])
            if name == "throughput" and workload == "victim":
                victims = [(found[workload][p]["victim"] or 0.0) * scale for p in SCHEMES]
                place.bar(
                    range(len(SCHEMES)), victims, bottom=heights, color="0.75", label="victim"
                )
                place.margins(y=0.3)
                place.legend(fontsize=7, loc="upper left", frameon=False)
            place.spines[["top", "right"]].set_visible(False)
            place.tick_params(labelsize=7)
            place.set_xticks(range(len(SCHEMES)), [""] * len(SCHEMES))
            if column == 0:
                place.set_ylabel(heading, fontsize=8)
            if row == 0:
                place.set_title(workload, fontsize=10)
            if row == len(rows) - 1:
                names = list(SCHEMES.values())
                place.set_xticks(range(len(SCHEMES)), names, rotation=60, ha="right", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def shootout(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run of the plan.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write shootout.png and shootout.md there."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the schemes of a run of `shootout` or `shootout-sizes`: one table, one figure.

    \b
      tailback run shootout-sizes --out runs
      tailback shootout runs/shootout-sizes/20260101T000000Z-abcdef --out figures
    """
    if sizes.is_shootout_sizes(metrics_of(run)):
        _by_size(run, out, as_json=as_json)
        return
    found = read(run)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "shootout.md").write_text(markdown(found), encoding="utf-8")
        draw(found, out / "shootout.png")
    if as_json:
        print_json(found)
        return
    rows = [
        [workload, SCHEMES[prefix], *(text(name, values[name]) for name in COLUMNS)]
        for workload, schemes in found.items()
        for prefix, values in schemes.items()
    ]
    heads = ("workload", "scheme", *(head for head, _ in COLUMNS.values()))
    output_console().print(text_table(heads, rows))


def _by_size(run: Path, out: Path | None, *, as_json: bool) -> None:
    """Slowdowns by message size, of a run of `shootout-sizes`."""
    found = sizes.read(run)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{sizes.PLAN}.md").write_text(sizes.markdown(found), encoding="utf-8")
        sizes.draw(found, out / f"{sizes.PLAN}.png")
    if as_json:
        print_json(found)
        return
    heads, lines = sizes.rows(found)
    output_console().print(text_table(tuple(heads), lines))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(shootout)
