"""`tailback calibrate`: measures the limits of this machine and writes a dated device profile."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.errors import BadInput
from orchestrator.live.datapath_options import CALIBRATED
from orchestrator.terminal import format_output

ORDINARY_S = 30.0


def calibrate(
    seconds: Annotated[
        float,
        typer.Option("--for", metavar="SECONDS", min=0, max=86_400, help="Approximate duration."),
    ] = ORDINARY_S,
    datapath: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(CALIBRATED),
            help="Sockets for the frames: packet (AF_PACKET, the default, unprivileged), xdp "
            "(AF_XDP, for root), auto (xdp if available).",
        ),
    ] = None,
    ports: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Two NICs joined by a cable, as the path; default: veth pairs. Needs "
            "CAP_NET_ADMIN and CAP_NET_RAW.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A new file. Default: among the profiles of this machine, where `tailback run` "
            "looks for the newest.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the profile as JSON.")] = False,
) -> None:
    """Measure the limits of this machine, with the real data path.

    Measures the forwarding rate of a core, lateness of departures, stalls of the clock, errors of
    limiters, delay lines and timestamps, and the latency of notifications and PAUSE; writes a dated
    profile. `tailback
    run --target software` reads it before a run, and `tailback run --as FILE` simulates this
    machine. Stop other programs meanwhile: their load shows in the profile.

    \b
      tailback calibrate
      tailback calibrate --for 120 --out quiet.json
      tailback calibrate --ports eth1,eth2

    \b
    Exit codes: 0 measured, 2 bad input or no right to do it, 3 a measurement failed.
    """
    from orchestrator.calibration.calibration_run import CalibrationRequest, calibrate
    from orchestrator.cli.profile_table import show_profile
    from orchestrator.profile import profile_store
    from orchestrator.terminal import progress_view

    if out is not None and out.exists():
        raise BadInput("--out", f"{out} is there already; a new file is expected")
    with progress_view.shown() as progress:
        profile = calibrate(CalibrationRequest(seconds, datapath, _pair(ports)), progress)
    path = out or profile_store.profile_file(profile.machine.name, profile.date)
    profile_store.write(profile, path)
    if as_json:
        format_output.print_json({"file": str(path), **profile.model_dump(mode="json")})
    else:
        show_profile(profile, str(path))


def _pair(ports: str | None) -> tuple[str, str] | None:
    """The two names. Raises BadInput."""
    if ports is None:
        return None
    names = [name.strip() for name in ports.split(",")]
    if len(names) != 2 or not all(names):
        raise BadInput("--ports", f"{ports!r} is not accepted; two NICs as in eth1,eth2 are")
    return names[0], names[1]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(calibrate)
