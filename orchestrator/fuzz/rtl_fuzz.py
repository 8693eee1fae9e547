"""Fuzzing of an algorithm's own gateware, delegated to the plugins that can run it.

Who can run Verilog answers the hook `tailback_hunt_rtl`; the core knows no gateware.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.algorithm import Algorithm
from orchestrator.errors import BadInput
from orchestrator.progress import Report, lack_of
from orchestrator.registry import Registry
from orchestrator.rtl_module import RtlHunted, RtlOptions


def with_rtl(wanted: Sequence[Algorithm], insist: bool) -> list[Algorithm]:
    """The algorithms that name gateware of their own. Raises BadInput where there has to be one."""
    named = [one for one in wanted if one.rtl is not None]
    if insist and not named:
        names = ", ".join(one.name for one in wanted) or "without --against there is none"
        text = f"no algorithm names a module of its own ({names}); rtl= of the algorithm does"
        raise BadInput("tailback hunt --rtl", text)
    return named


def hunt_rtl(algorithm: Algorithm, options: RtlOptions, progress: Report) -> RtlHunted:
    """Hold an algorithm's module to its kernels. Raises BadInput and Refused."""

    def report(news: Any) -> None:
        if lack := lack_of(news):
            raise BadInput("tailback hunt --rtl", f"a plugin's tailback_hunt_rtl reported {lack}")
        progress(news)

    answers = Registry.load().insist(
        "tailback_hunt_rtl", algorithm=algorithm, options=options, progress=report
    )
    if not answers:
        raise BadInput("tailback hunt --rtl", "no plugin of this installation runs Verilog")
    hunted: RtlHunted = answers[0]
    return hunted
