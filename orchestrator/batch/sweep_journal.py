"""Journal of a running sweep: a growing file of JSON lines that a console shows.

It lies in the private folder of running sessions (see `live.sweeps`), and is removed when the sweep
ends; a reader that has it open still reads its last line. Each line is JSON:

    {"tailback": 1, "process": ..., "plan": ..., "axes": [...], ...}    the first: the sweep
    {"columns": [[name, unit], ...]}                                    columns of points, so far
    {"at": place, "of": values, "seed": ..., "verdict": ..., "n": [...]}    a point
    {"at": place, "of": values, "why": ...}                             a refused parameter point
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

from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.metric_columns import ColumnTable, column_of
from orchestrator.batch.parameter_axis import LIST
from orchestrator.batch.parquet_dataset import axis_description, axis_values
from orchestrator.batch.result_store import Row
from orchestrator.batch.sweep_design import Sweep
from orchestrator.batch.sweep_listener import NO_LISTENER, SweepListener
from orchestrator.errors import BadInput, TailbackError
from orchestrator.live import session_registry
from orchestrator.live.session_registry import DONE, FAILED, STOPPED, SUFFIX, running_sweeps
from orchestrator.progress import Progress
from orchestrator.run.run_result import judge

FORMAT = 1
EVERY_S = 0.2
"""Least interval between two reports of progress, except the last."""
MOST_TEXT = 2000
"""Most characters of a reason."""


class SweepJournal(SweepListener):
    """Writer of a sweep's journal, made by `journaled`."""

    def __init__(self, file: IO[str], sweep: Sweep) -> None:
        self._file: IO[str] | None = file
        self._sweep = sweep
        self._flat = ColumnTable(sweep.wanted)
        self._columns: list[str] = []
        self._looked = 0
        """Number of columns at the last selection."""
        self._places: dict[bytes, list[int]] = {}
        """Digest of an experiment -> its parameter points: several where a parameter has no
        effect."""
        self._told = 0.0
        self._write(_head(sweep))

    def begin_parameter_point(self, at: int, subject: Experiment) -> None:
        """Note the parameter point of an experiment."""
        mine = self._places.setdefault(bytes.fromhex(subject.digest), [])
        if at not in mine:
            mine.append(at)

    def refused(self, at: int, why: str) -> None:
        """Write a refused parameter point."""
        self._write({"at": at, "of": self._values(at), "why": why[:MOST_TEXT]})

    def point(self, point: Point, row: Row) -> None:
        """Write the numbers of a point, for every parameter point of its experiment."""
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
        """Write the progress."""
        now = time.monotonic()
        if progress.done < 1 and now - self._told < EVERY_S:
            return
        self._told = now
        self._write({"stage": progress.stage, "done": progress.done, "text": progress.detail})

    def message(self, text: str) -> None:
        """Write a message of the workers."""
        self._write({"said": text[:MOST_TEXT]})

    def ended(self, how: str, text: str, folder: Path | None) -> None:
        """Write the last line."""
        path = None if folder is None else str(folder.absolute())
        self._write({"ended": how, "text": text[:MOST_TEXT], "folder": path})

    def _choose(self) -> None:
        """Select new columns for the journal, if they are to be drawn."""
        every = list(self._flat.units)
        edge = self._sweep.edge
        texts = [*([edge.metric] if edge is not None else []), *self._sweep.draw]
        texts += [expect.called for expect in self._sweep.plan.expect if not self._sweep.draw]
        chosen = list(self._columns)
        for text in texts:
            with contextlib.suppress(BadInput):  # a later point may have the column
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
        "started": session_registry.now(),
        "plan": sweep.plan.name,
        "title": sweep.plan.title,
        "axes": [axis_description(axis) | _extent(sweep, at) for at, axis in enumerate(sweep.axes)],
        "design": sweep.design,
        "seeds": len(sweep.seeds),
        "places": sweep.budget if sweep.search is not None else len(sweep.places),
        "edge": None if edge is None else [edge.metric, edge.value],
    }


def _extent(sweep: Sweep, at: int) -> dict[str, Any]:
    """Extent of an axis, known at the beginning: all its values in order, or its ends."""
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
def journaled(sweep: Sweep) -> Iterator[tuple[SweepListener, Finish]]:
    """Listener that writes the journal of a sweep, and a function to report the final folder.

    Without a private folder, or room in it, the listener does nothing.
    """
    running_sweeps()  # removes the journals of dead sweeps
    if (file := _opened()) is None:
        yield NO_LISTENER, lambda path: None
        return
    kept: list[Path] = []
    try:
        journal = SweepJournal(file, sweep)
        try:
            yield journal, kept.append
        except BaseException as error:
            said = isinstance(error, TailbackError)
            how = FAILED if isinstance(error, Exception) else STOPPED
            journal.ended(how, str(error) if said else type(error).__name__, None)
            raise
        journal.ended(DONE if kept else STOPPED, "", kept[-1] if kept else None)
    finally:
        with contextlib.suppress(OSError):  # the disk may be full or read-only by now
            Path(file.name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            file.close()


def _opened() -> IO[str] | None:
    if (folder := session_registry.sessions_folder()) is None:
        return None
    try:
        return (folder / f"{secrets.token_hex(8)}{SUFFIX}").open("x", encoding="utf-8")
    except OSError:
        return None
