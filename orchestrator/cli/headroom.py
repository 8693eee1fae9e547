"""`tailback headroom`: PFC headroom that a lossless buffer needs above its XOFF threshold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from orchestrator.cli import plans
from orchestrator.errors import BadInput, Problem
from orchestrator.plan.pfc_headroom import (
    INTERFACE_BITS,
    RESPONSE_BITS,
    HeadroomTerms,
    as_table,
    buffer_headrooms,
    of_cable,
)
from orchestrator.plan.units import UnitError, parse_rate, parse_size
from orchestrator.registry import Registry
from orchestrator.terminal import format_output

LONGEST_CABLE = 100_000
NAMES = {
    "own_frame": "own longest frame, just begun",
    "pause_frame": "PAUSE or PFC frame",
    "interfaces": "interfaces, both ends",
    "cable": "cable, there and back",
    "response": "response of the neighbour",
    "peer_frame": "its longest frame, just begun",
}


def headroom(
    plan: Annotated[
        str | None,
        typer.Argument(
            metavar="[PLAN]",
            help="Check the buffers of this plan instead.",
            autocompletion=plans.complete,
        ),
    ] = None,
    rate: Annotated[str, typer.Option(metavar="RATE", help="Rate of the link.")] = "10Gb/s",
    cable: Annotated[int, typer.Option(metavar="METRES", help="Length, one way.")] = 100,
    frame: Annotated[str, typer.Option(metavar="SIZE", help="Longest frame with FCS.")] = "1522B",
    peer_frame: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Longest frame of the neighbour; default: the same."),
    ] = None,
    interface: Annotated[
        int, typer.Option(metavar="BITS", help="Delay of one interface, bit times.")
    ] = INTERFACE_BITS,
    response: Annotated[
        int, typer.Option(metavar="BITS", help="Response time of the neighbour to PFC, bit times.")
    ] = RESPONSE_BITS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute the headroom of a lossless port, or check that of a plan.

    \b
      tailback headroom --rate 100Gb/s --cable 30 --frame 9216B --response 201728
      tailback headroom ibm-fig2a

    With a plan: exit code 1 when a buffer that pauses its neighbours can still lose frames.
    """
    if plan is not None:
        _check(plan, as_json)
        return
    parts = _cable_headroom(rate, cable, frame, peer_frame, interface, response)
    if as_json:
        format_output.print_json(asdict(parts) | {"bits": parts.bits, "octets": parts.octets})
        return
    rows = [[NAMES[name], f"{bits}"] for name, bits in asdict(parts).items()]
    rows.append(["headroom", f"{parts.bits} = {format_output.quantity(parts.octets, 'B')}"])
    format_output.console().print(format_output.table(("what", "bit times"), rows))


def _cable_headroom(
    rate: str, cable: int, frame: str, peer_frame: str | None, interface: int, response: int
) -> HeadroomTerms:
    problems, values = [], {}
    sizes = {"--frame": frame, "--peer-frame": frame if peer_frame is None else peer_frame}
    texts = [("--rate", rate, parse_rate), *((n, t, parse_size) for n, t in sizes.items())]
    for name, text, parse in texts:
        try:
            values[name] = parse(text)
        except UnitError as error:
            problems.append(Problem(name, text, str(error)))
    if not problems and values["--rate"] < 1:
        problems.append(Problem("--rate", rate, "a rate above 0 is expected"))
    for name, number, most in (
        ("--cable", cable, LONGEST_CABLE),
        ("--interface", interface, 10**9),
        ("--response", response, 10**9),
    ):
        if not 0 <= number <= most:
            problems.append(Problem(name, number, f"0 to {most} are expected"))
    if problems:
        raise BadInput("tailback headroom", problems)
    return of_cable(
        values["--rate"],
        cable,
        values["--frame"],
        peer_frame=values["--peer-frame"],
        interface_bits=interface,
        response_bits=response,
    )


def _check(name: str, as_json: bool) -> None:
    from orchestrator.terminal.plan_loading import load_plan

    found = buffer_headrooms(load_plan(name, []).check(Registry.load()))
    if as_json:
        format_output.print_json([as_table(room) for room in found])
    elif not found:
        format_output.console().print("nothing in this plan pauses its neighbours")
    else:
        rows = [
            [
                room.entity,
                format_output.quantity(room.octets, "B"),
                format_output.quantity(room.needed, "B"),
                "lossless" if room.lossless else "SHORT",
            ]
            for room in found
        ]
        format_output.console().print(
            format_output.table(("buffer", "above its high mark", "needed", ""), rows)
        )
    raise typer.Exit(0 if all(room.lossless for room in found) else 1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(headroom)
