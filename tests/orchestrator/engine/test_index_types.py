"""Types of the engine: mypy finds a row number of one array where that of another is expected, and
what it knows of records and arrays is what they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orchestrator.engine import index_types, records
from orchestrator.engine.frames.frame_type import FRAME_TYPE, TypeRow
from orchestrator.engine.node.world_arrays import FIELDS, World

ROOT = Path(__file__).resolve().parents[3]
KINDS = {
    name: kind
    for name, kind in {**vars(records), "TypeRow": TypeRow}.items()
    if isinstance(kind, type) and issubclass(kind, records.Record) and kind is not records.Record
}
PROGRAM = """
from orchestrator.engine.index_types import PortIndex, QueueIndex, range
from orchestrator.engine.node.event_sync import wake_port
from orchestrator.engine.node.world_arrays import World


def right(w: World, port_index: PortIndex, queue_index: QueueIndex) -> None:
    wake_port(w, port_index + 1, 0)
    wake_port(w, w.queues[queue_index].port, 0)
    for each in range(w.ports.size):
        wake_port(w, each, w.ports[each].free_at)


def wrong(w: World, port_index: PortIndex, queue_index: QueueIndex) -> None:
    wake_port(w, queue_index, 0)
    wake_port(w, 3, 0)
    print(w.ports[queue_index].free_at)
    w.queues[queue_index].port = queue_index
    w.ports[port_index].bytes_outt = 1
    for each in range(w.queues.size):
        wake_port(w, each, 0)
    wake_port(w, port_index - port_index, 0)
"""
WRONG_NUMBER = (
    'Argument 2 to "wake_port" has incompatible type "{}"; expected "PortIndex"  [arg-type]'
)
WRONG = [
    (0, WRONG_NUMBER.format("QueueIndex")),
    (1, WRONG_NUMBER.format("int")),
    (2, '"OtherArray" has no attribute "free_at"  [attr-defined]'),
    (
        3,
        'Incompatible types in assignment (expression has type "QueueIndex", variable has type '
        '"PortIndex")  [assignment]',
    ),
    (4, '"Port" has no attribute "bytes_outt"; maybe "bytes_out"?  [attr-defined]'),
    (6, WRONG_NUMBER.format("QueueIndex")),
    (7, WRONG_NUMBER.format("int")),
]
"""Line of `wrong` and what mypy says of it."""


@pytest.mark.slow  # mypy reads the stubs of NumPy and the engine anew
def test_mypy_finds_a_row_number_of_another_array(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--cache-dir", str(tmp_path / "cache"), "--no-error-summary", str(program)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    found = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = [line.split(":", 3) for line in found.stdout.splitlines() if ": error: " in line]
    first = PROGRAM[: PROGRAM.index("def wrong")].count("\n") + 2
    assert [(int(line) - first, text.strip()) for _, line, _, text in lines] == WRONG, found.stderr


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_mypy_knows_the_records_of_an_array(name: str) -> None:
    dtype, dimensions = FIELDS[name]
    annotation = World.__annotations__[name]
    element = annotation.removesuffix("]").rpartition(", ")[2]
    if dtype.names is None:
        assert element in ("np.ndarray", "int", "Any") or element.endswith("Index")
        return
    assert dimensions == 1
    assert tuple(KINDS[element].__annotations__) == dtype.names


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_record_has_the_fields_that_mypy_knows(name: str) -> None:
    dtype = FRAME_TYPE if name == "TypeRow" else getattr(records, name.upper())
    assert tuple(KINDS[name].__annotations__) == dtype.names
    for field, kind in KINDS[name].__annotations__.items():
        assert (dtype[field].subdtype is not None) == (kind == "np.ndarray"), field
        assert kind in ("int", "Any", "np.ndarray") or hasattr(index_types, kind), field


def test_compiled_functions_see_the_builtin_range_and_int64_of_numpy() -> None:
    assert index_types.range is range
    assert index_types.int64 is np.int64
