"""Slowdowns by message size and scheme, of a run of the plan `shootout-sizes`.

A slowdown is a message's completion time over the one that its empty path would take.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailback.plugin import BadInput, Problem

if TYPE_CHECKING:
    import numpy as np

PLAN = "shootout-sizes"
SCHEMES = {
    "qcn": "QCN",
    "qin": "QCN at inputs",
    "fecn": "FECN",
    "p4q": "P4QCN",
    "dcq": "DCQCN",
    "dctcp": "DCTCP",
    "timely": "TIMELY",
    "swift": "Swift",
    "hpcc": "HPCC",
    "nscc": "NSCC",
    "cred": "credits, trimming",
    "reno": "NewReno, no PFC",
    "cubic": "CUBIC, no PFC",
    "pfc": "PFC alone",
}
"""Prefix of a network's names -> the scheme."""
EDGES = (10_000, 100_000, 1_000_000)
"""Octets: the largest message of each class but the last."""
CLASSES = ("to 10 KB", "to 100 KB", "to 1 MB", "more")
SHARES = {"p50": 0.5, "p99": 0.99}

Slowdowns = dict[str, dict[str, float | None]]
"""Class -> `messages` (how many were completed), `p50`, `p99`; None of an empty class."""


def is_shootout_sizes(metrics: dict[str, Any]) -> bool:
    """True if metrics are of a run of the plan `shootout-sizes`."""
    whole = metrics.get("run")
    return isinstance(whole, dict) and all(f"{prefix}-t" in whole for prefix in SCHEMES)


def read(folder: Path) -> dict[str, Slowdowns]:
    """Scheme -> its slowdowns, of a run folder. Raises BadInput."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "messages.parquet"
    try:
        table = pq.read_table(path, columns=["entry", "size", "start_ps", "done_ps", "ideal_ps"])
        done = table.filter(pa.compute.is_valid(table["done_ps"]))
        entry = np.array(done["entry"].to_pylist(), object)
        numbers = {name: done[name].to_numpy() for name in done.column_names[1:]}
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        accepted = f"the folder of a run of the plan {PLAN!r} is expected ({error})"
        raise BadInput(str(folder), [Problem("RUN", str(folder), accepted)]) from None
    took = (numbers["done_ps"] - numbers["start_ps"]) / np.maximum(numbers["ideal_ps"], 1)
    place = np.searchsorted(EDGES, numbers["size"])
    return {
        prefix: {
            name: _percentiles(took[(entry == f"{prefix}-t") & (place == number)])
            for number, name in enumerate(CLASSES)
        }
        for prefix in SCHEMES
    }


def _percentiles(slowdowns: np.ndarray) -> dict[str, float | None]:
    """Percentiles by nearest rank, as `slowdown.p99` has them."""
    import numpy as np

    values = np.sort(slowdowns)
    found: dict[str, float | None] = {"messages": float(len(values))}
    for name, share in SHARES.items():
        rank = max(int(np.ceil(share * len(values))), 1) - 1
        found[name] = float(values[rank]) if len(values) else None
    return found


def text(value: float | None) -> str:
    """A slowdown as the table has it."""
    return "" if value is None else f"{value:.3g}"


def rows(found: dict[str, Slowdowns]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table: p50 and p99 of each class."""
    heads = ["scheme", *(f"{name}: {share}" for name in CLASSES for share in SHARES)]
    lines = [
        [SCHEMES[prefix], *(text(of[name][share]) for name in CLASSES for share in SHARES)]
        for prefix, of in found.items()
    ]
    return [*heads, "messages"], [
        [*line, text_of_count(of)] for line, of in zip(lines, found.values(), strict=True)
    ]


def text_of_count(of: Slowdowns) -> str:
    """Number of messages that a scheme completed, as text."""
    return f"{sum(one['messages'] or 0 for one in of.values()):.0f}"


def markdown(found: dict[str, Slowdowns]) -> str:
    """The table as a page has it."""
    heads, lines = rows(found)
    every = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in every) + "\n"


def draw(found: dict[str, Slowdowns], path: Path) -> None:
    """The figure: p50 and p99 by class, a line for each scheme."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharex=True, layout="constrained")
    colours = plt.get_cmap("tab20").colors  # type: ignore[attr-defined]
    for place, share in zip(axes, SHARES, strict=True):
        for number, (prefix, of) in enumerate(found.items()):
            heights = [np.nan if (v := of[name][share]) is None else v for name in CLASSES]
            style = "--" if prefix == "pfc" else "-"
            colour = "black" if prefix == "pfc" else colours[(2 * number + number // 10) % 20]
            marker = "o^sDvP*Xhdp<>."[number]
            place.plot(
                CLASSES, heights, style, color=colour, marker=marker, ms=5, label=SCHEMES[prefix]
            )
        if share == "p99":
            place.set_yscale("log")
            place.yaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g}"))
        else:
            place.set_ylim(bottom=1)
        place.set_title(f"slowdown, {share}", fontsize=10)
        place.set_xlabel("size of message", fontsize=9)
        place.tick_params(labelsize=8)
        place.grid(axis="y", which="both", color="0.92")
        place.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
