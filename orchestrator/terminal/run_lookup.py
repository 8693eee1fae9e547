"""Lookup of a run by name: a run folder, `latest`, `-1`, or one of the runs of a plan.

    runs/quickstart/20261122T101500Z-1a2b3c   that folder
    latest, -1                                the newest run below runs/
    -2                                        the one before
    quickstart/latest, runs/quickstart/-2     the same among the runs of one plan

A run's folder is called by the time at which it began, so that the order of names is that of time.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from orchestrator.errors import BadInput

BASE = Path("runs")
"""Default parent of run folders of `tailback run`."""
LATEST = "latest"
RESULT = "result.json"
"""What every complete run folder holds."""
OFFERED = 5
"""Runs that an error names."""


def is_run(folder: Path) -> bool:
    """Return whether this is the folder of a complete run."""
    return (folder / RESULT).is_file() and not folder.name.startswith(".")


def is_counted(name: str) -> bool:
    """Return whether the name counts runs from the newest (`latest`, `-2`, `PLAN/latest`)."""
    return bool(_back(Path(name).name)) and not Path(name).exists()


def runs_in(folder: Path) -> list[Path]:
    """The run folders in the folder of a plan, or in those of all plans; the newest last."""
    found = {path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/{RESULT}")}
    return sorted(filter(is_run, found), key=lambda run: (run.name, run))


def find_run(name: str | os.PathLike[str], base: Path = BASE) -> Path:
    """The run folder that `name` means. Raises BadInput with the runs that could be meant."""
    text = os.fspath(name)
    folder = Path(text)
    if is_run(folder):
        return folder
    if is_counted(text):
        among = base if text == folder.name else _plans_folder(folder.parent, base)
        return _counted(text, among, _back(folder.name))
    if not folder.is_dir() and (base / folder).is_dir():
        folder = base / folder
        if is_run(folder):
            return folder
    if not folder.is_dir():
        raise BadInput(text, f"there is no such run folder; {_offer(runs_in(base))}")
    if inside := runs_in(folder):
        raise BadInput(text, f"is a folder of runs, not a run; {_offer(inside)}")
    if (folder / "plan.toml").is_file():
        raise BadInput(text, f"is not a complete run folder: {RESULT} missing")
    raise BadInput(text, f"is no run folder: there is no {RESULT} in it; {_offer(runs_in(base))}")


def _back(word: str) -> int:
    """Number of runs that a word counts back: 1 for `latest` and -1; 0 for any other word."""
    if word == LATEST:
        return 1
    return int(word[1:]) if re.fullmatch(r"-\d{1,9}", word) else 0


def _plans_folder(named: Path, base: Path) -> Path:
    """The folder of `quickstart/latest`: as it stands, or below `base`."""
    return base / named if not named.is_dir() and (base / named).is_dir() else named


def _counted(text: str, among: Path, back: int) -> Path:
    """The run so many back in a folder. Raises BadInput."""
    found = runs_in(among)
    if not found:
        raise BadInput(text, f"there are no runs in {among}")
    if back > len(found):
        raise BadInput(text, f"there are only {len(found)} runs in {among}; -1 is the newest")
    return found[-back]


def _offer(runs: list[Path]) -> str:
    """List of the runs there are, the newest first, as text."""
    if not runs:
        return f"name one, or make one with `tailback run` ({BASE}/ has none)"
    shown = "\n".join(f"  {run}" for run in runs[: -OFFERED - 1 : -1])
    more = f"\n  and {len(runs) - OFFERED} more" if len(runs) > OFFERED else ""
    return f"`{runs[-1].parent.name}/{LATEST}` is the newest of these:\n{shown}{more}"


def captures_of(name: str | os.PathLike[str]) -> list[Path]:
    """The captures that `name` means: a file is itself, a run stands for all of its own.

    Raises BadInput for a run without captures, and for what is neither.
    """
    text = os.fspath(name)
    if not Path(text).is_dir() and not is_counted(text):
        return [Path(text)]
    folder = find_run(text)
    found = sorted((folder / "captures").glob("*.pcapng"))
    for path in found:
        if not path.is_file():  # a pipe without a writer would block for ever
            raise BadInput(str(path), "is no file, and a run's captures are files")
    if found:
        return found
    raise BadInput(str(folder), "holds no captures; name ports in the plan: capture.ports = [...]")
