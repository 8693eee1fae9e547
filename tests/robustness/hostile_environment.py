"""Environment variables that installed libraries read, and hostile values for them."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

DISTRIBUTION = "tailback-testbed"
EXTRA, SERVERS = "cluster", ("otg", "metrics")
"""The extra whose libraries a run may load, and those of the servers."""
READ = re.compile(
    rb"(?:environ(?:b?\.get|\.pop|\.setdefault)?\s*[\[(]|getenvb?\(|_readenv\()\s*"
    rb"[rb]?[\"']([A-Za-z_][A-Za-z0-9_]{2,60})[\"']"
    rb"|[\"']([A-Z_][A-Z0-9_]{2,60})[\"']\s+(?:not\s+)?in\s+(?:os\.)?environ"
)
OF_C = re.compile(rb"\x00((?:ARROW|OPENBLAS|GOTO|OMP|ZMQ|LLVM|GRPC)_[A-Z0-9_]{2,40})\x00")
"""Names in compiled libraries: the prefixes of Arrow, OpenBLAS, OpenMP, ZeroMQ, LLVM, gRPC."""
LOCALE = ("LC_ALL", "LANG", "LC_NUMERIC", "LC_CTYPE", "LANGUAGE", "TZ", "COLUMNS", "LINES", "TERM")
BEFORE = frozenset(
    {"PATH", "HOME", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"}
    | {"PYTHONUSERBASE", "PYTHONPLATLIBDIR", "PYTHONSTARTUP", "PYTHONEXECUTABLE"}
)
"""Decide which code runs before tailback does (docs/security.md)."""


def needed(name: str = DISTRIBUTION, extras: tuple[str, ...] = (EXTRA,)) -> set[str]:
    """The distributions that tailback needs (with extras), and those that these need."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        try:
            lines = importlib.metadata.requires(one) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        found.add(one)
        for line in lines:
            extra = re.search(r"extra == ['\"]([\w-]+)", line)
            if extra is None or (one == name and extra[1] in extras):
                waiting.append(re.split(r"[^\w.-]", line)[0])
    return found - {name}


def _names_of_python() -> set[str]:
    """Variables that this Python documents."""
    command = [sys.executable, "--help-env"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return set(re.findall(r"^\W*(PYTHON[A-Z0-9]+)", text, re.MULTILINE))


@functools.cache
def variables(extras: tuple[str, ...] = (EXTRA,)) -> dict[str, list[str]]:
    """Distribution -> the variables that its sources or libraries read; also "python", "locale"."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name in needed(extras=extras):
        for file in importlib.metadata.files(name) or ():
            library = ".so" in file.suffixes
            if (not library and file.suffix != ".py") or "tests" in file.parts:
                continue
            path = Path(str(file.locate()))
            octets = path.read_bytes() if path.is_file() else b""
            if library:
                found[name] |= {one.decode() for one in OF_C.findall(octets)}
            elif b"env" in octets:
                found[name] |= {(a or b).decode() for a, b in READ.findall(octets)}
    found["python"], found["locale"] = _names_of_python(), set(LOCALE)
    return {name: sorted(names - BEFORE) for name, names in found.items() if names - BEFORE}


def plant(folder: Path) -> list[str]:
    """Files that must not be executed, in the folder; values of variables that name them."""
    ran = folder / "ran"
    code = f"open({str(ran)!r}, 'w').close()\n"
    for name in ("hostile_module", "sitecustomize", "numpy", "queue", "yaml"):
        (folder / f"{name}.py").write_text(code)
    script = folder / "hostile.sh"
    script.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    script.chmod(0o755)
    (folder / "matplotlibrc").write_text("backend: module://hostile_module\naxes.grid: True\n")
    (folder / ".numba_config.yaml").write_text("disable_jit: 1\nopt: 0\n")
    return [str(script), str(folder), "module://hostile_module", "hostile_module:Hostile"]


def values(planted: list[str]) -> list[str]:
    """Hostile and odd values."""
    odd = [
        "",
        " ",
        "0",
        "1",
        "-1",
        "yes",
        "x",
        "1e400",
        "nan",
        "9" * 400,
        "\x1b[31m",
        "\u00fc",
        "*",
    ]
    paths = ["/nonexistent/place", "/dev/null", "/dev/zero", "/", "a" * 5000, "a:b;c,d=e", "$(id)"]
    return [*odd, *paths, "/etc/passwd", "C.UTF-8", "tr_TR.UTF-8", "Pacific/Chatham", *planted]


def drawn(names: list[str], seed: object, planted: list[str]) -> dict[str, str]:
    """A value for each variable; none with which Python itself fails or prints something."""
    draw = random.Random(str(seed))
    given = {name: draw.choice(values(planted)) for name in names}
    for name in [name for name in given if name.startswith(("PYTHON", "LC_", "LANG", "MALLOC"))]:
        environment = os.environ | {name: given[name]}
        command = [sys.executable, "-c", "raise SystemExit(0)"]
        done = subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=60
        )
        if done.returncode or done.stderr or done.stdout:
            del given[name]
    return given
