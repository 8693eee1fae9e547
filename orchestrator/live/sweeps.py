"""Registry of this user's running sweeps: a journal for each, beside the notes of runs.

A journal is a file `<number>.sweep` of JSON lines that grows while the sweep runs (see
`orchestrator.points.journal`). Its first line has the number of the process.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchestrator.live import places

SUFFIX = ".sweep"
DONE, FAILED, STOPPED = "done", "failed", "stopped"
"""Outcomes of a sweep."""


def under_way() -> list[tuple[Path, dict[str, Any]]]:
    """Journals of running sweeps, the latest first, each with its first line.

    Those of dead processes are removed.
    """
    folder = places.folder()
    found = []
    for path in folder.glob(f"*{SUFFIX}") if folder is not None else ():
        try:
            with path.open(encoding="utf-8") as file:
                head = json.loads(file.readline())
            number, started = int(head["process"]), float(head["started"])
        except (OSError, ValueError, LookupError, TypeError):
            continue  # it ended meanwhile, has only begun, or belongs to another user
        if places.alive(number):
            found.append((started, path, head))
        else:
            path.unlink(missing_ok=True)
    return [(path, head) for _, path, head in sorted(found, key=lambda one: -one[0])]
