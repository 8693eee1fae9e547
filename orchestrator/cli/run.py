"""`tailback run`: one plan, one target, one run folder, one verdict."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator import program_permission
from orchestrator.cli import batch_options as shared
from orchestrator.cli import plans, run_summary
from orchestrator.cli.curve_key_options import ControllerKeyWithController, KeysWithController
from orchestrator.cli.metrics_option import (
    Metrics,
    MetricsHold,
    check_metrics,
    hold_seconds,
    serve_metrics,
)
from orchestrator.cli.plan_key_completion import complete_key
from orchestrator.cli.target_option_flags import (
    GroupedCommand,
    check_options,
    flags,
    with_target_options,
)
from orchestrator.errors import BadInput
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes, format_output

if TYPE_CHECKING:
    from orchestrator.plan import Plan, ResolvedPlan
    from orchestrator.run.frozen_expectations import Frozen
    from orchestrator.testbed.inventory import Testbed

NOTHING: Mapping[str, Any] = {}
CODES = {"met": exit_codes.MET, "unjudged": exit_codes.MET, "missed": exit_codes.MISSED}


def complete_target(incomplete: str) -> list[tuple[str, str]]:
    """For the shell: the targets there are, each with its summary."""
    return [(t.name, t.summary) for t in Registry.load().targets if t.name.startswith(incomplete)]


def run(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="A shipped plan by name (see `tailback plans`), or a TOML file.",
            autocompletion=plans.complete,
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET",
            help="Target of the run, e.g. simulated or software. Default: the plan's target.",
            autocompletion=complete_target,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", max=2**62, help="Seed that replaces the plan's.")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Run it with several seeds and judge them together: how many (20: 1 to 20), a "
            "list (3,5,8..12), or 'plan' for as many as the plan says.",
        ),
    ] = None,
    jobs: shared.Jobs = None,
    fresh: shared.Fresh = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change one key of the plan, with its unit; may be given again.",
            autocompletion=complete_key,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The run folder is made in DIR/<plan>/.")
    ] = Path("runs"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON instead of a table.")
    ] = False,
    report: Annotated[bool, typer.Option(help="Draw report.html; takes a second or two.")] = True,
    live: Annotated[
        bool, typer.Option(help="Let `tailback console` watch and change the run.")
    ] = True,
    frozen: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What `tailback freeze` put down before: manifest and report tell when, and what "
            "of the plan has changed since.",
        ),
    ] = None,
    programs: shared.Programs = None,
    controller: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run it across machines: tcp://127.0.0.1:7011. With --target gateware: on one of "
            "them that can.",
        ),
    ] = None,
    keys: KeysWithController = None,
    controller_key: ControllerKeyWithController = None,
    metrics: Metrics = None,
    metrics_hold: MetricsHold = "20s",
    options: Mapping[str, Any] = NOTHING,
) -> None:
    """Run a plan and judge the run.

    The run is judged by the expectations of the plan and by what the machine did to it. What was
    measured is kept in a folder of its own, with a report to look at.

    \b
      tailback run quickstart
      tailback run netfpga-fig11 --target software --seed 7
      tailback run netfpga-fig11 --set nodes.switch.service_rate=400Mb/s
      tailback run mine.toml --json | jq .verdict
      tailback run netfpga-fig12 --seeds 20
      tailback run mine.toml --frozen mine.frozen.json
      tailback run mine.toml --target gateware --testbed lab.toml
      tailback run external-switch --target software --external sw.sink=eth3 ...
      tailback run quickstart --as profile.json --seeds 20
      tailback run mine.toml --target gateware --controller tcp://10.0.0.1:7011
      tailback run mine.toml --target software --metrics 127.0.0.1:9464

    \b
    Exit codes: 0 all expectations met, or none in the plan (unjudged), 1 some missed,
    2 bad input or refused by the target, 3 the run is invalid (the machine
    distorted it), uncertain (its error bars hold a bound), stopped before its
    end, or failed.
    """
    program_permission.choose(programs)
    if seeds is None and (jobs is not None or fresh):
        raise BadInput("--jobs, --fresh", "they are for several seeds; add --seeds N")
    if seeds is not None:
        refused = {"--seed": seed, "--controller": controller, "--metrics": metrics}
        for option, given in refused.items():
            if given is not None:
                raise BadInput(option, "not together with --seeds; leave one of the two out")
    check_metrics(metrics)
    hold_s = hold_seconds(metrics_hold)
    check_options(options)
    if controller is not None:
        if frozen is not None:
            raise BadInput("--frozen", "not together with --controller; leave one of the two out")
        if metrics is not None:
            text = "not together with --controller: start the controller itself with --metrics"
            raise BadInput("--metrics", text)
        from orchestrator.cli.run_remote import run_remotely

        changed = list(changes or []) + ([f"seed={seed}"] if seed is not None else [])
        run_remotely(
            *(plan, target, changed, controller, keys, controller_key, as_json, report, out),
            options=options,
        )
    from orchestrator.run import background_compile

    alone = seeds is None and options.get("cores", "1") == "1"
    with background_compile.background_compile(target) if alone else contextlib.nullcontext():
        from orchestrator.run.execute_run import prepare
        from orchestrator.run.execute_run import run as run_plan
        from orchestrator.run.frozen_expectations import read_frozen
        from orchestrator.terminal.plan_loading import load_plan

        before = None if frozen is None else read_frozen(frozen)
        try:
            loaded = load_plan(plan, changes or [])
            if target is not None:
                loaded = loaded.with_settings([f"target={target}"], said="")
            loaded = loaded.with_options(Registry.load(), options, flags(options))
        finally:  # once the plugins were asked; a plan that lacks one may fail because of them
            _ = Registry.load().targets, Registry.load().plans()  # so that their problems are known
            said = list(Registry.load().problems)
            for problem in said:
                exit_codes.say(problem)
        resolved, _, profile_entry = prepare(Registry.load(), loaded, advise=True)
        if before is not None:
            _report_frozen_changes(before, loaded)
        bed = _testbed(resolved)
        loaded = resolved.plan if profile_entry else loaded
        if seeds is not None:
            from orchestrator.cli.run_seeds import run_seeds, show_seeds

            over, folder = run_seeds(
                *(loaded, seeds, out, jobs, fresh),
                profile_entry=profile_entry,
                testbed=bed,
                programs=programs is not False,
                frozen=before,
            )
            if as_json:
                format_output.print_json({"folder": str(folder), **over})
            else:
                show_seeds(over, folder)
            raise typer.Exit(CODES.get(over["verdict"], exit_codes.INVALID))
        if live:
            from orchestrator.live import session_registry

            if (lack := session_registry.missing_folder_reason()) is not None:
                exit_codes.say(f"no console can watch this run: {lack}")
        from orchestrator.metrics_export.run_exporter import RunExporter
        from orchestrator.terminal import progress_view

        exporter = RunExporter()
        with serve_metrics(metrics, exporter.readings) as endpoint:
            with progress_view.shown() as progress:
                done = run_plan(
                    loaded,
                    seed=seed,
                    out=out,
                    progress=progress,
                    report=report,
                    live=live,
                    testbed=bed,
                    programs=programs is not False,
                    frozen=before,
                    profile_entry=profile_entry,
                    observe=None if endpoint is None else exporter.observe,
                )
            if endpoint is not None:
                exporter.finish(done.recording, done.result)
            for problem in Registry.load().problems:
                if problem not in said:
                    exit_codes.say(problem)
            if as_json:
                format_output.print_json(
                    {"folder": str(done.folder) if done.folder else None, **done.result}
                )
            else:
                run_summary.show_result(done.result, done.folder)
            if endpoint is not None:
                endpoint.hold(hold_s, exit_codes.say)
    raise typer.Exit(CODES.get(done.result["verdict"], exit_codes.INVALID))


def _testbed(resolved: ResolvedPlan) -> Testbed | None:
    """The testbed that the options of the plan's target name."""
    if not any(getattr(resolved.options, name, None) for name in ("testbed", "external")):
        return None  # and nothing is imported
    from orchestrator.testbed.local_testbed import local_testbed

    return local_testbed(resolved.options)


def _report_frozen_changes(before: Frozen, plan: Plan) -> None:
    """Say on stderr what has changed since expectations were frozen, before anything is run."""
    from orchestrator.run.frozen_expectations import frozen_notes

    held = before.held_against(plan.check(Registry.load()).plan)
    if held["changed"] or held["plan_changed"]:
        for text in frozen_notes(held):
            exit_codes.say(text)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=GroupedCommand)(with_target_options(run))
