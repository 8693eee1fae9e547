"""Options of target `gateware`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from orchestrator.plan.target_options import File, TargetOptions


class GatewareOptions(TargetOptions):
    """Options of the nodes' Verilog, Verilated or on cards."""

    target = "gateware"

    cores: int | None = Field(
        None,
        ge=1,
        le=1024,
        description="How many cores clock its models, with the same result; by default one.",
    )
    forms: Literal["by-hand", "compiled"] = Field(
        "by-hand",
        description="Congestion points that have a module written by hand run from that or are "
        "compiled from their kernels, as all others are.",
    )
    testbed: File | None = Field(
        None,
        description="Run on the cards that FILE names ([cards.NAME] with device = /dev/mqnicN or a "
        "PCIe device below /sys, nodes = names in the plan).",
    )
