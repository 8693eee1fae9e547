"""`tailback hunt`: fuzzes plans and reports broken invariants and differences between targets."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from orchestrator.errors import BadInput, Problem
from orchestrator.terminal import exit_codes, format_output

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from orchestrator.algorithm import Algorithm
    from orchestrator.fuzz.cross_target import RemoteCheck
    from orchestrator.fuzz.fuzz_loop import FuzzResult, MinimizedFinding
    from orchestrator.fuzz.invariant_check import Check
    from orchestrator.fuzz.python_kernel_process import PythonKernels
    from orchestrator.rtl_module import RtlHunted


def hunt(
    plans: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=10**9,
            help="Number of drawn plans; 0: only the plans in --out. Default: 1000; with --minutes "
            "unlimited.",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES", min=0, max=1e6, help="Draw no further plan after this time."
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(metavar="SEED", min=0, max=2**62, help="Of the first plans that are drawn."),
    ] = 1,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.py", help="Use the algorithms of this file in every drawn plan."
        ),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            metavar="TARGET",
            help="Run each plan there too: is it off by more than seeds are? May be given again. "
            "With --branches also: which are reached there? On `software` by uncompiled workers, "
            "on `gateware` by Verilator's counters of lines.",
        ),
    ] = None,
    cores: Annotated[
        bool,
        typer.Option(
            "--cores",
            help="Also simulate each divisible plan on two cores and compare.",
        ),
    ] = False,
    eager: Annotated[
        bool,
        typer.Option(
            "--eager",
            help="Also simulate each plan without deferring any event, and compare.",
        ),
    ] = False,
    branches: Annotated[
        bool,
        typer.Option(
            "--branches",
            help="Also run each plan as plain Python, compare, and count the reached branches of "
            "kernels.",
        ),
    ] = False,
    rtl: Annotated[
        bool | None,
        typer.Option(
            "--rtl/--no-rtl",
            help="With --against: the algorithm's own Verilog against its kernels, alone, or not "
            "at all. Default: beside the plans, where it names some.",
        ),
    ] = None,
    sequences: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=10**9, help="So many sequences of events on its own Verilog."
        ),
    ] = 200,
    simulator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="icarus or verilator. Default: what is here."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Try plans in DIR first; store findings there."),
    ] = Path("hunted"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fuzz small plans for broken invariants and differences between targets.

    Each plan is simulated step by step, and all frames and counters are checked between steps. A
    finding is minimised and stored as a plan, with a capture of its frames.

    \b
      tailback hunt --minutes 5
      tailback hunt --plans 300 --cores --branches
      tailback hunt --plans 10000 --eager
      tailback hunt --against mine.py --plans 200
      tailback hunt --plans 0 --branches --target gateware --out tests/orchestrator/fuzz/corpus
      tailback hunt --against mine.py --rtl --sequences 1000

    \b
    Ctrl-C ends it early: findings until then are stored and printed.

    \b
    Exit codes: 0 no finding, 1 findings, 2 bad input, 130 interrupted.
    """
    from orchestrator.fuzz.algorithm_file import load_algorithms
    from orchestrator.fuzz.cross_target import (
        CoreComparison,
        EagerComparison,
        OtherTarget,
        refuse_unusable,
    )
    from orchestrator.fuzz.fuzz_loop import Options
    from orchestrator.fuzz.fuzz_loop import hunt as go
    from orchestrator.terminal import progress_view

    _refuse(plans, minutes, seed, sequences)
    for target in targets or []:
        refuse_unusable(target)
    wanted = tuple(load_algorithms(against)) if against is not None else ()
    modules = _modules(wanted, against, RtlRequest(rtl, sequences, minutes, seed, simulator, out))
    if rtl:
        _end(None, modules, {}, as_json)
    on_cores = CoreComparison() if cores else None
    without_deferral = EagerComparison() if eager else None
    elsewhere = [OtherTarget(target) for target in dict.fromkeys(targets or [])]
    many = plans if plans is not None else (1000 if minutes is None else 10**9)
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(_plain(against)) if branches else None
        there = {
            target: stack.enter_context(_remote_check(target, against, plain))
            for target in dict.fromkeys(targets or [])
            if plain is not None and target != "simulated"
        }
        news = (lambda: plain.new) if plain is not None else None
        options = Options(many, minutes, seed, out, wanted, news=news)
        with progress_view.shown() as view:
            checks = _checks(on_cores, without_deferral, plain, *there.values(), *elsewhere)
            done = go(options, checks, view)
        reached = plain.reached() if plain is not None else None
        if reached is not None:
            reached["targets"] = {target: one.reached() for target, one in there.items()}
    for one in done.found:
        if one.path is not None:
            _capture(one)
    more: dict[str, Any] = {} if reached is None else {"branches": reached}
    if elsewhere:
        more |= {"targets": [asdict(one) for one in elsewhere]}
    if on_cores is not None:
        more |= {"cores": {"cut": on_cores.cut, "whole": on_cores.whole}}
    if without_deferral is not None:
        more |= {"eager": without_deferral.compared}
    _end(done, modules, {"seed": seed} | more, as_json)


def _end(
    done: FuzzResult | None, modules: list[RtlHunted], more: dict[str, Any], as_json: bool
) -> NoReturn:
    """Tell what came of it. Raises Exit."""
    result = {} if done is None else _result(done, more)
    if modules:
        result |= {"rtl": [one.as_table() for one in modules]}
    if as_json:
        format_output.print_json(result)
    else:
        _show_modules(modules)
        if done is not None:
            _show(done, more)
    if done is not None and done.stopped is not None:
        exit_codes.say("interrupted; what was found until then is above, and kept")
        raise typer.Exit(exit_codes.stopped_by(done.stopped))
    found = any(one.found for one in modules) or (done is not None and bool(done.found))
    raise typer.Exit(exit_codes.MISSED if found else exit_codes.MET)


@dataclass(frozen=True)
class RtlRequest:
    """Options of the command line about gateware."""

    rtl: bool | None
    sequences: int
    minutes: float | None
    seed: int
    simulator: str | None
    out: Path


def _modules(
    wanted: tuple[Algorithm, ...], against: Path | None, asked: RtlRequest
) -> list[RtlHunted]:
    """The modules of the algorithms at hand, held to their kernels."""
    from orchestrator.fuzz.rtl_fuzz import hunt_rtl, with_rtl
    from orchestrator.rtl_module import RtlOptions
    from orchestrator.terminal import progress_view

    if asked.rtl is False:
        return []
    named = with_rtl(wanted, insist=bool(asked.rtl) or asked.simulator is not None)
    if not named:
        return []
    assert against is not None
    options = RtlOptions(
        against, asked.out, asked.sequences, asked.minutes, asked.seed, asked.simulator
    )
    with progress_view.shown() as view:
        return [hunt_rtl(one, options, view) for one in named]


def _show_modules(modules: list[RtlHunted]) -> None:
    from rich.text import Text

    out = format_output.console()
    for module in modules:
        for one in module.found:
            out.print(Text(f"{module.module}: {one.what}", "bold red"), soft_wrap=True)
            out.print(Text(f"  {one.text}"), soft_wrap=True)
            out.print(Text(f"  {one.events} events; {one.file}"), soft_wrap=True)
        text = f"{module.module} on {module.simulator}: {module.sequences} sequences"
        text += f", {module.events} events, {module.seconds:.0f} s"
        text += f", {module.replayed} of before" if module.replayed else ""
        found = f"{len(module.found)} found" if module.found else "as the kernels of"
        style = "red" if module.found else "green"
        whose = "" if module.found else f" {module.algorithm}"
        out.print(Text(f"{text}: {found}{whose}", style), soft_wrap=True)


def _refuse(plans: int | None, minutes: float | None, seed: int, sequences: int) -> None:
    problems = []
    if sequences < 1:
        problems.append(Problem("--sequences", sequences, "1 or more is expected"))
    if plans is not None and plans < 0:
        problems.append(Problem("--plans", plans, "0 or more is expected"))
    if minutes is not None and not 0 < minutes < 10**5:
        problems.append(Problem("--minutes", minutes, "more than 0 and less than 100000 expected"))
    if seed < 0:
        problems.append(Problem("--seed", seed, "0 or more is expected"))
    if problems:
        raise BadInput("tailback hunt", problems)


def _plain(against: Path | None) -> PythonKernels:
    from orchestrator.fuzz.python_kernel_process import PythonKernels

    return PythonKernels(against)


def _remote_check(
    target: str, against: Path | None, plain: PythonKernels
) -> AbstractContextManager[RemoteCheck]:
    from orchestrator.fuzz.cross_target import coverage_check

    return coverage_check(target, against, lambda: plain.last)


def _checks(*asked: Check | None) -> tuple[Check, ...]:
    return tuple(one for one in asked if one is not None)


def _capture(one: MinimizedFinding) -> None:
    """The frames of a plan that was found, beside it, as far as it can be run."""
    from orchestrator.fuzz.plan_corpus import write_captures

    assert one.path is not None
    write_captures(one.path)


def _result(done: FuzzResult, more: dict[str, Any]) -> dict[str, Any]:
    return {
        "plans": done.plans,
        "invalid": done.invalid,
        "replayed": done.replayed,
        "frames": done.frames,
        "seconds": round(done.seconds, 1),
        "interrupted": done.stopped is not None,
        "found": [one.as_table() for one in done.found],
    } | more


def _show(done: FuzzResult, more: dict[str, Any]) -> None:
    from rich.text import Text

    out = format_output.console()
    for one in done.found:
        out.print(Text(one.finding.what, "bold red"), soft_wrap=True)
        out.print(Text(f"  {one.finding.text}"), soft_wrap=True)
        out.print(Text(f"  {one.frames} frames; {one.path}"), soft_wrap=True)
    every = done.plans + done.replayed
    text = f"{done.plans} plans, {done.frames} frames, {done.seconds:.0f} s"
    text += f" ({done.seconds / every:.2g} s a plan)" if every else ""
    text += f", {done.replayed} plans of the corpus" if done.replayed else ""
    found = f"{len(done.found)} found" if done.found else "nothing found"
    out.print(Text(f"{text}: {found}", "red" if done.found else "green"), soft_wrap=True)
    for one in more.get("targets", []):
        text = f"on {one['target']}: {one['compared']} plans compared"
        text += f"; {one['refused']} it cannot run" if one["refused"] else ""
        text += f"; {one['distorted']} distorted by the machine" if one["distorted"] else ""
        out.print(Text(text, "" if one["compared"] else "yellow"), soft_wrap=True)
    if "cores" in more:
        cut, whole = more["cores"]["cut"], more["cores"]["whole"]
        text = f"on two cores: {cut} plans" + (f"; {whole} cannot be cut" if whole else "")
        out.print(Text(text), soft_wrap=True)
    if "eager" in more:
        out.print(Text(f"without deferral: {more['eager']} plans"), soft_wrap=True)
    if "branches" in more:
        _show_branches(more["branches"])


def _show_branches(reached: dict[str, Any]) -> None:
    """Print the branches taken of each algorithm and the missing ones, then those of each
    target."""
    from rich.text import Text

    from orchestrator.fuzz.branch_coverage import coverage_lines

    branch_lines = [*coverage_lines(reached)]
    for target, one in reached["targets"].items():
        branch_lines += coverage_lines(one, target)
    for line in branch_lines:
        format_output.console().print(Text(line), soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(hunt)
