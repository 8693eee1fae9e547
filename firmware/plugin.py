"""Plugin that contributes the gateware's target, its commands and the RTL hunt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.hookspecs import hookimpl

if TYPE_CHECKING:
    import typer

    from orchestrator.algorithm import Algorithm
    from orchestrator.plan.target_options import TargetOptions
    from orchestrator.progress import Report
    from orchestrator.rtl_module import RtlHunted, RtlOptions
    from orchestrator.target import Target


@hookimpl
def tailback_targets() -> Iterable[Target]:
    """Contribute the target `gateware`."""
    from firmware.gateware_target import Gateware

    return [Gateware()]


@hookimpl
def tailback_target_options() -> Iterable[type[TargetOptions]]:
    """Contribute the options of `gateware`."""
    from firmware.gateware_options import GatewareOptions

    return [GatewareOptions]


@hookimpl
def tailback_hunt_rtl(algorithm: Algorithm, options: RtlOptions, progress: Report) -> RtlHunted:
    """Compare an algorithm's Verilog with its kernels, in Icarus Verilog or Verilator."""
    from firmware.equivalence.sequence_fuzzer import fuzz_rtl

    return fuzz_rtl(algorithm, options, progress)


@hookimpl
def tailback_commands(app: typer.Typer) -> None:
    """Add the commands `gateware` and `prove`."""
    from firmware.gateware_commands import gateware_commands
    from firmware.proof.prove_command import prove_command

    app.add_typer(gateware_commands(), name="gateware")
    app.command("prove")(prove_command)
