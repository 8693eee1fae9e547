"""What `traces` contributes: metrics, the files of a run, its report, and commands to read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.hookspecs import hookimpl

if TYPE_CHECKING:
    import typer

    from orchestrator.plan import Plan
    from orchestrator.recording import Recording


@hookimpl
def tailback_commands(app: typer.Typer) -> None:
    """compare, report, analyze."""
    from traces.commands import register

    register(app)


@hookimpl
def tailback_metrics(
    recording: Recording, phases: Mapping[str, tuple[int, int]]
) -> tuple[dict[str, dict[str, dict[str, Any]]], dict[str, str]]:
    """The metrics of the design's contract."""
    from traces.metrics import compute

    return compute(recording, phases)


@hookimpl
def tailback_run_files(folder: Path, recording: Recording, plan: Plan) -> None:
    """samples.parquet and one pcapng file per captured port."""
    from traces.pcapng import write
    from traces.samples import write_samples

    write_samples(folder / "samples.parquet", recording)
    for capture in recording.captures:
        path = folder / "captures" / f"{capture.node}-{capture.port}.pcapng"
        path.parent.mkdir(exist_ok=True)
        write(path, [capture], epoch_ns=recording.epoch_ns)


@hookimpl
def tailback_report(folder: Path) -> None:
    """report.html."""
    from traces.report import report
    from traces.runs import load

    (folder / "report.html").write_text(report(load(folder)), encoding="utf-8", newline="\n")
