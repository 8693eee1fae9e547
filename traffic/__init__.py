"""Traffic sources that ship with tailback."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.hookspecs import hookimpl

if TYPE_CHECKING:
    from orchestrator.algorithm import Algorithm


@hookimpl
def tailback_algorithms() -> Iterable[Algorithm]:
    """The shipped traffic sources."""
    from traffic.cbr import CBR

    return [CBR]
