"""Options of target `gateware`."""

from __future__ import annotations

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
    testbed: File | None = Field(
        None,
        description="Run on the cards that FILE names ([cards.NAME] with device = /dev/mqnicN or a "
        "PCIe device below /sys, nodes = names in the plan).",
    )
