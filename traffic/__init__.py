"""Plugin registration of the shipped traffic sources and transports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tailback.plugin import hookimpl

if TYPE_CHECKING:
    from tailback.plugin import Algorithm


@hookimpl
def tailback_algorithms() -> Iterable[Algorithm]:
    """The shipped traffic sources and transports."""
    from traffic.bernoulli_source import BERNOULLI
    from traffic.capture_replay import TRACE
    from traffic.cbr_source import CBR
    from traffic.collectives import ALL_REDUCE, ALL_TO_ALL
    from traffic.credit_transport import CREDIT
    from traffic.go_back_n import GO_BACK_N
    from traffic.goal import GOAL
    from traffic.message_sources import BULK, INCAST, MESSAGES
    from traffic.pareto_on_off import PARETO
    from traffic.poisson_flows import POISSON
    from traffic.random_flows import RANDOM_FLOWS
    from traffic.recorded_flows import FLOWS
    from traffic.reliable_connection import RELIABLE_CONNECTION
    from traffic.selective_repeat import SELECTIVE
    from traffic.socket_traffic import SOCKETS
    from traffic.tcp import TCP

    sources = [CBR, BERNOULLI, PARETO, MESSAGES, BULK, INCAST, POISSON, RANDOM_FLOWS, TRACE, FLOWS]
    collectives = [ALL_REDUCE, ALL_TO_ALL, GOAL]
    return [*sources, *collectives, SOCKETS, TCP, GO_BACK_N, SELECTIVE, RELIABLE_CONNECTION, CREDIT]
