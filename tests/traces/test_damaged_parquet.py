"""Damaged and foreign Parquet files: each reader of one returns numbers or raises BadInput.

Octets, bits and lengths are drawn, half of them in the footer, whose names and types Arrow
believes; columns are drawn to be missing, doubled, null, or of another type.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.errors import BadInput
from orchestrator.recording import Column
from traces.latency_table import read_latency
from traces.message_table import read_messages
from traces.samples import read_samples, read_some, write_samples
from traffic.flow_file import read_flow_file

DRAWN = 400
LONGEST = 2000
"""Characters of a message."""
TABLES = {
    "latency": {
        "entry": pa.array(["t", "t", "u"]).dictionary_encode(),
        "until_ps": [5, 9, 9],
        "low_ps": [1, 1, 2],
        "high_ps": [2, 2, 3],
        "frames": [1, 4, 2],
    },
    "messages": {
        "entry": pa.array(["t", "t"]).dictionary_encode(),
        "flow": pa.array(["a-b", "b-a"]).dictionary_encode(),
        "size": [1, 2],
        "start_ps": [1, None],
        "done_ps": [3, None],
        "ideal_ps": [4, 5],
    },
    "flows": {
        "source": ["a", "b"],
        "destination": ["b", "a"],
        "size_B": [1000, 2000],
        "start_us": [1.5, 2.0],
    },
}
READERS: dict[str, Callable[[Path], Any]] = {
    "latency": read_latency,
    "messages": read_messages,
    "flows": lambda path: read_flow_file(str(path)),
    "samples": read_samples,
    "some": read_some,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A sound file for each reader."""
    folder = tmp_path_factory.mktemp("sound")
    for name, columns in TABLES.items():
        pq.write_table(pa.table(columns), folder / name, compression="zstd")
    column = Column("switch", "switch.sink", "queue_bytes", "B", "gauge")
    numbers = np.arange(4)
    recorded = SimpleNamespace(times_ps=numbers, columns=[column], values=numbers.reshape(4, 1))
    write_samples(folder / "samples", cast(Any, recorded))
    (folder / "some").write_bytes((folder / "samples").read_bytes())
    return {name: (folder / name).read_bytes() for name in READERS}


def damaged(draw: random.Random, sound: bytes) -> bytes:
    """Some octets or bits of a file changed, or its end missing."""
    octets = bytearray(sound)
    footer = len(octets) - 8 - int.from_bytes(octets[-8:-4], "little")
    first = draw.choice([0, footer])
    way = draw.randrange(3)
    if way == 0:
        del octets[draw.randrange(len(octets)) :]
        return bytes(octets)
    for _ in range(draw.choice([1, 1, 2, 5, 20])):
        at = draw.randrange(first, len(octets))
        octets[at] = draw.randrange(256) if way == 1 else octets[at] ^ 1 << draw.randrange(8)
    return bytes(octets)


def foreign(draw: random.Random, sound: bytes) -> bytes:
    """A file of Arrow's own with one column of another kind."""
    table = pq.read_table(pa.BufferReader(sound))
    rows, at = table.num_rows, draw.randrange(table.num_columns)
    name = table.column_names[at]
    values = [
        *(["x"] * rows, [None] * rows, [None, *[1] * (rows - 1)], [[1]] * rows, [True] * rows),
        *([float("nan")] * rows, [1e308] * rows, [2**63 - 1] * rows, [-(2**63)] * rows),
    ]
    way = draw.randrange(len(values) + 3)
    if way < len(values):
        table = table.set_column(at, name, pa.array(values[way]))
    elif way == len(values):
        table = table.drop_columns([name])
    elif way == len(values) + 1:
        table = table.append_column(name, table.column(at))
    else:
        table = table.slice(0, draw.randrange(rows))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def refusal(read: Callable[[Path], Any], path: Path) -> str | None:
    """Message about a file that is refused."""
    try:
        read(path)
    except BadInput as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    draw = random.Random(name)
    READERS[name](_written(tmp_path / "sound", files[name]))
    refused = 0
    for number in range(DRAWN):
        make = damaged if number % 2 else foreign
        path = _written(tmp_path / f"{number}.parquet", make(draw, files[name]))
        said = refusal(READERS[name], path)
        refused += said is not None
        assert said is None or (str(path) in said and len(said) < LONGEST)
        path.unlink()
    assert refused > DRAWN // 4


def _written(path: Path, octets: bytes) -> Path:
    path.write_bytes(octets)
    return path
