"""Algorithms that ship with tailback: congestion and reaction points, PAUSE, delay lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.hookspecs import hookimpl

if TYPE_CHECKING:
    from orchestrator.algorithm import Algorithm


@hookimpl
def tailback_algorithms() -> Iterable[Algorithm]:
    """The shipped congestion points, reaction points, pauses and delay lines."""
    from plugins.delay import FIXED, JITTERED
    from plugins.pause import PAUSE
    from plugins.pfc import PFC
    from plugins.qcn_cp import QCN_CP
    from plugins.qcn_rp import QCN_RP

    return [QCN_CP, QCN_RP, PAUSE, PFC, FIXED, JITTERED]


@hookimpl
def tailback_plans() -> Iterable[Path]:
    """The shipped plans."""
    return sorted((Path(__file__).parent / "plans").glob("*.toml"))
