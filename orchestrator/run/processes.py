"""Processes of this machine, of all users, by their command lines.

Linux shows them to every user. Their content is chosen by the process's owner, so it is not
trusted.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from orchestrator.run import leftovers, reaper

PROC = Path("/proc")
REAPER = Path(reaper.__file__).name


def commands() -> dict[int, list[str]]:
    """Process number -> words of its command; processes that ended meanwhile are left out."""
    found = {}
    for folder in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            octets = (folder / "cmdline").read_bytes()
            found[int(folder.name)] = octets.decode("utf-8", "replace").split("\0")[:-1]
    return found


def run_folders(commands: dict[int, list[str]]) -> dict[int, Path]:
    """Process number -> final folder of its run, of runs in progress.

    The reaper of such a folder has both on its command line.
    """
    found = {}
    for words in commands.values():
        names = [Path(word).name for word in words]
        if REAPER not in names or len(words) < (place := names.index(REAPER)) + 3:
            continue
        owner, partial = words[place + 1], Path(words[place + 2])
        ending = f".{owner}{leftovers.SUFFIX}"
        if owner.isdecimal() and partial.name.startswith(".") and partial.name.endswith(ending):
            found[int(owner)] = partial.with_name(partial.name[1 : -len(ending)])
    return found
