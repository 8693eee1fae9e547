"""Python API behind `import tailback` (see docs/python.md): run plans, read runs.

Nothing of a run is read before it is used.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator import __version__
from orchestrator.errors import BadInput, Refused, RunFailed, TailbackError
from orchestrator.terminal.run_lookup import BASE, find_run
from traces.sweep_facade import Sweep, explain, sweep

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from orchestrator.plan.plan import Plan
    from orchestrator.progress import Progress
    from orchestrator.recording import Event
    from traces.result_schema import Expectation, Result
    from traces.run_reader import Run as Contents

__all__ = [
    "BadInput",
    "Refused",
    "Run",
    "RunFailed",
    "Sweep",
    "TailbackError",
    "__version__",
    "explain",
    "load",
    "plans",
    "run",
    "sweep",
]


class Run:
    """One finished run, read from its folder on first use."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        """Folder of the run."""
        self._kept: tempfile.TemporaryDirectory[str] | None = None

    def __repr__(self) -> str:
        done = self.result
        return (
            f"<Run {done.plan} on {done.target}, seed {done.seed}: {done.verdict}, {self.folder}>"
        )

    @cached_property
    def result(self) -> Result:
        """`result.json` as an object: plan, target, seed, and all that is below."""
        from traces.run_reader import read_result

        return read_result(self.folder / "result.json")

    @property
    def verdict(self) -> str:
        """Did it do what its plan expects: `met`, `missed`, `uncertain` (error
        bars hold a bound), `unjudged` (it expects nothing), `stopped` (by a user, before its
        end), or `invalid`, which says nothing."""
        return self.result.verdict

    @property
    def metrics(self) -> dict[str, dict[str, dict[str, int | float | None]]]:
        """Phase, entity, metric: `run.metrics["steady"]["switch.sink"]["utilization"]`.

        The phase `run` is all of it.
        """
        return self.result.metrics

    @property
    def units(self) -> dict[str, str]:
        """The unit of each metric."""
        return self.result.units

    @property
    def expectations(self) -> list[Expectation]:
        """Expectations of the plan and their outcome: `.metric .of .phase .min .max .value .met
        .uncertain .uncertainty`."""
        return self.result.expectations

    @property
    def fidelity(self) -> dict[str, Any]:
        """Fidelity of the run: `verdict` (valid, degraded, invalid), `reasons`, numbers."""
        return self.result.fidelity

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The tables of its plan, every default written out."""
        return self._contents.plan

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """With what, on what and how it was run."""
        from traces.run_reader import read_object

        return read_object(self.folder / "manifest.json")

    @cached_property
    def events(self) -> list[Event]:
        """Events of the run: `.time_ps .kind .entity .detail`."""
        from traces.run_reader import read_events

        return read_events(self.folder / "events.jsonl")

    def samples(
        self,
        entity: str | Iterable[str] | None = None,
        quantity: str | Iterable[str] | None = None,
    ) -> pa.Table:
        """Samples, as an Arrow table: time_ps, node, entity, quantity, value, unit.

        All of it, or that of some entities and quantities alone, which is then all that is read.
        `.to_pandas()`, `polars.from_arrow(…)` and DuckDB take it as it is. Raises BadInput for an
        entity or quantity that was not sampled, with the names that were.
        """
        from traces.samples import read_some

        path = self.folder / "samples.parquet"
        return read_some(path, entity=_names(entity), quantity=_names(quantity))

    def messages(self) -> pa.Table | None:
        """One row for each message that flows carried, as an Arrow table; None: none did."""
        from pyarrow import parquet

        path = self.folder / "messages.parquet"
        return parquet.read_table(path) if path.is_file() else None

    def fairness(self, entity: str = "traffic", phase: str = "run") -> pa.Table:
        """Jain's index over the time: time_ps (the end of a window) and fairness, null where
        fewer than two flows were on.

        Of all traffic, or of a traffic entry, in the run or a phase of it. Windows are trailing
        ones of a twentieth of the phase; the metrics `fairness.window_*` are made of them. Raises
        BadInput for an entry or a phase that is none.
        """
        from traces.fairness_table import fairness_table

        return fairness_table(self._contents, self.folder, entity, phase)

    def plot(self, port: str | None = None) -> Figure:
        """Queue, utilisation and rates of a port over time; without one: of the fullest queue."""
        from traces import figures

        contents = self._contents
        if port is None:
            ports = figures.bottlenecks(contents)
            if not ports:
                raise BadInput(str(self.folder), "no queue was sampled; there is nothing to plot")
            port = ports[0]
        if not contents.table.has(port, "queue_bytes"):
            from orchestrator.plan.input_problems import near

            known = sorted(contents.table.entities("queue_bytes"))
            raise BadInput("port", f"there is no sampled queue at {port!r}; {near(port, known)}")
        drawn = figures.paper_figure(contents, port)
        # A notebook shows a figure by itself only after pyplot was imported.
        drawn._repr_png_ = partial(figures.png, drawn)  # type: ignore[attr-defined]
        return drawn

    @property
    def report(self) -> Path:
        """Path of report.html; drawn now if the run was made without."""
        path = self.folder / "report.html"
        if not path.is_file():
            from traces.report import write_report

            write_report(self._contents, path)
        return path

    @property
    def captures(self) -> list[Path]:
        """Paths of the pcapng files, one for each captured port."""
        return sorted((self.folder / "captures").glob("*.pcapng"))

    @cached_property
    def _contents(self) -> Contents:
        """Contents of the run, as figures and reports need them."""
        from traces.run_reader import load as read

        return read(self.folder)


def _names(given: str | Iterable[str] | None) -> list[str] | None:
    """One name or several as a list."""
    return None if given is None else [given] if isinstance(given, str) else list(given)


def run(
    plan: str | os.PathLike[str] | Plan,
    *,
    target: str | None = None,
    seed: int | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
    options: Mapping[str, object] | None = None,
    out: str | os.PathLike[str] | None = BASE,
    report: bool = False,
    progress: Callable[[Progress], None] | bool = False,
) -> Run:
    """Run a plan, as `tailback run` does, and give what came of it.

    `plan`: the name of a shipped one, a TOML file, or a `Plan` made in Python. `target` and `seed`
    stand in for the plan's own. `set`: changes by dotted key, `{"traffic.bulk.frame": "256B"}`, or
    as on the command line, `["traffic.bulk.frame=256B"]`. `options`: options of the target by their
    names in a plan, `{"pace": 0.5}`; they lie over the plan's `[targets.NAME]`. `out`: where the
    run folder is made; None: in a temporary place, which goes with the object. `report`: draw
    report.html at once. `progress`: True shows it on stderr, a function is handed each news; the
    first run on a machine compiles the engine, which takes some 13 seconds.

    A run that missed its expectations is returned like any other: look at `verdict`. Raises
    BadInput, Refused (the target cannot do it here) or RunFailed; then nothing is left behind.
    """
    from contextlib import nullcontext

    from orchestrator.plan.plan import Plan
    from orchestrator.progress import silent
    from orchestrator.registry import Registry
    from orchestrator.run.execute_run import run as execute
    from orchestrator.terminal.plan_loading import load_plan
    from orchestrator.terminal.progress_view import shown
    from orchestrator.testbed.local_testbed import local_testbed

    if isinstance(set, str):
        raise BadInput("set", f"{set!r} is not accepted; a list of KEY=VALUE or a dict is expected")
    settings = [f"{k}={_text(v)}" for k, v in set.items()] if isinstance(set, Mapping) else set
    if isinstance(plan, Plan):
        chosen = plan.with_settings(settings) if settings else plan
    else:
        chosen = load_plan(os.fspath(plan), settings)
    if target is not None:
        chosen = chosen.with_settings([f"target={target}"], said="")
    registry = Registry.load()
    chosen = chosen.with_options(registry, options or {})
    bed = local_testbed(chosen.check(registry).options)
    kept = tempfile.TemporaryDirectory(prefix="tailback-") if out is None else None
    base = Path(kept.name if kept is not None else os.fspath(out or BASE))
    tell = nullcontext(progress if callable(progress) else silent)
    with shown() if progress is True else tell as news:
        done = execute(
            chosen, seed=seed, out=base, progress=news, report=report, live=False, testbed=bed
        )
    assert done.folder is not None
    made = Run(done.folder)
    made._kept = kept
    return made


def _text(value: object) -> str:
    """A setting's value as the command line would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def load(run: str | os.PathLike[str], *, base: str | os.PathLike[str] = BASE) -> Run:
    """A finished run: its folder, `latest`, `-1`, `-2` …, or `PLAN/latest`, below `base`.

    Raises BadInput, with the runs that there are.
    """
    found = Run(find_run(run, Path(base)))
    _ = found.result  # a folder that is no run's is refused here, not later
    return found


def plans() -> dict[str, Path]:
    """The shipped plans: name and file."""
    from orchestrator.registry import Registry

    return Registry.load().plans()
