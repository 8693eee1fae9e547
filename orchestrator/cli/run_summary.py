"""Summary that `tailback run` prints: expectations, effects of the machine, the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.terminal import format_output, stall_sentences
from orchestrator.terminal.escape_control import plain

if TYPE_CHECKING:
    from rich.text import Text

COLOURS = {"met": "green", "missed": "red", "invalid": "red", "valid": "green"}


UNASKED = {"unjudged": ": the plan expects nothing"}


def _mark(e: dict[str, Any]) -> Any:
    from rich.text import Text

    if "of_seeds" in e or "no_bar" in e:
        return Text("not judged", "yellow")
    if e.get("uncertain"):
        return Text("uncertain", "bold yellow")
    return Text("met", "green") if e["met"] else Text("MISSED", "bold red")


def _expectation(e: dict[str, Any], units: dict[str, str]) -> list[Any]:
    unit = e.get("unit") or units.get(e["metric"], "")
    value = format_output.quantity(e["value"], unit)
    if e.get("uncertain"):
        off = e["uncertainty"]
        value += f" ± {'∞' if off is None else format_output.quantity(off, unit)}"
    asked = format_output.band(e.get("min"), e.get("max"), unit)
    return [_mark(e), e["metric"], e["of"], e.get("phase") or "run", value, asked]


def _unjudged(rows: list[dict[str, Any]]) -> list[str]:
    """Lines about expectations that this run cannot judge."""
    reasons = {
        "of_seeds": "not judged from one seed (of_seeds); run it with --seeds N",
        "no_bar": "not judged on real frames, because the metric has no error bar; run it on "
        "--target simulated",
    }
    lines = []
    for key, reason in reasons.items():
        if count := sum(key in row for row in rows):
            are = "expectation is" if count == 1 else "expectations are"
            lines.append(f"{count} {are} {reason}")
    return lines


def _machine(fidelity: dict[str, Any]) -> str:
    """Lines about the machine's effects on a real-time run."""
    late = ", ".join(
        f"{name} {format_output.quantity(s, 's')}" for name, s in fidelity["lateness_s"].items()
    )
    held = fidelity["held"]
    lost = sum(fidelity["lost_outside_queues"].values())
    clock = f"clock held {held['share']:.2%} of the time"
    pace = "" if fidelity.get("pace", 1.0) == 1.0 else f"pace {fidelity['pace']:g}; "
    return f"{pace}lateness {late}; {clock}; {lost} frames lost outside the queues"


def _slower(fidelity: dict[str, Any]) -> list[tuple[str, Text]]:
    """Advice for a run for which the machine was too slow."""
    from rich.text import Text

    if fidelity.get("neighbours") and fidelity["verdict"] != "valid":
        return [("hint", Text("run it again when the other one is over"))]
    if not fidelity.get("advised_pace") or fidelity["verdict"] == "valid":
        return []
    hint = f"--pace {fidelity['advised_pace']:g}: a slower clock gives it time for every frame"
    return [("hint", Text(f"this machine is too slow for the plan in real time; try {hint}"))]


def _speed(performance: dict[str, Any]) -> str:
    rate = performance.get("frames_per_cpu_s")
    speed = f", {_many(rate)} per CPU second" if rate else ""
    return f"{performance['data_frames']} data frames in {performance['wall_s']:.2f} s{speed}"


def _frozen(result: dict[str, Any]) -> list[str]:
    """Lines about the expectations that were frozen before the run."""
    if "frozen" not in result:
        return []
    from orchestrator.run.frozen_expectations import frozen_notes

    return frozen_notes(result["frozen"])


def _many(rate: float) -> str:
    """A number for people: 1.23 M, 45.60 k, 7.89."""
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if rate >= size:
            return f"{rate / size:.2f}{letter}"
    return f"{rate:.2f}"


def show_result(result: dict[str, Any], folder: Path | None) -> None:
    """Print the summary of a run on stdout."""
    from rich.text import Text

    out = format_output.console()
    if result["expectations"]:
        units = result.get("units", {})
        rows = [_expectation(e, units) for e in result["expectations"]]
        out.print(format_output.table(("", "metric", "of", "phase", "value", "expected"), rows))
    met = sum(e["met"] for e in result["expectations"])
    verdict = result["verdict"]
    asked = sum(not e.keys() & {"of_seeds", "no_bar"} for e in result["expectations"])
    count = f" ({met} of {asked})" if asked else ""
    if not result["expectations"]:
        count = UNASKED.get(verdict, "")
    fidelity = result["fidelity"]
    lines = [
        ("verdict", Text(verdict + count, COLOURS.get(verdict, "yellow"))),
        ("fidelity", Text(fidelity["verdict"], COLOURS.get(fidelity["verdict"], "yellow"))),
        *(("", Text(reason)) for reason in fidelity.get("reasons", [])),
        *_slower(fidelity),
        *(("note", Text(note)) for note in result.get("notes", [])),
        *(("frozen", Text(said)) for said in _frozen(result)),
        *(("note", Text(note)) for note in _unjudged(result["expectations"])),
        ("ran", Text(f"{result['plan']} on {result['target']}, seed {result['seed']}")),
        ("machine", Text(_machine(fidelity)))
        if "lateness_s" in fidelity
        else ("speed", Text(_speed(result["performance"]))),
    ]
    said = stall_sentences.sentences(fidelity)
    lines += [("" if number else "stalls", Text(each)) for number, each in enumerate(said)]
    if folder is not None:
        lines.append(("folder", Text(str(folder))))
        if (folder / "report.html").exists():
            lines.append(("report", Text(str(folder / "report.html"))))
    for label, text in lines:
        shown = Text(plain(text.plain), text.style)  # a controller, or a program, says some of it
        out.print(Text(f"{label:<10}").append_text(shown), soft_wrap=True)
