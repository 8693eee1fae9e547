"""Map from Verilog modules to algorithms: the modules of each, and all instances within them."""

from __future__ import annotations

MODULES: dict[tuple[str, str], tuple[str, ...]] = {
    ("congestion_point", "qcn-cp"): ("qcn_cp", "occupancy_sampler"),
    ("reaction_point", "qcn-rp"): ("qcn_rp",),
    ("pause", "pause"): ("pause_control",),
    ("traffic", "cbr"): ("flow_sources",),
}
"""Modules in `qcn_nic` and `qcn_switch` of each algorithm (kind, name)."""

ELSEWHERE: dict[tuple[str, str], str] = {
    ("delay_line", "fixed-delay"): "links of Verilated nodes delay in the loop that clocks them "
    "(firmware/model/fabric.cpp); delay_line.v is behind a port of a card, and its bench holds it",
}
"""Algorithms whose module is in no Verilated node, with the part that does their work there."""


def algorithm_of(instance: str, modules: dict[str, str]) -> tuple[str, str] | None:
    """Algorithm of an instance: that of its module, or of an enclosing one.

    `modules` has the module of each instance that has counters.
    """
    whose = {module: key for key, names in MODULES.items() for module in names}
    parts = instance.split(".")
    for end in range(len(parts), 0, -1):
        module = modules.get(".".join(parts[:end]))
        if module in whose:
            return whose[module]
    return None
