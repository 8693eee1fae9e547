"""Option `--metrics` of the commands that Prometheus can scrape, and the exporter of `run`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.errors import BadInput
from orchestrator.terminal import exit_codes

if TYPE_CHECKING:
    from orchestrator.metrics_export.http_endpoint import MetricsEndpoint, Source

Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="ADDRESS",
        help="Serve metrics for Prometheus at http://ADDRESS/metrics: IP:PORT, such as "
        "127.0.0.1:9464; PORT alone is on the loopback. Not authenticated. Needs the extra "
        "metrics.",
    ),
]
MetricsHold = Annotated[
    str,
    typer.Option(
        "--metrics-hold",
        metavar="TIME",
        help="With --metrics: most time for which the final values stay until a scrape has "
        "fetched them, at most 60min; 0s: none. Ctrl-C ends it.",
    ),
]
LONGEST_HOLD_S = 3600


def check_metrics(address: str | None) -> None:
    """Check address and extra before anything takes time. Raises BadInput or Refused."""
    if address is not None:
        from orchestrator.metrics_export.http_endpoint import parse_address, require_client

        parse_address(address)
        require_client()


def hold_seconds(text: str) -> float:
    """Time for which final values stay (s). Raises BadInput."""
    from orchestrator.plan.units import UnitError, parse_duration

    try:
        seconds = parse_duration(text) / 1e12
    except UnitError as error:
        raise BadInput("--metrics-hold", f"{text[:100]!r} is not accepted; {error}") from None
    if not 0 <= seconds <= LONGEST_HOLD_S:
        raise BadInput("--metrics-hold", f"{text[:100]!r} is not accepted; 0s to 60min is")
    return seconds


@contextlib.contextmanager
def serve_metrics(address: str | None, source: Source) -> Iterator[MetricsEndpoint | None]:
    """Endpoint as long as the block lasts; None without an address."""
    if address is None:
        yield None
        return
    from orchestrator.metrics_export.http_endpoint import served

    with served(address, source, exit_codes.say) as endpoint:
        yield endpoint
