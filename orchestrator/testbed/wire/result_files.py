"""Reader of the files in which an agent hands in its results: arrays of numbers, and JSON.

Nothing in them is executed, nothing is unpacked beyond a bound, and whatever is not as an agent
writes it raises RunFailed.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator import bounded_json
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.assembly.timeline_commands import marks
from orchestrator.errors import RunFailed
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.external_nodes import captured

KINDS = (np.dtype(np.int64), np.dtype(np.uint8))
MOST_ARRAYS, MOST_DIMENSIONS = 100_000, 3
MOST_WORDS = 64 * 2**20
"""Octets of the JSON."""
SPARE = 256 * 2**20
"""Octets of histograms, tables of messages and stalls, beside samples and captures."""
PER_FRAME = 64
"""Octets of a captured frame besides those that were kept of it."""
_BROKEN = (OSError, ValueError, KeyError, EOFError, RecursionError, RuntimeError, MemoryError)
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, NotImplementedError, *_BROKEN)


def most_octets(resolved: ResolvedPlan) -> int:
    """Octets that the arrays of a plan's results have at most."""
    plan = resolved.plan
    rows = plan.duration // plan.sample_interval + len(marks(plan)) + 2
    columns = len(probes(resolved, Indices(plan))) + 1
    frames = len(captured(plan)) * plan.capture.frames
    return SPARE + 8 * rows * columns + frames * (plan.capture.snap + PER_FRAME)


def read_numbers(path: Path, most: int) -> dict[str, np.ndarray]:
    """The arrays of a file, int64 or uint8, of at most `most` octets in all. Raises RunFailed."""
    arrays, left = dict[str, np.ndarray](), most
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ARRAYS or len({one.filename for one in entries}) < len(entries):
                raise RunFailed(f"its results have more than {MOST_ARRAYS} arrays, or one twice")
            for entry in entries:
                name = entry.filename.removesuffix(".npy")[:100]
                with archive.open(entry) as file:
                    arrays[name] = _array(name, file, left)
                left -= arrays[name].nbytes
    except _BROKEN_ARCHIVE as error:
        raise RunFailed(f"its results cannot be read ({_reason(error)})") from None
    return arrays


def _array(name: str, file: Any, most: int) -> np.ndarray:
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise RunFailed(f"its results have {name!r} in a format that is not known here")
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, by_columns, kind = read(file, max_header_size=1000)
    if kind not in KINDS:
        raise RunFailed(f"its results have {name} of {str(kind)[:100]}")
    octets = math.prod(shape) * kind.itemsize
    if len(shape) > MOST_DIMENSIONS or not 0 <= octets <= most:
        raise RunFailed(f"its results have {name} of more octets than the plan's may have")
    data = file.read(octets + 1)
    if len(data) != octets:
        raise RunFailed(f"its results have {name} of {len(data)} octets instead of {octets}")
    found: np.ndarray = np.frombuffer(data, kind)
    return found.reshape(shape[::-1]).T.copy() if by_columns else found.reshape(shape).copy()


def read_words(path: Path) -> dict[str, Any]:
    """The table of a JSON file: finite numbers, integers of 64 bits. Raises RunFailed."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_WORDS + 1)
        if len(text) > MOST_WORDS:
            raise RunFailed(f"its results have more than {MOST_WORDS} octets of JSON")
        table = bounded_json.loads(text)
    except _BROKEN as error:
        raise RunFailed(f"its results cannot be read ({_reason(error)})") from None
    if not isinstance(table, dict):
        raise RunFailed("its results have no table of JSON")
    return table


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200]
