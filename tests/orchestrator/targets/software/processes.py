"""Finding processes by a mark in their environment, and an interpreter for another user."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.patience import PATIENCE_S

NOBODY = 65534
MARK = "TAILBACK_TEST_MARK"


def marked(mark: str) -> set[int]:
    """Living processes that were started with the mark in their environment."""
    found = set()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment and state not in "ZX":
            found.add(int(folder.name))
    return found


def gone(mark: str, within_s: float = PATIENCE_S) -> bool:
    """Whether every marked process ends in time."""
    end = time.monotonic() + within_s
    while marked(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def another(folder: Path, mark: str) -> bool:
    """Whether a process of /proc has a mark, and another one than this."""
    environment = (folder / "environ").read_bytes().split(b"\0")
    marks = [one for one in environment if one.startswith(f"{MARK}=".encode())]
    return marks != [] and f"{MARK}={mark}".encode() not in marks


def holders(namespaces: list[str], mark: str) -> list[str]:
    """What in this machine still holds one of these network namespaces (`net:[number]`).

    Processes of other tests do not: the kernel gives the number of a namespace that is gone to the
    next one, which is theirs.
    """
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if another(folder, mark):
                continue
            links = [folder / "ns" / "net", *(folder / "fd").iterdir()]
        except OSError:
            continue
        for link in links:
            try:
                if os.readlink(link) in namespaces:
                    found.append(str(link))
            except OSError:
                continue
    return found


def ordinary_user_python() -> str | None:
    """An interpreter of this version that user nobody can execute and that finds our packages."""
    candidates = [
        sys.executable,
        f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}",
    ]
    for candidate in candidates:
        try:
            done = as_nobody([candidate, "-c", "import numba, pyroute2"], {})
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    return None


def as_nobody(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command as user nobody, with our packages on its path."""
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    root = str(Path(__file__).parents[4])
    return subprocess.run(
        command,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([root, packages]),
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        cwd="/",
        capture_output=True,
        text=True,
        timeout=90,
    )
