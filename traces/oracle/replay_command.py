"""Command `replay`: judges captured devices, and computes counterfactual congestion points."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.errors import BadInput
from orchestrator.plan.units import parse_duration
from orchestrator.terminal import format_output
from orchestrator.terminal.run_lookup import captures_of, find_run

if TYPE_CHECKING:
    from orchestrator.plan import Plan
    from traces.oracle.conformance_judge import Judgement
    from traces.oracle.rtl_tolerance import RtlTiming

DEPARTS = 1
PS_PER_NS = 1000
PS_PER_S = 10**12
GATEWARE = "gateware"


def replay(
    captures: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PCAP...", help="Captures of one run, named after its ports."),
    ] = None,
    plan: Annotated[
        str | None,
        typer.Option(metavar="PLAN", help="Plan of the devices' behaviour: a name or a TOML file."),
    ] = None,
    named: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="A run (its folder, latest, -1): its plan, its captures, its lateness.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change one key of the plan."),
    ] = None,
    instead: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="KEY=VALUE",
            help="Do not judge: show the messages under a plan changed so.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="RULE", help="Switch a rule off; may be repeated."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules, and end.")] = False,
    point: Annotated[
        list[str] | None,
        typer.Option(
            "--point",
            metavar="KEY=VALUE",
            help="No plan: check each CNM against a congestion point of this set_point and weight.",
        ),
    ] = None,
    seed_unknown: Annotated[
        bool,
        typer.Option("--seed-unknown", help="Seed of the device unknown: judge each message."),
    ] = False,
    late: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Accepted lateness of a captured frame: 50us."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time in which a clocked device acts on a frame; within it any order is accepted.",
        ),
    ] = None,
    epoch: Annotated[
        int | None,
        typer.Option(
            metavar="NS",
            min=0,
            max=2**63 - 1,
            help="Start of the run (ns since 1970), if no file states it.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write pictures and reconstructed states."),
    ] = None,
) -> None:
    """Judge captured devices by the plan's algorithms; name the first frame that departs.

    \b
      tailback replay --run runs/quickstart/20260101T000000Z-1a2b3c
      tailback replay switch-*.pcapng nic-*.pcapng --plan mine.toml --late 50us
      tailback replay --run RUN --without cp.jitter
      tailback replay any.pcap --point set_point=33KB --point weight=2
      tailback replay --run RUN --what-if nodes.switch.congestion_point.weight=0

    Exit codes: 0 everything that could be judged conforms, 1 there are departures, 2 bad input.
    """
    if rules:
        _list_rules(as_json)
        return
    run = None if named is None else find_run(named)
    if point:
        _given_parameters(captures or [], point, plan, run, frozenset(without or []), as_json, out)
        return
    from orchestrator.registry import Registry
    from traces.oracle.conformance_judge import Settings, judge

    paths, loaded, late_ns = _inputs(captures or [], plan, run, changes or [])
    if late is not None:
        late_ns = _duration("--late", late)
    clocks = None if run is None else clocked(run)
    window_ns = 0 if clocks is None else clocks.act_ns
    settings = Settings(
        epoch_ns=epoch,
        late_ns=late_ns,
        clocked=clocks,
        window_ns=window_ns if window is None else _duration("--window", window),
        without=frozenset(without or []),
        seed_known=not seed_unknown,
    )
    if instead:
        _run_counterfactual(paths, loaded, instead, settings, as_json)
        return
    found = judge(paths, loaded.check(Registry.load()), settings)
    if settings.window_ns:
        found.notes.append(
            f"a clocked device: what happens in it within {settings.window_ns / 1000:g} us may be "
            "in another order than the reference's, and is taken as what agrees"
        )
    _print_judgement(found, as_json, out)


def _given_parameters(
    captures: list[Path],
    point: list[str],
    plan: str | None,
    run: Path | None,
    without: frozenset[str],
    as_json: bool,
    out: Path | None,
) -> None:
    """Judge messages without a plan. Raises BadInput."""
    from traces.oracle.cnm_check_without_plan import judge_given_parameters, parameters

    if plan is not None or run is not None:
        raise BadInput("--point", "is for captures without a plan: leave out --plan and --run")
    if not captures:
        raise BadInput("replay", "give captures: tailback replay PCAP... --point set_point=33KB")
    _print_judgement(judge_given_parameters(captures, parameters(point), without), as_json, out)


def _print_judgement(found: Judgement, as_json: bool, out: Path | None) -> None:
    """Print the judgement, write its files, and end with its exit code."""
    written: list[Path] = []
    if out is not None:
        written = _files(out, found)
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        from traces.oracle.judgement_text import show as show_judgement

        show_judgement(found, format_output.console())
    for path in written:
        print(f"wrote {path}", file=sys.stderr)
    if not found.conforming:
        raise typer.Exit(DEPARTS)


def _files(out: Path, found: Judgement) -> list[Path]:
    """Pictures of the departures, the reconstructed states, and the judgement as JSON."""
    from traces.oracle import reconstructed_states, violation_figure

    try:
        out.mkdir(parents=True, exist_ok=True)
        written = violation_figure.write(out, found.findings)
        written += [out / "states.parquet", out / "replay.json"]
        reconstructed_states.write(
            written[-2], {n.name: n.assembly for n in found.nodes if n.assembly}
        )
        written[-1].write_text(json.dumps(found.as_json(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadInput(str(out), f"cannot be written to ({error.strerror})") from error
    return written


def _inputs(
    captures: list[Path], plan: str | None, run: Path | None, changes: list[str]
) -> tuple[list[Path], Plan, int | None]:
    """Files, plan and lateness (ns) from what was given. Raises BadInput."""
    from orchestrator.terminal.plan_loading import load_plan

    if (plan is None) == (run is None):
        raise BadInput("replay", "give either --plan PLAN with captures, or --run RUN")
    late = None
    if run is not None:
        plan = str(run / "plan.toml")
        captures = captures or captures_of(run)
        late = lateness(run)
    assert plan is not None
    if not captures:
        raise BadInput("replay", "give captures: tailback replay PCAP... --plan PLAN")
    return captures, load_plan(plan, changes), late


def _result(run: Path) -> dict[str, Any]:
    """Contents of result.json; empty where there is none that can be read."""
    try:
        found = json.loads((run / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def is_clocked(run: Path) -> bool:
    """True if a run's nodes were gateware."""
    return bool(_result(run).get("target") == GATEWARE)


def clocked(run: Path) -> RtlTiming | None:
    """Clocks of a gateware run; None for other runs. Raises BadInput."""
    from traces.oracle.rtl_tolerance import RtlTiming

    if not is_clocked(run):
        return None
    fidelity = _result(run).get("fidelity", {})
    try:
        period_ps = PS_PER_S // int(fidelity["clock_hz"])
        steps_ps = int(float(fidelity.get("steps_late_s", {"max": 0})["max"]) * PS_PER_S)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise BadInput(
            str(run / "result.json"), "fidelity.clock_hz: the clock of a gateware run, in Hz"
        ) from error
    nodes = _plan_of(run).nodes.items()
    others = {name for name, node in nodes if getattr(node, "target", None) not in (None, GATEWARE)}
    return RtlTiming(period_ps, steps_ps, frozenset(others))


def lateness(run: Path) -> int | None:
    """Lateness bound of a run's frames (ns): the longest lateness on a real machine, the pipelines'
    time in gateware; None where neither is known."""
    clocks = clocked(run)
    if clocks is not None:
        from orchestrator.registry import Registry

        return clocks.late_ns(_plan_of(run).check(Registry.load()))
    try:
        longest = _result(run)["fidelity"]["lateness_s"]["max"]
    except (KeyError, TypeError):
        return None
    # the histogram keeps the exact maximum; a nanosecond for the rounding of the capture
    return int(float(longest) * 1e9) + 2


def _plan_of(run: Path) -> Plan:
    from orchestrator.terminal.plan_loading import load_plan

    return load_plan(str(run / "plan.toml"), [])


def _duration(name: str, text: str) -> int:
    try:
        return parse_duration(text) // PS_PER_NS
    except ValueError as error:
        raise BadInput(name, str(error)) from error


def _list_rules(as_json: bool) -> None:
    from traces.oracle.conformance_rules import RULES

    if as_json:
        print(json.dumps([vars(rule) for rule in RULES.values()], indent=2))
        return
    rows = [(rule.name, rule.says, rule.source) for rule in RULES.values()]
    format_output.console().print(format_output.table(("rule", "says", "source"), rows))


def _run_counterfactual(
    paths: list[Path], plan: Plan, instead: list[str], settings: object, as_json: bool
) -> None:
    from orchestrator.registry import Registry
    from traces.oracle.counterfactual_cp import counterfactual, show_counterfactual

    registry = Registry.load()
    other = plan.with_settings(instead).check(registry)
    found = counterfactual(paths, plan.check(registry), other, settings)  # type: ignore[arg-type]
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        show_counterfactual(found, format_output.console())
