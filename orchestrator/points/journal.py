"""Journal of a running sweep: a growing file of JSON lines that a console shows.

It lies in the private folder in which runs are found (see `live.sweeps`), and goes when the sweep
ends; whoever has it open then still reads its last line. Each line is JSON:

    {"tailback": 1, "process": ..., "plan": ..., "axes": [...], ...}    the first: what is swept
    {"columns": [[name, unit], ...]}                                    what points tell, so far
    {"at": place, "of": values, "seed": ..., "verdict": ..., "n": [...]}    a point
    {"at": place, "of": values, "why": ...}                             a place that makes no plan
    {"stage": ..., "done": 0.4, "text": ...}                            progress
    {"ended": "done" | "failed" | "stopped", "text": ..., "folder": ...}    the last

A journal that cannot be written any more ends; the sweep goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from orchestrator.errors import BadInput, TailbackError
from orchestrator.live import places
from orchestrator.live.sweeps import DONE, FAILED, STOPPED, SUFFIX, under_way
from orchestrator.points.axis import LIST
from orchestrator.points.columns import Flat, column_of
from orchestrator.points.dataset import axis_values, told_of
from orchestrator.points.onlooker import NOBODY, Onlooker
from orchestrator.points.store import Row
from orchestrator.points.subject import Point, Subject
from orchestrator.points.sweep import Sweep
from orchestrator.progress import Progress
from orchestrator.run.judging import judge

FORMAT = 1
EVERY_S = 0.2
"""Progress is told no more often, but for its end."""
MOST_TEXT = 2000
"""Characters of a reason."""


class Journal(Onlooker):
    """See the module. Made by `watched`."""

    def __init__(self, file: IO[str], sweep: Sweep) -> None:
        self._file: IO[str] | None = file
        self._sweep = sweep
        self._flat = Flat(sweep.wanted)
        self._columns: list[str] = []
        self._looked = 0
        """Columns of rows that there were when those that are told were chosen."""
        self._places: dict[bytes, list[int]] = {}
        """Digest of a subject -> its places: more than one where a parameter changes nothing."""
        self._told = 0.0
        self._write(_head(sweep))

    def place(self, at: int, subject: Subject) -> None:
        """Remember whose points are those of this subject."""
        mine = self._places.setdefault(bytes.fromhex(subject.digest), [])
        if at not in mine:
            mine.append(at)

    def refused(self, at: int, why: str) -> None:
        """A place makes no plan."""
        self._write({"at": at, "of": self._values(at), "why": why[:MOST_TEXT]})

    def point(self, point: Point, row: Row) -> None:
        """Its numbers, of every place that it is a point of."""
        numbers = self._flat.of(row)
        if len(self._flat.units) != self._looked:
            self._looked = len(self._flat.units)
            self._choose()
        said = {
            "seed": point.seed,
            "verdict": judge(self._sweep.plan, row)[1],
            "n": [numbers.get(name) for name in self._columns],
        }
        for at in self._places[bytes.fromhex(point.subject.digest)]:
            self._write({"at": at, "of": self._values(at)} | said)

    def progress(self, progress: Progress) -> None:
        """How far it is."""
        now = time.monotonic()
        if progress.done < 1 and now - self._told < EVERY_S:
            return
        self._told = now
        self._write({"stage": progress.stage, "done": progress.done, "text": progress.detail})

    def said(self, text: str) -> None:
        """What workers tell of themselves."""
        self._write({"said": text[:MOST_TEXT]})

    def ended(self, how: str, text: str, folder: Path | None) -> None:
        """The last line."""
        path = None if folder is None else str(folder.absolute())
        self._write({"ended": how, "text": text[:MOST_TEXT], "folder": path})

    def _choose(self) -> None:
        """Columns that have come are told from now on, if they are to be drawn."""
        every = list(self._flat.units)
        edge = self._sweep.edge
        texts = [*([edge.metric] if edge is not None else []), *self._sweep.draw]
        texts += [expect.called for expect in self._sweep.plan.expect if not self._sweep.draw]
        chosen = list(self._columns)
        for text in texts:
            with contextlib.suppress(BadInput):  # it may come with another place
                chosen.append(column_of(text, every, "--draw"))
        chosen = list(dict.fromkeys(chosen)) or every[:1]
        if chosen != self._columns:
            self._columns = chosen
            self._write({"columns": [[name, self._flat.units[name]] for name in chosen]})

    def _values(self, at: int) -> list[Any]:
        return list(axis_values(self._sweep.axes, self._sweep.places[at]).values())

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
            self._file.flush()
        except OSError:
            self._file = None


def _head(sweep: Sweep) -> dict[str, Any]:
    edge = sweep.edge
    return {
        "tailback": FORMAT,
        "process": os.getpid(),
        "started": places.now(),
        "plan": sweep.plan.name,
        "title": sweep.plan.title,
        "axes": [told_of(axis) | _extent(sweep, at) for at, axis in enumerate(sweep.axes)],
        "design": sweep.design,
        "seeds": len(sweep.seeds),
        "places": sweep.budget if sweep.search is not None else len(sweep.places),
        "edge": None if edge is None else [edge.metric, edge.value],
    }


def _extent(sweep: Sweep, at: int) -> dict[str, Any]:
    """What a map has room for from the beginning: all values of an axis in order, or its ends."""
    axis = sweep.axes[at]
    if sweep.design == "grid":
        found = {place[at].number: place[at] for place in sweep.places}
        every = [found[number] for number in sorted(found)]
    elif axis.spacing == LIST:
        every = axis.values()
    else:
        ends = [axis_values([axis], (axis.at(share),))[axis.label] for share in (0, 1)]
        return {"values": [], "ends": ends}
    return {"values": [axis_values([axis], (one,))[axis.label] for one in every], "ends": None}


Finish = Callable[[Path], None]


@contextlib.contextmanager
def watched(sweep: Sweep) -> Iterator[tuple[Onlooker, Finish]]:
    """Somebody who tells consoles of a sweep, and what is to be told the folder in the end.

    Nobody is told where there is no private folder, or no room in it.
    """
    under_way()  # what dead sweeps left goes
    if (file := _opened()) is None:
        yield NOBODY, lambda path: None
        return
    kept: list[Path] = []
    try:
        journal = Journal(file, sweep)
        try:
            yield journal, kept.append
        except BaseException as error:
            said = isinstance(error, TailbackError)
            how = FAILED if isinstance(error, Exception) else STOPPED
            journal.ended(how, str(error) if said else type(error).__name__, None)
            raise
        journal.ended(DONE if kept else STOPPED, "", kept[-1] if kept else None)
    finally:
        Path(file.name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # what is left to be written of a full disk
            file.close()


def _opened() -> IO[str] | None:
    if (folder := places.folder()) is None:
        return None
    try:
        return (folder / f"{secrets.token_hex(8)}{SUFFIX}").open("x", encoding="utf-8")
    except OSError:
        return None
