"""`tailback storm`: sends PAUSE or PFC continuously, so that the neighbour stays paused."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from orchestrator.cli.metrics_option import (
    Metrics,
    MetricsHold,
    check_metrics,
    hold_seconds,
    serve_metrics,
)
from orchestrator.terminal import exit_codes, format_output

CODES = {"gapless": exit_codes.MET, "lapsed": exit_codes.MISSED, "unproven": exit_codes.INVALID}
OBSERVER_WORDS = {
    "own": "the sender's clock",
    "kernel": "the kernel, leaving",
    "far_end": "the kernel, at the far end",
}


def storm(
    interfaces: Annotated[
        list[str],
        typer.Argument(
            metavar="INTERFACE...", help="Interfaces to send through; no other is used."
        ),
    ],
    priorities: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="PFC priorities to pause (802.1Qbb): 3,4 or 0-7. Default: the link by PAUSE "
            "(802.3x).",
        ),
    ] = None,
    quanta: Annotated[
        int, typer.Option(metavar="N", max=2**31, help="Quanta of one frame, 512 bit times each.")
    ] = 65_535,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Rate of the links, by which quanta are converted: 100Gb/s. Default: as each "
            "interface reports.",
        ),
    ] = None,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="Duration.")] = "10s",
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="on=TIME,off=TIME",
            help="Pause and release by turns: on=200ms,off=300ms.",
        ),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time before expiry of the quanta at which the next frame leaves. Default: three "
            "quarters of them, more on a machine that is late.",
        ),
    ] = None,
    far_end: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INTERFACE",
            help="An interface of this machine at the other end, as an observer; one for each, in "
            "the same order.",
        ),
    ] = None,
    in_use: Annotated[
        bool,
        typer.Option(
            "--in-use", help="Allow interfaces that have addresses or carry other interfaces."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    metrics: Metrics = None,
    metrics_hold: MetricsHold = "20s",
) -> None:
    """Keep neighbours paused by PAUSE or PFC without a lapse, as a broken NIC does.

    To test a PFC watchdog, or a network during a PFC storm. Each port's next frame leaves before
    the quanta of the previous one expire, the earliest deadline first; at the end all ports are
    released, also after Ctrl-C. Interfaces are not changed. The verdict on lapses rests on the
    kernel's timestamps or a far end. Needs CAP_NET_RAW.

    \b
      tailback storm eth2 --priorities 3,4 --for 10m
      tailback storm eth2 eth3 --priorities 3 --rate 100Gb/s --pattern on=200ms,off=300ms --json

    \b
    Exit codes: 0 gapless, 1 there were lapses, 2 bad input or no right to send, 3 no observer but
    the sender.
    """
    from orchestrator.pause_storm.storm_interfaces import opened
    from orchestrator.pause_storm.storm_metrics import StormExporter
    from orchestrator.pause_storm.storm_report import report_table as table
    from orchestrator.pause_storm.storm_request import read
    from orchestrator.pause_storm.storm_runner import run_storm as held
    from orchestrator.terminal import progress_view

    check_metrics(metrics)
    hold_s = hold_seconds(metrics_hold)
    asked = read(
        *(interfaces, priorities, quanta, rate, duration, pattern, margin, far_end or [], in_use)
    )
    exporter = StormExporter(asked, interfaces)
    with serve_metrics(metrics, exporter.readings) as endpoint:
        with opened(asked) as ports, progress_view.shown() as progress:
            outcome = held(asked, ports, progress, exporter.observe)
        report = table(outcome)
        exporter.finish(report)
        if as_json:
            format_output.print_json(report)
        else:
            _show(report)
        if endpoint is not None and outcome.interrupted is None:
            endpoint.hold(hold_s, exit_codes.say)
    if outcome.interrupted is not None:
        raise outcome.interrupted
    raise typer.Exit(CODES[report["verdict"]])


def _show(report: dict[str, Any]) -> None:
    console = format_output.console()
    rows = [
        (
            port["interface"],
            words,
            seen["frames"],
            format_output.quantity(seen["held_s"], "s"),
            format_output.quantity(seen["worst_margin_s"], "s"),
            seen["lapses"],
            format_output.quantity(seen["longest_lapse_s"], "s"),
            "-" if seen["lapsed_share"] is None else f"{seen['lapsed_share']:.3%}",
        )
        for port in report["ports"]
        for word, words in OBSERVER_WORDS.items()
        if (seen := port[word]) is not None
    ]
    columns = ("port", "by", "frames", "held", "least margin", "lapses", "longest", "share")
    console.print(format_output.table(columns, rows))
    for port in report["ports"]:
        hold, margin = (format_output.quantity(port[name], "s") for name in ("hold_s", "margin_s"))
        refused = f", {port['refused']} frames refused by the kernel" if port["refused"] else ""
        rate = format_output.quantity(port["rate_bps"], "bit/s")
        console.print(
            f"{port['interface']}: {rate}, a frame holds for {hold}, the next leaves {margin} "
            f"before that{refused}",
            markup=False,
        )
    late = ", ".join(
        f"{name.replace('_', '.')} {format_output.quantity(value, 's')}"
        for name, value in report["lateness_s"].items()
    )
    console.print(f"lateness  {late}", markup=False)
    share = report["cpu_s"] / report["ran_s"]
    stolen = format_output.quantity(report["taken_s"].get("stolen"), "s")
    console.print(
        f"core      {share:.1%} used, {report['scheduled']}; the hypervisor took {stolen}",
        markup=False,
    )
    console.print(f"verdict   {report['verdict']}", markup=False)
    for line in report["why"]:
        console.print(f"          {line}", markup=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(storm)
