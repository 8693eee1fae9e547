"""Check that the application block fits a Corundum checkout: instance ports, module names."""

from __future__ import annotations

import re
from pathlib import Path

from firmware.boards.board import sources_of
from orchestrator.errors import BadInput, Problem, Refused

CORE = Path("fpga/common/rtl/mqnic_core.v")
LIBRARIES = ("fpga/common/rtl", "fpga/lib")
BLOCK = "mqnic_app_block"
REMEDY = "Take a checkout of December 2023, or change {file} to these ports."


def verify(checkout: Path) -> int:
    """Compare the instance in mqnic_core with the application block; returns the number of matches.

    Raises BadInput for a folder that is no checkout, Refused, by name, for one that does not fit.
    """
    core = checkout / CORE
    try:
        text = core.read_text()
    except OSError as error:
        accepted = f"a Corundum checkout: {CORE} is in it ({error.strerror})"
        problem = Problem("--checkout", str(checkout), accepted)
        raise BadInput("gateware build", [problem]) from None
    wanted = _pins(text, core)
    ours = sources_of(BLOCK)
    have = _names(ours[-1].read_text())
    if lacking := sorted(wanted - have):
        lack = f"{core} connects {', '.join(lacking)}, which {BLOCK} does not have"
        raise Refused("gateware build", lack, REMEDY.format(file=ours[-1]))
    mine = {path.stem for path in ours} - {BLOCK}
    for folder in LIBRARIES:
        for path in sorted((checkout / folder).rglob("*.v")):
            if path.stem in mine:
                lack = f"{path} and our {path.stem} are both modules of that name"
                raise Refused("gateware build", lack, "Leave one of them out of the file list.")
    return len(wanted)


def _pins(text: str, core: Path) -> set[str]:
    """Parameters and ports that the instance of the application block connects."""
    start = text.find(f"{BLOCK} #(")
    end = text.find(");", start)
    if start < 0 or end < 0:
        accepted = f"a file with an instance of {BLOCK}"
        raise BadInput("gateware build", [Problem("--checkout", str(core), accepted)])
    return set(re.findall(r"^\s*\.(\w+)\s*\(", text[start:end], re.M))


def _names(text: str) -> set[str]:
    """Parameters and ports of a module."""
    ports = re.findall(r"^\s*(?:input|output)\s+wire\s+(?:\[.*\]\s*)?(\w+),?$", text, re.M)
    return set(ports) | set(re.findall(r"^\s*parameter\s+(\w+)", text, re.M))
