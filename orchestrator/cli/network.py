"""`tailback network`: static check of a plan for deadlocks and for lossless headroom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import plans as shipped
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes, format_output

if TYPE_CHECKING:
    from orchestrator.plan.cyclic_dependencies import WaitCycle
    from orchestrator.plan.pause_dependencies import Network
    from orchestrator.plan.pfc_headroom import BufferHeadroom


def network(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="A shipped plan by name, or a TOML file.",
            autocompletion=shipped.complete,
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change the plan first; repeatable."),
    ] = None,
    any_traffic: Annotated[
        bool,
        typer.Option(
            "--any-traffic",
            help="Every NIC may send to every node in every lane, whatever traffic the plan has.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check the network of a plan before a run: deadlocks by PAUSE, PFC or credits, and headroom.

    Buffers that pause their neighbours can wait for each other in a cycle (cyclic buffer
    dependency). All routes are checked, in every lane. Each cycle is listed link by link, with
    changes that break it.

    \b
      tailback network pathology-deadlock-ring
      tailback network ibm-fabric --any-traffic --json

    \b
    Exit codes: 0 nothing can deadlock and no pausing buffer can lose frames, 1 one can, 2 bad
    input.
    """
    from orchestrator.plan.cyclic_dependencies import wait_cycles
    from orchestrator.plan.pause_dependencies import network as look
    from orchestrator.plan.pfc_headroom import as_table, buffer_headrooms
    from orchestrator.terminal.plan_loading import load_plan

    resolved = load_plan(plan, settings or []).check(Registry.load())
    found = look(resolved, any_traffic=any_traffic)
    knots, short = (
        wait_cycles(found),
        [room for room in buffer_headrooms(resolved) if not room.lossless],
    )
    if as_json:
        format_output.print_json(
            {
                "plan": resolved.plan.name,
                "deadlock_free": not knots,
                "pausing_buffers": found.pausing,
                "links_between_switches": found.switch_links,
                "waits": len(found.waits),
                "rings": [ring.as_table() for ring in knots],
                "assumed": list(found.unknown),
                "short_of_headroom": [as_table(room) for room in short],
            }
        )
    else:
        _show(found, knots, short)
    raise typer.Exit(exit_codes.MISSED if knots or short else exit_codes.MET)


def _show(found: Network, knots: list[WaitCycle], short: list[BufferHeadroom]) -> None:
    from rich.text import Text

    out = format_output.console()
    for ring in knots:
        out.print(Text(ring.text, "bold red"), soft_wrap=True)
        rows = [
            [link, wait.buffer, wait.plugin, wait.traffic]
            for link, wait in zip(ring.links, ring.waits, strict=True)
        ]
        out.print(format_output.table(("link", "held by", "plugin", "by frames of, say"), rows))
        if ring.knot > len(ring.links):
            out.print(f"{ring.knot} links are in this knot, which has other rings, too")
        out.print("what breaks it, any one of:")
        for remedy in ring.remedies():
            out.print(Text(f"  - {remedy}"), soft_wrap=True)
    for room in short:
        out.print(Text(str(room), "red"), soft_wrap=True)
    for assumed in found.unknown:
        out.print(Text(f"assumed: {assumed}", "yellow"), soft_wrap=True)
    if not knots:
        out.print(Text(_free(found), "green"), soft_wrap=True)


def _free(found: Network) -> str:
    if not found.pausing:
        return "nothing in this plan pauses its neighbours: it cannot deadlock"
    return (
        f"it cannot deadlock: {found.pausing} pausing buffers, {found.switch_links} links between "
        f"switches that carry frames, {len(found.waits)} waits among them, and no ring"
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(network)
