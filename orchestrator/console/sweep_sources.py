"""Sources of a sweep's data: the journal of a running sweep or the folder of a finished one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

from orchestrator.console.sweep_data import (
    LOST,
    RUNNING,
    Axis,
    SweepData,
    SweepPoint,
    new_sweep,
    take_in,
)
from orchestrator.errors import BadInput
from orchestrator.live import session_registry
from orchestrator.terminal.escape_control import plain, plain_tree

RESULT = "sweep.json"
AT_ONCE = 2000
"""Lines of a journal that are taken in between two looks at the keys."""


class SweepSource(Protocol):
    """Fills the data of one sweep."""

    data: SweepData

    def poll(self) -> None:
        """Take in what is new."""

    def close(self) -> None:
        """Let it go."""


class JournalSource:
    """A sweep that goes on here. Raises BadInput where it is over, or tells something else."""

    def __init__(self, path: Path) -> None:
        self._path, self._rest = path, ""
        try:
            self._file = path.open(encoding="utf-8")
            self.data = new_sweep(json.loads(self._file.readline()))
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise BadInput(str(path), f"the sweep ended meanwhile ({error})") from error

    def poll(self) -> None:
        """Take in lines; one that is not whole yet waits for its rest."""
        if self.data.state != RUNNING:
            return
        for _ in range(AT_ONCE):
            self._rest += (some := self._file.readline())
            if not some:
                break
            if self._rest.endswith("\n"):
                line, self._rest = self._rest, ""
                self._take_in(line)
        else:
            return
        if self.data.state == RUNNING and not session_registry.process_exists(self.data.process):
            self.data.state = LOST
            self.data.version += 1

    def _take_in(self, line: str) -> None:
        try:
            take_in(self.data, json.loads(line))
        except (ValueError, LookupError, TypeError) as error:
            self.data.said.append(f"a line of its journal is not readable here: {error}")

    def close(self) -> None:
        """Leave; the sweep goes on."""
        self._file.close()


class SweepFolder:
    """A finished sweep."""

    def __init__(self, folder: Path) -> None:
        self.data = load(folder)

    def poll(self) -> None:
        """Nothing changes."""

    def close(self) -> None:
        """Nothing is held."""


def is_sweep(folder: Path) -> bool:
    """Return whether a folder is that of a sweep."""
    return (folder / RESULT).is_file() and not folder.name.startswith(".")


def load(folder: Path) -> SweepData:
    """Read the folder of a sweep. Raises BadInput."""
    import pyarrow as pa

    try:
        result = plain_tree(json.loads((folder / RESULT).read_text(encoding="utf-8")))
        return _loaded(folder, result)
    except OSError as error:
        raise BadInput(str(folder), f"no sweep can be read there ({error.strerror})") from error
    except (ValueError, LookupError, TypeError, ArithmeticError, pa.ArrowException) as error:
        words = f"is damaged: it is not as tailback wrote it ({type(error).__name__})"
        raise BadInput(str(folder), words) from error


def _loaded(folder: Path, result: dict[str, Any]) -> SweepData:
    edge, draw = result["edge"], list(result["draw"])
    data = SweepData(
        f"{result['plan']}",
        title=str(result["title"]),
        design=str(result["design"]),
        planned=int(result["places"]),
        units={name: str(result["units"][name]) for name in draw},
        edge=None if edge is None else float(edge["value"]),
        refused_count=int(result["refused"]["places"]),
        state=session_registry.DONE,
        done=1.0,
        text=f"{result['points']} points of {result['places']} places",
        folder=str(folder),
    )
    _read_points(data, folder, [axis["key"] for axis in result["axes"]], draw)
    _read_verdicts(data, folder)
    data.axes = [_axis(data, at, axis) for at, axis in enumerate(result["axes"])]
    for number, one in enumerate(result["refused"]["such_as"]):
        why = "; ".join(one["reason"].split("\n")).strip()
        data.said.append(f"{', '.join(f'{k} = {v}' for k, v in one['values'].items())}: {why}")
        if number == 2:
            break
    return data


def _read_points(data: SweepData, folder: Path, keys: list[str], draw: list[str]) -> None:
    import pyarrow.parquet as pq

    from orchestrator.batch.parquet_dataset import HALF, PARAMETER_POINTS

    columns = [*keys, "place", *(name + end for name in draw for end in ("", HALF))]
    for row in pq.read_table(folder / PARAMETER_POINTS, columns=columns).to_pylist():
        values = tuple(plain(v) if isinstance(v := row[key], str) else float(v) for key in keys)
        known = {n: (row[n], row[n + HALF]) for n in draw if row[n] is not None}
        data.places[row["place"]] = SweepPoint(values, known=known)


def _read_verdicts(data: SweepData, folder: Path) -> None:
    import pyarrow.parquet as pq

    from orchestrator.batch.parquet_dataset import POINTS

    for row in pq.read_table(folder / POINTS, columns=["place", "seed", "verdict"]).to_pylist():
        data.places[row["place"]].seeds[row["seed"]] = (plain(row["verdict"]), [])


def _axis(data: SweepData, at: int, axis: dict[str, Any]) -> Axis:
    """An axis as the places have it: the values of a list or of a grid, else the ends."""
    every = list(dict.fromkeys(place.values[at] for place in data.places.values()))
    if axis["words"]:
        return Axis.of(axis | {"values": every, "ends": None})
    numbers = sorted(float(value) for value in every)
    if data.is_grid or axis["spacing"] == "list":
        return Axis.of(axis | {"values": numbers, "ends": None})
    return Axis.of(axis | {"values": [], "ends": [numbers[0], numbers[-1]] if numbers else None})
