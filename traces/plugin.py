"""Plugin hooks of `traces`: metrics, run files, report, and commands that read runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from orchestrator.hookspecs import hookimpl

if TYPE_CHECKING:
    import numpy as np
    import typer

    from orchestrator.plan import Plan, ResolvedPlan
    from orchestrator.recording import Column, FrameSeen, Recording

_written: WeakValueDictionary[Path, Recording] = WeakValueDictionary()
_plans: WeakValueDictionary[Path, Plan] = WeakValueDictionary()
"""Folder -> its contents, while referenced elsewhere: its report need not read it again."""


@hookimpl
def tailback_commands(app: typer.Typer) -> None:
    """compare, report, figure, analyze, replay, pack, verify, export."""
    from traces.trace_commands import register

    register(app)


@hookimpl
def tailback_metrics(
    recording: Recording, phases: Mapping[str, tuple[int, int]]
) -> tuple[dict[str, dict[str, dict[str, Any]]], dict[str, str]]:
    """The metrics of the design's contract."""
    from traces.metrics import compute
    from traces.metrics.sample_table import RUN_PHASE

    return compute(recording, {name: span for name, span in phases.items() if name != RUN_PHASE})


@hookimpl
def tailback_devices(resolved: ResolvedPlan, recording: Recording) -> dict[str, dict[str, Any]]:
    """The oracle's word on external nodes."""
    if not recording.facing:
        return {}
    from traces.oracle.dut_conformance import judge_devices

    return judge_devices(resolved, recording)


@hookimpl
def tailback_run_files(folder: Path, recording: Recording, plan: Plan) -> None:
    """samples.parquet, messages, latencies and marking where there are any, a pcapng file for each
    port."""
    from traces.latency_table import write_latency
    from traces.marking_table import write_marking
    from traces.message_table import write_messages
    from traces.pcapng import write
    from traces.samples import write_samples

    _written[folder], _plans[folder] = recording, plan
    write_samples(folder / "samples.parquet", recording)
    if recording.messages is not None:
        write_messages(folder / "messages.parquet", recording.messages)
    if recording.latency:
        write_latency(folder / "latency.parquet", recording)
    if recording.marking:
        write_marking(folder / "marking.parquet", recording)
    for capture in recording.captures:
        path = folder / "captures" / f"{capture.node}-{capture.port}.pcapng"
        path.parent.mkdir(exist_ok=True)
        write(path, [capture], epoch_ns=recording.epoch_ns)


@hookimpl
def tailback_samples(folder: Path) -> tuple[np.ndarray, Sequence[Column], np.ndarray]:
    """Samples from samples.parquet."""
    from traces.run_queries import samples

    return samples(folder)


@hookimpl
def tailback_frames(folder: Path, time_ps: int, most: int) -> Iterable[FrameSeen]:
    """Frames from the captures."""
    from traces.run_queries import epoch_of, frames_near

    return frames_near(folder, time_ps, most, epoch_of(folder))


@hookimpl
def tailback_frame_words(octets: np.ndarray, length: int) -> tuple[str, str]:
    """Descriptions of frame types that tailback decodes."""
    from traces.run_queries import frame_text

    return frame_text(octets, length)


@hookimpl
def tailback_report(folder: Path) -> None:
    """report.html."""
    from traces.report import report
    from traces.run_reader import load

    text = report(load(folder, _written.get(folder), _plans.get(folder)))
    (folder / "report.html").write_text(text, encoding="utf-8", newline="\n")


@hookimpl
def tailback_map(folder: Path) -> None:
    """map.svg and map.png."""
    import json

    from traces.figures.figure_style import png, svg
    from traces.figures.search_map import draw_search_map

    figure = draw_search_map(json.loads((folder / "explain.json").read_text(encoding="utf-8")))
    (folder / "map.svg").write_text(svg(figure), encoding="utf-8", newline="\n")
    (folder / "map.png").write_bytes(png(figure))


@hookimpl
def tailback_sweep(folder: Path) -> None:
    """report.html, and each of its figures as SVG and PNG."""
    from traces.figures.figure_style import png, svg
    from traces.sweep_report import figures, report
    from traces.sweep_results import SweepResults

    swept = SweepResults(folder)
    drawn = figures(swept)
    for name, figure, _ in drawn:
        (folder / f"{name}.svg").write_text(svg(figure), encoding="utf-8", newline="\n")
        (folder / f"{name}.png").write_bytes(png(figure))
    (folder / "report.html").write_text(report(swept, drawn), encoding="utf-8", newline="\n")
