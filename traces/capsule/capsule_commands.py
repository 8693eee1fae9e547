"""The commands `pack` and `verify`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.errors import BadInput
from orchestrator.terminal import exit_codes, format_output
from orchestrator.terminal.run_arguments import RUN_HELP
from orchestrator.terminal.run_lookup import find_run, is_counted

if TYPE_CHECKING:
    from traces.capsule.verification import Verified

DIFFERS = 1
"""Exit code of `verify` when something does not hold."""


def pack(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|SWEEP", help=f"{RUN_HELP} Of a sweep, or of several seeds: its folder."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The capsule; default: PLAN-FOLDER.zip here."),
    ] = None,
    captures: Annotated[
        bool, typer.Option(help="Whether captures go into it; they are most of its size.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Pack a run, its seeds, or a sweep into one file, a capsule, that others can verify.

    It holds the plan with every default, the seeds, the versions and the machine, everything that
    was measured, and a hash of each file, as a ZIP file in the layout of RO-Crate.

    \b
      tailback pack latest
      tailback pack runs/quickstart/20261122T101500Z-1a2b3c --out figure-3.zip
      tailback pack runs/quickstart/20261122T101500Z-1a2b3c-sweep --no-captures

    \b
    Exit codes: 0 packed, 2 bad input.
    """
    from traces.capsule.pack import pack as make

    folder = _folder(run)
    packed = make(folder, out or Path(f"{folder.parent.name}-{folder.name}.zip"), captures)
    description = {
        "capsule": str(packed.path),
        "sha256": packed.sha256,
        "files": packed.files,
        "bytes": packed.octets,
    }
    if as_json:
        format_output.print_json(description)
    else:
        size = format_output.quantity(packed.octets, "B")
        print(f"capsule    {packed.path}\nfiles      {packed.files}, {size}")
        print(f"sha256     {packed.sha256}")


def verify(
    capsule: Annotated[
        Path, typer.Argument(metavar="CAPSULE", help="A capsule of `tailback pack`.")
    ],
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Accepted difference of figures: 0.05 or 5%. Default: none on simulated, the "
            "rule of `tailback compare` elsewhere.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep the new run in DIR/<plan>/."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", metavar="N", min=1, max=1024, help="Of a sweep: points run at once."
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            max=1000,
            help="For one run on real frames: run it with N seeds, and judge by their spread.",
        ),
    ] = None,
    programs: Annotated[
        bool,
        typer.Option(
            "--programs/--no-programs",
            help="Let the capsule's plan start commands on this machine as your user.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a capsule, run it again here, and say which of its figures hold.

    Simulated runs hold when every metric, expectation and point is the same; several seeds on real
    frames when their means are, for how seeds spread; one run there by the rule of
    `tailback compare`; or within --tolerance. Where something differs, what else differs is named:
    a parameter, a seed, a version, an edited result.

    \b
      tailback verify figure-3.zip
      tailback verify figure-3.zip --json | jq '.causes[].text'
      tailback verify real-frames.zip --seeds 5
      tailback verify real-frames.zip --tolerance 5% --out runs

    \b
    Exit codes: 0 everything holds, 1 something does not, 2 bad input (no capsule, or a
    damaged or hostile one), 3 it could not be run here (a plugin or target is missing,
    programs are off, the machine distorted it).
    """
    from orchestrator.terminal.progress_view import shown
    from traces.capsule.rerun import RerunOptions
    from traces.capsule.verification import verify as check

    share = None if tolerance is None else _share(tolerance)
    with shown() as progress:
        found = check(
            capsule, share, RerunOptions(out, programs, jobs, seeds), progress, exit_codes.say
        )
    _print_verified(found, as_json)
    if not found.holds:
        raise typer.Exit(DIFFERS)


def _print_verified(found: Verified, as_json: bool) -> None:
    from traces.capsule.verification_text import show_verified

    if as_json:
        format_output.print_json(found.as_json())
    else:
        show_verified(found)


def _folder(name: str) -> Path:
    from traces.capsule.capsule_layout import RUN
    from traces.capsule.pack import kind_of

    folder = Path(name)
    if not is_counted(name) and kind_of(folder) != RUN:
        return folder.resolve()
    return find_run(name).resolve()


def _share(text: str) -> float:
    """The share that a text means. Raises BadInput."""
    number, scale = (text[:-1], 0.01) if text.endswith("%") else (text, 1.0)
    try:
        share = float(number) * scale
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise BadInput("--tolerance", f"{text[:40]!r} is not accepted; 0 to 1, or 0% to 100%")
    return share
