"""Builds for a board: the sources, macros and commands that a vendor's flow needs."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from firmware.verilog_modules import BOARDS, RTL
from orchestrator.errors import BadInput, Problem, Refused

INSTANCE = re.compile(r"^\s*(\w+)\s+(?:#\s*\(|\w+\s*\()", re.M)


@dataclass(frozen=True)
class Board:
    """A shell, and the integration of the top module into it.

    `macros` name Verilog macros by the option that sets them; `steps` are commands and changes,
    with {folder} for the board's folder, {rtl} for that of the modules and {list} for the sources.
    """

    top: str
    folder: str
    summary: str
    parameters: dict[str, int]
    steps: tuple[str, ...]
    macros: dict[str, str] = field(default_factory=dict)
    constraints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Build:
    """Input of the vendor's flow; paths are absolute, sources in order."""

    board: str
    top: str
    sources: list[str]
    defines: dict[str, int]
    parameters: dict[str, int]
    constraints: list[str]
    steps: list[str]

    def as_json(self) -> dict[str, object]:
        """For `--json`."""
        return asdict(self)


_NETFPGA_STEPS = (
    "Make a project of NetFPGA's own reference switch and see that it builds.",
    "In hw/hdl/top.v name {top} instead of nf_datapath; its ports are the same.",
    "In the project's tcl: read_verilog [list \\\n{list}]",
    "In the project's tcl: read_xdc {folder}/crossing.xdc",
    "Give the first register window 64 KiB, and build the project as before.",
)

BOARDS_BY_NAME = {
    "corundum": Board(
        top="mqnic_app_block",
        folder="corundum",
        summary="a QCN NIC at each port of a Corundum card (10/25G at 64 bit, 100G at 512)",
        parameters={},
        macros={"limiters": "TAILBACK_LIMITERS", "flows": "TAILBACK_FLOWS"},
        steps=(
            "In the Corundum checkout copy the folder of your board's build, as "
            "fpga/mqnic/Alveo/fpga_100g/fpga_AU50 to fpga_AU50_tailback.",
            "In the copy's Makefile, before `include ../common/vivado.mk`: "
            "include {folder}/files.mk",
            "In the copy's config.tcl, before `# PCIe IP core settings`: "
            "source {folder}/config.tcl",
            "make -C fpga_AU50_tailback",
            "make -C fpga_AU50_tailback program",
        ),
    ),
    "netfpga-plus": Board(
        top="netfpga_plus_datapath",
        folder="netfpga",
        summary="a QCN switch of two 100G ports and the host's DMA, 512 bit",
        parameters={"C_S_AXIS_DATA_WIDTH": 512, "C_M_AXIS_DATA_WIDTH": 512, "CLK_MHZ": 250},
        steps=(
            "In hw/tcl: set datapath_width_bit 512, set datapath_freq_mhz 250.",
            *_NETFPGA_STEPS,
        ),
        constraints=("crossing.xdc",),
    ),
    "netfpga-sume": Board(
        top="netfpga_sume_datapath",
        folder="netfpga",
        summary="a QCN switch of four 10G ports and the host's DMA, 256 bit",
        parameters={"C_S_AXIS_DATA_WIDTH": 256, "C_M_AXIS_DATA_WIDTH": 256, "CLK_MHZ": 200},
        steps=_NETFPGA_STEPS,
        constraints=("crossing.xdc",),
    ),
    "netfpga-1g": Board(
        top="netfpga_1g_datapath",
        folder="netfpga",
        summary="a QCN switch of four 1G ports and a queue of the host's, 64 bit",
        parameters={"DATA_WIDTH": 64},
        steps=(
            "Make a project of NetFPGA's own reference switch and see that it builds (ISE 10.1).",
            "In src/nf2_core.v name {top} instead of user_data_path; its ports are the same.",
            "Into the project's src: \\\n{list}",
            "Build the project as before.",
        ),
    ),
}


def sources_of(top: str) -> list[Path]:
    """Files of a module and of its submodules, each after those that it needs."""
    files = {path.stem: path for folder in (RTL, BOARDS) for path in folder.rglob("*.v")}
    ordered: dict[str, Path] = {}

    def visit(name: str) -> None:
        for used in INSTANCE.findall(files[name].read_text()):
            if used in files and used != name and used not in ordered:
                visit(used)
        ordered[name] = files[name]

    visit(top)
    return list(ordered.values())


def build(name: str, sizes: dict[str, int]) -> Build:
    """Build input for a board. Raises BadInput for an unknown board or size."""
    board = BOARDS_BY_NAME.get(name)
    if board is None:
        accepted = "one of " + ", ".join(BOARDS_BY_NAME)
        raise BadInput("gateware build", [Problem("--board", name, accepted)])
    problems = []
    for key, value in sizes.items():
        if key not in board.macros:
            problems.append(Problem(f"--{key}", str(value), f"{name} has no such size; leave it"))
        elif not 1 <= value <= 255:
            problems.append(Problem(f"--{key}", str(value), "1 to 255"))
    if problems:
        raise BadInput("gateware build", problems)
    folder, sources = BOARDS / board.folder, sources_of(board.top)
    defines = {board.macros[key]: value for key, value in sizes.items()}
    listed = " \\\n".join(f"  {path}" for path in sources)
    words = {"{folder}": str(folder), "{top}": board.top, "{list}": listed}
    steps = []
    for step in board.steps:
        for word, text in words.items():
            step = step.replace(word, text)
        steps.append(step)
    if defines:
        values = " ".join(f"{macro}={value}" for macro, value in defines.items())
        steps.insert(-2, f"set {values} in the environment of make; config.tcl takes them")
    return Build(
        board=name,
        top=board.top,
        sources=[str(path) for path in sources],
        defines=defines,
        parameters=board.parameters,
        constraints=[str(folder / file) for file in board.constraints],
        steps=steps,
    )


CORE = Path("fpga/common/rtl/mqnic_core.v")
LIBRARIES = ("fpga/common/rtl", "fpga/lib")
BLOCK = "mqnic_app_block"
REMEDY = "Take a checkout of December 2023, or change {file} to these ports."


def verify_checkout(checkout: Path) -> int:
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
