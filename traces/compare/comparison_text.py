"""Terminal tables of a comparison."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestrator.terminal.format_output import quantity
from traces.compare.comparison_result import Comparison, Difference, QueueDistance


def show(comparison: Comparison, console: Console, *, every: bool = False) -> None:
    """Print the metrics that decide (`every`: all of them), the queues, and the outcome.

    Ports that are idle in every run are counted, not listed.
    """
    idle = set() if every else _idle(comparison)
    rows = [one for one in comparison.differences if every or one.agree is not None]
    rows = [one for one in rows if one.entity not in idle]
    for index, label in enumerate(comparison.runs):
        console.print(f"[bold]{letter(index)}[/bold]  {escape(label)}")
    console.print(_metrics(rows, len(comparison.runs)))
    console.print(_queues([one for one in comparison.queues if one.entity not in idle], comparison))
    if comparison.chances:
        console.print(_chances(comparison))
    if idle:
        are = "port is" if len(idle) == 1 else "ports are"
        console.print(f"{len(idle)} {are} idle in every run and left out; --all lists them")
    for note in comparison.notes:
        console.print(f"note: {escape(note)}")
    console.print(outcome(comparison), highlight=False, markup=False)


def outcome(comparison: Comparison) -> str:
    """One sentence: do the runs agree, and if not, where do they part?"""
    parting = comparison.parting
    if parting is None:
        return f"agree: {comparison.rule}"
    where = f"phase {parting.phase}, {parting.metric} of {parting.entity}"
    if comparison.by_chance:
        return f"agree as far as seeds do: these differ as much by chance, first in {where}"
    if parting.time_s is None:
        return f"disagree: first in {where}; no 50 ms window lastingly, only the mean of the phase"
    return f"disagree: first in {where}, from {parting.time_s:.3f} s on"


def letter(index: int) -> str:
    """A, B, ... Z, then R27 and so on: how a run is called in the tables."""
    return chr(ord("A") + index) if index < 26 else f"R{index + 1}"


def _idle(comparison: Comparison) -> set[str]:
    """Entities whose deciding metrics are 0 in every phase of every run."""
    deciding = [one for one in comparison.differences if one.agree is not None]
    busy = {one.entity for one in deciding if any(one.values) or not one.agree}
    return {one.entity for one in deciding} - busy


def _metrics(rows: list[Difference], runs: int) -> Table:
    table = Table(title="metrics", title_justify="left", box=None, pad_edge=False)
    for name in ("phase", "entity", "metric"):
        table.add_column(name)
    for index in range(runs):
        table.add_column(letter(index), justify="right")
    for name in ("difference", "relative"):
        table.add_column(name, justify="right")
    table.add_column("")
    for one in rows:
        table.add_row(
            escape(one.phase),
            escape(one.entity),
            one.metric,
            *(quantity(value, one.unit) for value in one.values),
            quantity(one.difference, one.unit),
            "-" if one.relative is None else f"{one.relative:.2%}",
            {True: "agree", False: "DIFFER", None: ""}[one.agree],
        )
    return table


def _chances(comparison: Comparison) -> Table:
    units = {one.metric: one.unit for one in comparison.differences}
    runs = len(comparison.runs)
    table = Table(
        title="the same in seeds of the simulator",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for name in ("phase", "entity", "metric"):
        table.add_column(name)
    for name in ("least", "mean", "most", "pairs that differ"):
        table.add_column(name, justify="right")
    for index in range(runs):
        table.add_column(f"{letter(index)} away", justify="right")
    table.add_column("")
    for one in comparison.chances:
        unit = units[one.metric]
        share = "-" if one.pairs_apart is None else f"{one.pairs_apart:.0%}"
        away = ["-" if far is None else f"{far:.1f} sd" for far in one.away]
        table.add_row(
            escape(one.phase),
            escape(one.entity),
            one.metric,
            *(quantity(value, unit) for value in (one.least, one.mean, one.most)),
            share,
            *(away or ["-"] * runs),
            "by chance" if one.by_chance else "DIFFER",
        )
    return table


def _queues(queues: list[QueueDistance], comparison: Comparison) -> Table:
    table = Table(
        title="distribution of the queue, against A", title_justify="left", box=None, pad_edge=False
    )
    for name in ("phase", "entity", "run"):
        table.add_column(name)
    for name in ("Kolmogorov-Smirnov", "Wasserstein"):
        table.add_column(name, justify="right")
    for one in queues:
        ks = one.kolmogorov_smirnov
        table.add_row(
            escape(one.phase),
            escape(one.entity),
            letter(comparison.runs.index(one.run)),
            "-" if ks is None else f"{ks:.3f}",
            quantity(one.wasserstein_bytes, "B"),
        )
    return table
