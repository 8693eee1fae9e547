"""`tailback headroom`: PFC headroom that a lossless buffer needs above its XOFF threshold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from orchestrator.cli import plans
from orchestrator.errors import BadInput, Problem
from orchestrator.plan.pfc_headroom import (
    INTERFACE_BITS,
    HeadroomTerms,
    as_table,
    buffer_headrooms,
    cells_for,
    of_cable,
    response_bits_at,
)
from orchestrator.plan.units import UnitError, parse_rate, parse_size
from orchestrator.registry import Registry
from orchestrator.terminal import format_output

LONGEST_CABLE = 40_000_000
"""Metres: once around the Earth."""
MOST_CELL = 1 << 16
SHORTEST_FRAME, LONGEST_FRAME = 64, (1 << 16) - 1
"""Octets with FCS: the least of IEEE 802.3, and more than any port sends."""
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
    cable: Annotated[int, typer.Option(metavar="METRES", max=10**8, help="Length, one way.")] = 100,
    frame: Annotated[str, typer.Option(metavar="SIZE", help="Longest frame with FCS.")] = "1522B",
    peer_frame: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Longest frame of the neighbour; default: the same."),
    ] = None,
    interface: Annotated[
        int, typer.Option(metavar="BITS", max=10**12, help="Delay of one interface, bit times.")
    ] = INTERFACE_BITS,
    response: Annotated[
        int | None,
        typer.Option(
            metavar="BITS",
            max=10**12,
            help="Response time of the neighbour to PFC, bit times; default: that of the rate "
            "(IEEE 802.3, 31B.3.7).",
        ),
    ] = None,
    cell: Annotated[
        int,
        typer.Option(
            metavar="OCTETS",
            max=10**9,
            help="Cell of the buffer's memory: a frame takes whole ones. 0: no cells.",
        ),
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compute the headroom of a lossless port, or check that of a plan.

    \b
      tailback headroom --rate 400Gb/s --cable 300 --frame 9216B --cell 256
      tailback headroom ibm-fig2a

    With a plan: exit code 1 when a buffer that pauses its neighbours can still lose frames.
    """
    if plan is not None:
        _check(plan, as_json)
        return
    parts, longest = _cable_headroom(rate, cable, frame, peer_frame, interface, response, cell)
    sums = {"bits": parts.bits, "octets": parts.octets}
    if cell:
        cells = cells_for(parts.octets, longest, cell)
        sums |= {"cell": cell, "cells": cells, "memory_octets": cells * cell}
    if as_json:
        format_output.print_json(asdict(parts) | sums)
        return
    rows = [[NAMES[name], f"{bits}"] for name, bits in asdict(parts).items()]
    rows.append(["headroom", f"{parts.bits} = {format_output.quantity(parts.octets, 'B')}"])
    if cell:
        memory = format_output.quantity(sums["memory_octets"], "B")
        rows.append([f"in cells of {cell} octets", f"{sums['cells']} cells = {memory}"])
    format_output.console().print(format_output.table(("what", "bit times"), rows))


def _cable_headroom(
    rate: str,
    cable: int,
    frame: str,
    peer_frame: str | None,
    interface: int,
    response: int | None,
    cell: int,
) -> tuple[HeadroomTerms, int]:
    """The terms of a cable's headroom, and the longest frame that the neighbour sends (octets)."""
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
    if not problems and response is None:
        try:
            response = response_bits_at(values["--rate"])
        except ValueError as error:
            problems.append(Problem("--rate", rate, f"{error}; give --response"))
    for name in sizes:
        if name in values and not SHORTEST_FRAME <= values[name] <= LONGEST_FRAME:
            accepted = f"{SHORTEST_FRAME}B to {LONGEST_FRAME}B are expected"
            problems.append(Problem(name, sizes[name], accepted))
    for name, number, most in (
        ("--cable", cable, LONGEST_CABLE),
        ("--interface", interface, 10**9),
        ("--response", response or 0, 10**9),
        ("--cell", cell, MOST_CELL),
    ):
        if not 0 <= number <= most:
            problems.append(Problem(name, number, f"0 to {most} are expected"))
    if problems:
        raise BadInput("tailback headroom", problems)
    terms = of_cable(
        values["--rate"],
        cable,
        values["--frame"],
        peer_frame=values["--peer-frame"],
        interface_bits=interface,
        response_bits=response,
    )
    return terms, values["--peer-frame"]


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
