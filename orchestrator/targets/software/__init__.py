"""Target `software`: real frames between network namespaces of one worker process.

Nothing is imported here that would start a thread: the worker enters its namespaces with one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.hookspecs import hookimpl

if TYPE_CHECKING:
    from orchestrator.plan.target_options import TargetOptions
    from orchestrator.target import Target


@hookimpl
def tailback_targets() -> Iterable[Target]:
    """The software target."""
    from orchestrator.targets.software.software_target import Software

    return [Software()]


@hookimpl
def tailback_target_options() -> Iterable[type[TargetOptions]]:
    """Options of real frames."""
    from orchestrator.targets.software.software_options import SoftwareOptions

    return [SoftwareOptions]
