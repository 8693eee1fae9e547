"""Compiles programs with Debian's ns-3 (package libns3-dev)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path


def lack() -> str | None:
    """The reason why ns-3 cannot run here; None: it can."""
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if not Path("/usr/include/ns3/core-module.h").exists():
        return "ns-3 is not installed: apt-get install libns3-dev"
    return None


def compiled(source: Path, modules: Iterable[str], folder: Path, *flags: str) -> Path:
    """The program of a file and of modules of ns-3, compiled into `folder`."""
    program = folder / source.stem
    line = ["g++", "-std=c++17", *flags, "-o", str(program), str(source)]
    subprocess.run([*line, *(f"-lns3-{name}" for name in modules)], check=True, timeout=250)
    return program
