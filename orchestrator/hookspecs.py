"""Hooks that a plugin can implement. All are optional.

A plugin is a module named by an entry point of group `tailback`. Its hooks are called once, when
the registry is loaded, except those that say otherwise; imports that take long belong inside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import numpy as np
    import typer

    from orchestrator.algorithm import Algorithm
    from orchestrator.engine.frames.frame_type import FrameType
    from orchestrator.plan import Plan, ResolvedPlan
    from orchestrator.plan.metric import Metric
    from orchestrator.plan.target_options import TargetOptions
    from orchestrator.progress import Report
    from orchestrator.recording import Column, FrameSeen, Recording
    from orchestrator.rtl_module import RtlHunted, RtlOptions
    from orchestrator.target import Target

hookspec = pluggy.HookspecMarker("tailback")
hookimpl = pluggy.HookimplMarker("tailback")
"""Decorator that marks a function of a plugin as the implementation of the hook of its name."""


@hookspec
def tailback_algorithms() -> Iterable[Algorithm]:  # type: ignore[empty-body]
    """Congestion points, reaction points, pauses, delay lines, traffic sources, transports."""


@hookspec
def tailback_frame_types() -> Iterable[FrameType]:  # type: ignore[empty-body]
    """Frames that a plugin's algorithms send: their layout as data, and how they travel."""


@hookspec
def tailback_targets() -> Iterable[Target]:  # type: ignore[empty-body]
    """Places where the nodes of a plan can live."""


@hookspec
def tailback_target_options() -> Iterable[type[TargetOptions]]:  # type: ignore[empty-body]
    """Options of targets, a pydantic model for each: on the command line, in plans, in Python.

    Called whenever the command line of a run is assembled: import no target here.
    """


@hookspec
def tailback_plans() -> Iterable[Path]:  # type: ignore[empty-body]
    """Files of shipped plans; the file's name without `.toml` is the name they are run by."""


@hookspec
def tailback_commands(app: typer.Typer) -> None:
    """Add commands to the command line; called whenever it is assembled."""


@hookspec
def tailback_hunt_rtl(  # type: ignore[empty-body]
    algorithm: Algorithm, options: RtlOptions, progress: Report
) -> RtlHunted:
    """Run random sequences on an algorithm's own gateware and on its kernels; called by `hunt`."""


@hookspec
def tailback_metric_types() -> Iterable[Metric]:  # type: ignore[empty-body]
    """Metrics that the plugin computes; plans can expect and draw them, reports show them."""


@hookspec
def tailback_metrics(  # type: ignore[empty-body]
    recording: Recording, phases: Mapping[str, tuple[int, int]]
) -> tuple[dict[str, dict[str, dict[str, Any]]], dict[str, str]]:
    """Metrics of a run, phase -> entity -> metric -> number, and their units; called per run.

    They are in the result alone; `tailback_metric_types` has those that plans can expect.
    The name of a metric of tailback's own or of another plugin is refused.
    `phases` maps names to [from, to) in ps; "run" is the whole run and always there.
    """


@hookspec
def tailback_devices(  # type: ignore[empty-body]
    resolved: ResolvedPlan, recording: Recording
) -> dict[str, dict[str, Any]]:
    """Results of external nodes that are checked against `as`, by name; called per run."""


@hookspec
def tailback_run_files(folder: Path, recording: Recording, plan: Plan) -> None:
    """Write files of a run into its folder; called per run, before it gets its final name."""


@hookspec
def tailback_report(folder: Path) -> None:
    """Draw the report of a run from the files in its folder; called per run, last."""


@hookspec
def tailback_map(folder: Path) -> None:
    """Draw what a search over parameters found, from `explain.json` in its folder; called last."""


@hookspec
def tailback_sweep(folder: Path) -> None:
    """Draw what a sweep found, from `sweep.json` and its tables in its folder; called last."""


@hookspec
def tailback_samples(  # type: ignore[empty-body]
    folder: Path,
) -> tuple[np.ndarray, Sequence[Column], np.ndarray]:
    """The samples in a run's folder, for the console: times (ps), columns, values."""


@hookspec
def tailback_frames(  # type: ignore[empty-body]
    folder: Path, time_ps: int, most: int
) -> Iterable[FrameSeen]:
    """The captured frames of a run's folder nearest to a moment, decoded for people."""


@hookspec
def tailback_frame_words(  # type: ignore[empty-body]
    octets: np.ndarray, length: int
) -> tuple[str, str]:
    """Type and fields of a captured frame, for people, from its first octets."""
