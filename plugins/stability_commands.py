"""Commands `tailback stability`, `delay-margin` and `thresholds`: FECN, QCN and P4QCN formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import typer

from tailback.plugin import (
    BadInput,
    Problem,
    UnitError,
    format_quantity,
    output_console,
    parse_duration,
    parse_rate,
    parse_ratio,
    parse_size,
    print_json,
    text_table,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NO_K = ""
BITS = 8


def _read(command: str, *options: tuple[str, str, Callable[[str], Any]]) -> list[Any]:
    """The values of options, all above 0. Raises BadInput with every problem."""
    problems, values = [], []
    for name, text, parse in options:
        try:
            value = parse(text)
        except (UnitError, ValueError, ZeroDivisionError) as error:
            problems.append(Problem(name, text, str(error)))
            continue
        if value <= 0:
            problems.append(Problem(name, text, "a value above 0 is expected"))
        values.append(value)
    if problems:
        raise BadInput(f"tailback {command}", problems)
    return values


def _print(rows: list[tuple[str, str]], table: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(table)
        return
    output_console().print(text_table(("what", "value"), [list(row) for row in rows]))


def stability(
    rate: Annotated[str, typer.Option(metavar="RATE", help="Of the link, C.")] = "10Gb/s",
    interval: Annotated[str, typer.Option(metavar="TIME", help="Of measurement, T.")] = "1ms",
    frame: Annotated[str, typer.Option(metavar="SIZE", help="Of every frame, P.")] = "1500B",
    set_point: Annotated[str, typer.Option(metavar="SIZE", help="Queue aimed at.")] = "24KB",
    average: Annotated[str, typer.Option(metavar="RATIO", help="Weight of the newest rate.")] = "1",
    k: Annotated[str, typer.Option(metavar="RATIO", help="Slope to judge.")] = NO_K,
    buffer: Annotated[str, typer.Option(metavar="SIZE", help="Of the queue, L.")] = "150KB",
    low: Annotated[str, typer.Option(metavar="SIZE", help="Where PAUSE ends, Q_off.")] = "120KB",
    as_json: Json = False,
) -> None:
    """Print the slopes k for which FECN's queue settles, and the length of its longest PAUSE.

    \b
      tailback stability
      tailback stability --rate 1Gb/s --average 1/2 --k 0.05
    """
    from plugins import fecn_stability

    numbers = [
        ("--rate", rate, parse_rate),
        ("--interval", interval, parse_duration),
        ("--frame", frame, parse_size),
        ("--set-point", set_point, parse_size),
        ("--average", average, parse_ratio),
        ("--buffer", buffer, parse_size),
        ("--low", low, parse_size),
    ]
    if k != NO_K:
        numbers.append(("--k", k, parse_ratio))
    c, t, p, q, w, full, off, *slope = _read("stability", *numbers)
    if w > 1:
        raise BadInput("tailback stability", [Problem("--average", average, "at most 1")])
    if off >= full:
        raise BadInput("tailback stability", [Problem("--low", low, "less than the buffer")])
    found = fecn_stability.stability(c, t, p, q, w)
    pause = fecn_stability.pause_interval(c, full, off)
    table: dict[str, Any] = {
        "alpha": float(found.alpha),
        "k_one_step": float(found.deadbeat_slope),
        "k_limit": float(found.limit),
        "k_limit_averaged": float(found.limit_averaged),
        "pause_interval_s": float(pause),
    }
    rows = [
        ("alpha = C T / P, frames", f"{float(found.alpha):.6g}"),
        ("k that settles in one step, Q_eq / alpha", f"{float(found.deadbeat_slope):.6g}"),
        ("limit of k, 2 Q_eq / alpha", f"{float(found.limit):.6g}"),
        (f"limit with the rate averaged by {w}", f"{float(found.limit_averaged):.6g}"),
        ("longest PAUSE, (L - Q_off) / C", format_quantity(float(pause), "s")),
    ]
    for value in slope:
        table |= {"k": float(value), "verdict": found.verdict(value)}
        rows.append((f"k = {float(value):.6g}", found.verdict(value)))
    _print(rows, table, as_json)


def delay_margin(
    rate: Annotated[str, typer.Option(metavar="RATE", help="Of the queue's service.")] = "1Gb/s",
    sources: Annotated[int, typer.Option(metavar="N", max=10**6, help="That share it.")] = 8,
    weight: Annotated[str, typer.Option(metavar="RATIO", help="Of the queue's growth, w.")] = "2",
    set_point: Annotated[str, typer.Option(metavar="SIZE", help="Queue aimed at.")] = "33KB",
    sample: Annotated[str, typer.Option(metavar="SIZE", help="Between samples.")] = "150KB",
    byte_reset: Annotated[str, typer.Option(metavar="SIZE", help="Of a cycle.")] = "150KB",
    ai_rate: Annotated[str, typer.Option(metavar="RATE", help="Active increase.")] = "0.5Mb/s",
    frame: Annotated[str, typer.Option(metavar="SIZE", help="Of every frame.")] = "1500B",
    as_json: Json = False,
) -> None:
    """Print the longest delay at which QCN's loop is damped, by a linear fluid model.

    \b
      tailback delay-margin
      tailback delay-margin --sources 1 --weight 1/2
    """
    from plugins.qcn_stability import Loop

    if sources < 1:
        problem = Problem("--sources", sources, "1 or more are expected")
        raise BadInput("tailback delay-margin", [problem])
    c, q, s, b, i, p = _read(
        "delay-margin",
        ("--rate", rate, parse_rate),
        ("--set-point", set_point, parse_size),
        ("--sample", sample, parse_size),
        ("--byte-reset", byte_reset, parse_size),
        ("--ai-rate", ai_rate, parse_rate),
        ("--frame", frame, parse_size),
    )
    if s <= p:
        raise BadInput(
            "tailback delay-margin", [Problem("--sample", sample, "more than a frame is expected")]
        )
    try:
        w = parse_ratio(weight)
    except UnitError as error:
        problem = Problem("--weight", weight, str(error))
        raise BadInput("tailback delay-margin", [problem]) from None
    bits = p * BITS
    loop = Loop(c / bits, sources, float(w), q / p, p / s, b / p, i / bits)
    table = {
        "delay_margin_s": loop.longest_delay(),
        "crossover_hz": loop.crossover() / (2 * math.pi),
    }
    rows = [
        (
            "longest delay at which the loop is damped",
            format_quantity(table["delay_margin_s"], "s"),
        ),
        ("frequency at which it swings there", f"{table['crossover_hz']:.4g} Hz"),
    ]
    _print(rows, table, as_json)


def thresholds(
    buffer: Annotated[str, typer.Option(metavar="SIZE", help="That all ports share.")] = "1MB",
    ports: Annotated[int, typer.Option(metavar="N", max=10**6, help="Of the switch.")] = 4,
    rate: Annotated[str, typer.Option(metavar="RATE", help="Of its links.")] = "7Mb/s",
    round_trip: Annotated[str, typer.Option(metavar="TIME", help="Of a message.")] = "20ms",
    priorities: Annotated[int, typer.Option(metavar="N", max=10**6, help="With a queue each.")] = 8,
    sharing: Annotated[str, typer.Option(metavar="RATIO", help="DCQCN's alpha.")] = "8",
    as_json: Json = False,
) -> None:
    """Print the highest P4QCN and PFC thresholds with which a shared buffer is lossless.

    Exit code 1 when the buffer is too small for any.
    """
    from plugins import p4qcn_thresholds

    size, speed, time, share = _read(
        "thresholds",
        ("--buffer", buffer, parse_size),
        ("--rate", rate, parse_rate),
        ("--round-trip", round_trip, parse_duration),
        ("--sharing", sharing, parse_ratio),
    )
    wrong = [
        Problem(name, number, "1 or more are expected")
        for name, number in (("--ports", ports), ("--priorities", priorities))
        if number < 1
    ]
    if wrong:
        raise BadInput("tailback thresholds", wrong)
    flight = p4qcn_thresholds.in_flight(speed, time)
    found = p4qcn_thresholds.thresholds(size, ports, flight, priorities, Fraction(share))
    table = {
        "in_flight": flight,
        "pfc": found.pfc,
        "p4qcn": found.p4qcn,
        "p4qcn_shared": found.p4qcn_shared,
        "possible": found.possible,
    }
    rows = [
        ("Q_flight, rate times round trip", format_quantity(flight, "B")),
        ("Q_PFC, at most", format_quantity(found.pfc, "B")),
        ("Q_P4QCN, at most", format_quantity(found.p4qcn, "B")),
        ("Q_P4QCN in a shared buffer, at most", format_quantity(found.p4qcn_shared, "B")),
    ]
    _print(rows, table, as_json)
    raise typer.Exit(0 if found.possible else 1)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(stability)
    app.command("delay-margin")(delay_margin)
    app.command()(thresholds)
