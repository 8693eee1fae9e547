"""Compiled module: Verilog of an algorithm, its ports, clocks and sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firmware.compiler.clock_bounds import Clocks
from firmware.compiler.intermediate_form import Field
from orchestrator.algorithm import Algorithm


@dataclass
class CompiledModule:
    """Verilog of an algorithm, and what a bench or a shell around it needs."""

    name: str
    verilog: str
    events: dict[str, int]
    clocks: dict[str, Clocks]
    inputs: dict[Field, int]
    """Fields that are input ports, with their width."""
    outputs: dict[Field, int]
    arrays: list[Field]
    states: int
    register_bits: int
    """Bits of the variables' registers; fields and shared units have their own."""
    divides: bool
    """True: it instantiates `divide` (firmware/rtl/divide.v)."""


def module_name(algorithm: Algorithm) -> str:
    """Name of the module: a Verilog identifier."""
    return "kernel_" + re.sub(r"\W", "_", algorithm.name)
