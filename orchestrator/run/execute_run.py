"""One execution of a plan: check, run on a target, measure, judge, keep.

result = run(Plan.load("mine.toml"), target="software")
print(result.result["verdict"], result.folder)
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator import program_permission
from orchestrator.capability import OF_SESSIONS, Capability
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.progress import Progress, Report, silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.guarded_files import draw_report, write_files
from orchestrator.run.manifest import build_manifest, remote_manifest
from orchestrator.run.run_folder import RunFolder
from orchestrator.run.run_result import judge_recording
from orchestrator.run.source_digest import digest_of
from orchestrator.run.target_answers import probe_target, run_target
from orchestrator.target import Cards, Target

if TYPE_CHECKING:
    from orchestrator.live.live_session import Session
    from orchestrator.run.frozen_expectations import Frozen


NOTHING: Mapping[str, Any] = {}
OF_SESSION = ("pace", "cores", "datapath", "stamps", "launch")
"""Options of targets that a session hands to its target, which is then paced or bounded."""


@dataclass
class RunResult:
    """Result of a run. `folder` is None when nothing was to be kept."""

    folder: Path | None
    result: dict[str, Any]
    recording: Recording


def run(
    plan: Plan,
    target: str | None = None,
    seed: int | None = None,
    out: Path | None = Path("runs"),
    progress: Report | None = None,
    report: bool = True,
    live: bool = False,
    testbed: Cards | None = None,
    programs: bool = True,
    frozen: Frozen | None = None,
    profile_entry: Mapping[str, Any] = NOTHING,
    options: Mapping[str, Any] = NOTHING,
    observe: Callable[[Session], None] | None = None,
    **more_options: Any,
) -> RunResult:
    """Run a plan and judge the run.

    `target` and `seed` stand in for the plan's own; `out` is where the run folder is made (None:
    nothing is written). `live`: the console can watch and change it while it goes on; then call
    this from the main thread. `testbed`: run on the cards that it names, or by the interfaces;
    who calls reads the one that options name (`orchestrator.testbed.local_testbed`). `programs`:
    whether a plan may start commands of this machine, with the caller's user id. `frozen`:
    expectations that were frozen before the run. `profile_entry`: further entries of the manifest,
    of a device profile. `options`, or keywords of their names: options of the target, on top of
    those in the plan (`pace=0.5`); None leaves one out. `observe` is called with the run's session
    before it begins; what it keeps of the session may be read from any thread.

    Raises BadInput, Refused or RunFailed; then nothing is left behind.
    """
    registry = Registry.load()
    changes = {"target": target, "seed": seed}
    settings = [f"{key}={value}" for key, value in changes.items() if value is not None]
    placed = plan.with_settings(settings) if settings else plan
    given = {k: v for k, v in {**options, **more_options}.items() if v is not None}
    resolved, place, prepared = prepare(registry, placed.with_options(registry, given))
    profile_entry = {**prepared, **profile_entry}
    if testbed is None and (getattr(resolved.options, "testbed", None) is not None):
        raise BadInput("testbed", "the file of a testbed is not read here; run `tailback run`")
    if testbed is not None:
        if Capability.CARDS in place.capabilities and not testbed.cards:
            raise BadInput("testbed", f"{testbed.name} names no cards; add [cards.NAME]")
        place = place.at(testbed)
    if not programs or program_permission.chosen() is False:
        _refuse_programs(resolved)
    refuse_unsupported(place, resolved)
    bounds = {name: getattr(resolved.options, name, None) for name in OF_SESSION}
    if not live and observe is None and not any(bounds.values()):
        return _execute(
            registry, place, resolved, out, progress or silent, report, None, frozen, profile_entry
        )
    from orchestrator.live.feed_server import serve_session
    from orchestrator.live.live_session import Session

    session = Session(resolved, place.name, **bounds)
    if observe is not None:
        observe(session)
    with serve_session(session) if live else contextlib.nullcontext():
        done = _execute(
            registry,
            place,
            resolved,
            out,
            progress or silent,
            report,
            session,
            frozen,
            profile_entry,
        )
        session.judged(done.result, str(done.folder) if done.folder else None)
    return done


def prepare(
    registry: Registry, plan: Plan, advise: bool = False
) -> tuple[ResolvedPlan, Target, dict[str, Any]]:
    """A plan as its target runs it, the target, and what the manifest says of its preparation.

    `advise`: also say on stderr what this machine may not hold. Raises BadInput or Refused.
    """
    resolved = plan.check(registry)
    place = registry.target(resolved.plan.target)
    made, entry = place.prepare(plan, resolved.options, advise)
    return made.check(registry), place, entry


def _execute(
    registry: Registry,
    place: Target,
    resolved: ResolvedPlan,
    out: Path | None,
    progress: Report,
    report: bool,
    session: Session | None,
    frozen: Frozen | None,
    profile_entry: Mapping[str, Any],
) -> RunResult:
    """Run, judge, write. The plan that is kept has the live changes."""

    def tell(news: Progress) -> None:
        progress(news)
        if session is not None:
            session.report(news)

    def measure() -> tuple[ResolvedPlan, Recording]:
        if session is None or not place.capabilities & OF_SESSIONS:
            return resolved, run_target(place, resolved, tell)
        recording = run_target(place, resolved, tell, session)
        if Capability.LIVE not in place.capabilities:
            return resolved, recording
        from orchestrator.live.recording_marks import mark_live_changes

        return session.resolved, mark_live_changes(recording, session)

    if out is None:
        ran, recording = measure()
        result = judge_recording(registry, ran, recording) | _frozen(frozen, ran)
        return RunResult(None, result, recording)
    with RunFolder.open(out, resolved.plan.name) as folder:
        ran, recording = measure()
        tell(Progress("writing", 0.0))
        result = judge_recording(registry, ran, recording) | _frozen(frozen, ran)
        write_run(registry, folder, ran, recording, result, profile_entry=profile_entry)
        if report:
            tell(Progress("drawing", 0.5, "report.html"))
            draw_report(registry, folder.path)
        final = folder.commit()
    tell(Progress("writing", 1.0))
    return RunResult(final, result, recording)


def _frozen(frozen: Frozen | None, ran: ResolvedPlan) -> dict[str, Any]:
    """Frozen expectations, compared with the plan as it was run, with live changes."""
    return {} if frozen is None else {"frozen": frozen.held_against(ran.plan)}


def refuse_unsupported(place: Target, resolved: ResolvedPlan) -> None:
    """Raises Refused when the target is unavailable here, or lacks a capability of the plan."""
    if (refusal := probe_target(place)) is not None:
        raise refusal
    refuse_missing_capabilities(place, resolved)


def refuse_missing_capabilities(place: Target, resolved: ResolvedPlan) -> None:
    """Raises Refused when the target, on any machine, lacks a capability that the plan uses."""
    refuse_faults(resolved, f"target {place.name}")
    if resolved.plan.programs and Capability.PROGRAMS not in place.capabilities:
        raise Refused(
            f"target {place.name}",
            f"it cannot run the programs of the plan ({', '.join(resolved.plan.programs)})",
            "The target software can.",
        )
    place.check(resolved, Registry.load().targets)


def _refuse_programs(resolved: ResolvedPlan) -> None:
    """Raises Refused, with the commands, for a plan that would start some."""
    for name, program in resolved.plan.programs.items():
        raise Refused(
            f"plan {resolved.plan.name}",
            f"it wants to run {' '.join(program.command)[:200]!r} (programs.{name}), and programs "
            "are off",
            "Leave --no-programs out, or give --programs, if you trust the plan.",
        )


def refuse_faults(resolved: ResolvedPlan, who: str) -> None:
    """Raises Refused for failures in the timeline that only agents can cause."""
    for action in resolved.actions:
        if action.kind == "fault":
            raise Refused(
                who,
                f"the timeline has {action.verb} of {action.key}, and there are no agents here",
                "Run it over a testbed: --controller ADDRESS.",
            )


def write_run(
    registry: Registry,
    folder: RunFolder,
    resolved: ResolvedPlan,
    recording: Recording,
    result: dict[str, Any],
    made_on: dict[str, Any] | None = None,
    profile_entry: Mapping[str, Any] = NOTHING,
) -> None:
    """Write the files of a run into its folder, all but the report. `made_on`: the
    description of the other machine that made it, for the manifest; `profile_entry`: its further
    entries."""
    plan = resolved.plan
    folder.write_text("plan.toml", plan.to_toml())
    clock = "CLOCK_MONOTONIC" if recording.epoch_ns else "virtual"
    manifest = build_manifest(
        plan.name, recording.target, plan.seed, clock, offloads=recording.offloads
    )
    if made_on is not None:
        manifest = remote_manifest(manifest, made_on)
    cards = {} if recording.cards is None else {"cards": recording.cards}
    carried = {} if recording.datapath is None else {"datapath": recording.datapath}
    more = {"sources": digest_of(registry), "epoch_ns": recording.epoch_ns}
    options = {"options": table} if (table := resolved.options.to_table()) else {}
    said = {"frozen": result["frozen"]} if "frozen" in result else {}
    folder.write_json(
        "manifest.json", manifest | more | said | cards | carried | options | dict(profile_entry)
    )
    lines = [json.dumps(asdict(event)) for event in recording.events]
    folder.write_text("events.jsonl", "".join(line + "\n" for line in lines))
    folder.write_json("result.json", result)
    for ran in recording.programs:
        folder.file(f"programs/{ran.name}.out").write_bytes(ran.out)
        folder.file(f"programs/{ran.name}.err").write_bytes(ran.err)
    write_files(registry, folder.path, recording=recording, plan=plan)
