"""`tailback run`: one plan, one target, one run folder, one verdict."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import batch_options as shared
from orchestrator.cli import plans, profile_advice, run_summary
from orchestrator.cli.curve_key_options import ControllerKeyWithController, KeysWithController
from orchestrator.cli.plan_key_completion import complete_key
from orchestrator.errors import BadInput
from orchestrator.live.datapath_options import DATAPATHS, STAMPS
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes, format_output

if TYPE_CHECKING:
    from orchestrator.plan import Plan
    from orchestrator.run.frozen_expectations import Frozen
    from orchestrator.testbed.inventory import Testbed

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
        int | None, typer.Option(metavar="N", help="Seed that replaces the plan's.")
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
    pace: Annotated[
        float | None,
        typer.Option(
            metavar="FACTOR",
            min=1e-6,
            max=1e6,
            help="Seconds of the run per second. Simulated: to watch it. Software, also "
            "with --controller: below 1 its clock is slow, and there is more time for every frame "
            "(time dilation).",
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Simulated: run on so many cores, with the same result; by default on one. Such a "
            "run shows its progress alone. Gateware: so many cores clock its models, with the same "
            "result; by default one. Software: how many cores its data path spins on at "
            "most; by default two where there are. 1 leaves one of two to a console.",
        ),
    ] = None,
    datapath: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(DATAPATHS),
            help="Software: what carries its frames. packet (the default): AF_PACKET sockets, "
            "without privileges. stamped: the same, with the kernel's time of arrival of every "
            "frame: what it waits for this machine is left out of the delays that hosts measure. "
            "xdp: AF_XDP sockets, for root. auto: xdp where it is to be had, "
            "else packet. `tailback doctor` tells what there is.",
        ),
    ] = None,
    stamps: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(STAMPS),
            help="Software: timestamp source for received and sent frames, by which delays are "
            "measured. software: the kernel. hardware: the NICs, or a refusal that names what "
            "they lack. auto: the NICs where all can, else the kernel, and fidelity says why. "
            "Default: the user-space clock of the data path.",
        ),
    ] = None,
    launch: Annotated[
        bool,
        typer.Option(
            "--launch",
            help="Software: NICs send frames at their times (SO_TXTIME, queue etf), or a refusal "
            "that names what they lack.",
        ),
    ] = False,
    testbed: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --target gateware: run on the cards that this file names ([cards.NAME] with "
            "device = /dev/mqnicN or a PCIe device below /sys, nodes = names in the plan). With "
            "--target software: the interfaces that lead to external devices ([external.NAME]).",
        ),
    ] = None,
    external: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DEVICE.PORT=INTERFACE",
            help="Software: the interface of this machine that leads to a port of an external "
            "node, such as sw.sink=eth2; may be given again. Instead of --testbed, or on top.",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|newest|none",
            help="Software: what `tailback calibrate` has measured of this machine, to say before "
            "the run what it does not hold. Default: the newest, where there is one.",
        ),
    ] = None,
    as_profile: Annotated[
        Path | None,
        typer.Option(
            "--as",
            metavar="PROFILE",
            help="Simulated: as the machine of this device profile would run it, with its lateness "
            "and stalls. With --seeds the result has intervals.",
        ),
    ] = None,
    as_pace: Annotated[
        float | None,
        typer.Option(
            "--as-pace",
            metavar="FACTOR",
            min=0.001,
            max=100.0,
            help="With --as: at this pace of the machine, as --pace is on software.",
        ),
    ] = None,
    frozen: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What `tailback freeze` put down before: manifest and report tell when, and what "
            "of the plan has changed since.",
        ),
    ] = None,
    programs: Annotated[
        bool,
        typer.Option(
            "--programs/--no-programs",
            help="Whether the plan may start commands of this machine as you ([programs]); with "
            "--no-programs such a plan is refused.",
        ),
    ] = True,
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

    \b
    Exit codes: 0 all expectations met, or none in the plan (unjudged), 1 some missed,
    2 bad input or refused by the target, 3 the run is invalid (the machine
    distorted it), uncertain (its error bars hold a bound), or failed.
    """
    if seeds is None and (jobs is not None or fresh):
        raise BadInput("--jobs, --fresh", "they are for several seeds; add --seeds N")
    if seeds is not None:
        for option, given in (("--seed", seed), ("--controller", controller)):
            if given is not None:
                raise BadInput(option, "not together with --seeds; leave one of the two out")
    if as_pace is not None and as_profile is None:
        raise BadInput("--as-pace", "it is for --as; name a profile, or leave it out")
    if as_profile is not None and profile is not None:
        raise BadInput("--profile", "not together with --as; leave one of the two out")
    if controller is not None:
        for option, named in (("--profile", profile), ("--as", as_profile)):
            if named is not None:
                raise BadInput(option, "it is for runs on this machine alone; leave it out")
        if frozen is not None:
            raise BadInput("--frozen", "not together with --controller; leave one of the two out")
        if testbed is not None:
            remedy = "the controller has the testbed; leave one of the two out"
            raise BadInput("--testbed", f"not together with --controller: {remedy}")
        if external:
            remedy = "the controller's inventory says it ([external.NAME], MACHINE:NIC)"
            raise BadInput("--external", f"not together with --controller: {remedy}; leave it out")
        if cores is not None:
            raise BadInput("--cores", "the controller shares out cores; leave it out")
        if datapath is not None:
            raise BadInput("--datapath", "agents have packet sockets alone; leave it out")
        for option, key in (("--stamps", "stamps"), ("--launch", "launch")):
            if stamps is not None if key == "stamps" else launch:
                remedy = f"the controller's inventory says it ({key} in [machines.NAME])"
                raise BadInput(option, f"not together with --controller: {remedy}; leave it out")
        from orchestrator.cli.run_remote import run_remotely

        changed = list(changes or []) + ([f"seed={seed}"] if seed is not None else [])
        run_remotely(
            *(plan, target, changed, controller, keys, controller_key, as_json, report, out),
            pace=pace,
        )
    from orchestrator.run import background_compile

    alone = seeds is None and (cores or 1) == 1
    with background_compile.background_compile(target) if alone else contextlib.nullcontext():
        from orchestrator.run.execute_run import run as run_plan
        from orchestrator.run.frozen_expectations import read_frozen
        from orchestrator.terminal.plan_loading import load_plan

        bed = _bed(testbed, external)
        before = None if frozen is None else read_frozen(frozen)
        try:
            loaded = load_plan(plan, changes or [])
        finally:  # once the plugins were asked; a plan that lacks one may fail because of them
            _ = Registry.load().targets, Registry.load().plans()  # so that their problems are known
            said = list(Registry.load().problems)
            for problem in said:
                exit_codes.say(problem)
        if before is not None:
            _report_frozen_changes(before, loaded, target)
        if as_profile is not None:
            loaded, profile_entry = profile_advice.emulated_plan(
                loaded, as_profile, target, as_pace
            )
            said_of_profile = {"as": profile_entry}
        else:
            said_of_profile = _profile_advice(loaded, target, profile, pace, cores)
        if seeds is not None:
            from orchestrator.cli.run_seeds import run_seeds, show_seeds

            over, folder = run_seeds(
                *(loaded, seeds, target, out, jobs, fresh),
                profile_entry=said_of_profile,
                pace=pace,
                cores=cores,
                datapath=datapath,
                stamps=stamps,
                launch=launch,
                testbed=bed,
                programs=programs,
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
        from orchestrator.terminal import progress_view

        with progress_view.shown() as progress:
            done = run_plan(
                loaded,
                target=target,
                seed=seed,
                out=out,
                progress=progress,
                report=report,
                live=live,
                pace=pace,
                cores=cores,
                datapath=datapath,
                stamps=stamps,
                launch=launch,
                testbed=bed,
                programs=programs,
                frozen=before,
                profile_entry=said_of_profile,
            )
    for problem in Registry.load().problems:
        if problem not in said:
            exit_codes.say(problem)
    if as_json:
        format_output.print_json(
            {"folder": str(done.folder) if done.folder else None, **done.result}
        )
    else:
        run_summary.show_result(done.result, done.folder)
    raise typer.Exit(CODES.get(done.result["verdict"], exit_codes.INVALID))


def _bed(file: Path | None, cables: list[str] | None) -> Testbed | None:
    """The testbed of a file, with the cables that the command line names."""
    if file is None and not cables:
        return None
    from orchestrator.testbed.inventory import Testbed

    bed = None if file is None else Testbed.load(file)
    return (bed or Testbed()).with_cables(cables) if cables else bed


def _profile_advice(
    plan: Plan, target: str | None, asked: str | None, pace: float | None, cores: int | None
) -> dict[str, Any]:
    """Profile entry for the manifest. Raises Refused for a plan that the machine cannot carry."""
    placed = plan if target is None else plan.with_settings([f"target={target}"], said="")
    if placed.target != "software":
        if asked is not None:
            raise BadInput("--profile", f"target {placed.target} reads none; leave it out")
        return {}
    before = profile_advice.machine_profile(asked)
    profile_entry = profile_advice.check_capacity(
        before, placed.check(Registry.load()), pace, cores
    )
    return {"profile": profile_entry}


def _report_frozen_changes(before: Frozen, plan: Plan, target: str | None) -> None:
    """Say on stderr what has changed since expectations were frozen, before anything is run."""
    from orchestrator.run.frozen_expectations import frozen_notes

    placed = plan if target is None else plan.with_settings([f"target={target}"], said="")
    held = before.held_against(placed.check(Registry.load()).plan)
    if held["changed"] or held["plan_changed"]:
        for text in frozen_notes(held):
            exit_codes.say(text)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(run)
