"""Manifest of a run: plan, machine and versions, so that the run can be repeated.

A value that could not be read is null, and its dotted key is listed under `absent`: so "there is
none" differs from "not read".
"""

from __future__ import annotations

import datetime
import functools
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from orchestrator import __version__
from orchestrator.run import machine_info

LIBRARIES = ("numpy", "numba", "llvmlite", "pydantic", "pluggy", "pyarrow", "matplotlib")
"""Libraries whose version can change a run's numbers or files."""
GIT_TIMEOUT_S = 5
OF_MACHINE = ("git", "machine", "python", "libraries")
"""Keys about the machine on which a run was made."""


def _git(root: Path, *words: str) -> str | None:
    """Output of git in `root`; None when it is not installed, refuses or hangs."""
    try:
        answer = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *words],
            capture_output=True,
            text=True,
            timeout=GIT_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def git_state(root: Path | None = None) -> dict[str, Any] | None:
    """Commit and changes of the checkout tailback runs from; None when it runs from none.

    A checkout of something else around an installed tailback (a virtual environment inside the
    user's own project) does not count.
    """
    root = (root or Path(__file__).parents[2]).resolve()
    top = _git(root, "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != root:
        return None
    changes = _git(root, "status", "--porcelain")
    return {
        "commit": _git(root, "rev-parse", "--verify", "HEAD"),
        "modified": None if changes is None else bool(changes),
    }


def library_versions() -> dict[str, str | None]:
    """Versions of the libraries that matter, without importing them."""
    return {name: _version(name) for name in LIBRARIES}


@functools.cache
def _version(name: str) -> str | None:
    """Version of an installed library. Searches the metadata for its line, which is faster than
    parsing the whole metadata; falls back to parsing."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    head = (found.read_text("METADATA") or "").partition("\n\n")[0]
    line = re.search(r"^Version:[ \t]*(\S+)[ \t]*$", head, re.MULTILINE)
    return line[1] if line else found.version


def _absent(value: dict[str, Any], prefix: str = "") -> list[str]:
    keys: list[str] = []
    for key, item in value.items():
        if item is None:
            keys.append(prefix + key)
        elif isinstance(item, dict):
            keys.extend(_absent(item, f"{prefix}{key}."))
    return keys


def build_manifest(
    plan: str,
    target: str,
    seed: int,
    clock: str,
    *,
    offloads: dict[str, Any] | None = None,
    started: datetime.datetime | None = None,
) -> dict[str, Any]:
    """The manifest of a run of `plan`.

    `clock`: what time was measured with ("simulated", "CLOCK_MONOTONIC_RAW", ...). `offloads`:
    the settings of each network interface used; None when the target has none. `started`: in UTC,
    now when not given.
    """
    manifest: dict[str, Any] = {
        "tailback": __version__,
        "git": git_state(),
        "plan": plan,
        "target": target,
        "seed": seed,
        "clock": clock,
        "offloads": offloads,
        "started": (started or datetime.datetime.now(datetime.UTC)).isoformat(timespec="seconds"),
        "command": list(sys.argv),
        "machine": machine_info.describe(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": library_versions(),
    }
    return manifest | {"absent": _absent(manifest)}


def remote_manifest(manifest: dict[str, Any], remote: dict[str, Any]) -> dict[str, Any]:
    """The manifest of a run that another machine made: `remote` has that machine's entries, and
    `on` its name."""
    kept = {key: value for key, value in manifest.items() if key != "absent"} | remote
    return kept | {"absent": _absent(kept)}
