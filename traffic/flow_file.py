"""Reader of flow files: tables of (source, destination, size, start, priority), CSV or Parquet.

One row is one message. The columns stand in the header, in any order:

    source, destination   names of nodes
    size                  with a unit as in plans ("64KB"); or size_B, size_KB, size_MB: a number
    start                 with a unit ("20us"); or start_ps, _ns, _us, _ms, _s: a decimal number
    priority              0 to 7; optional
    entry                 name of a traffic entry; optional

`start` counts from the begin of the run. Nothing is rounded: a number that is no whole number of
octets or ps is refused. Files are read in batches, so that a file may be longer than the memory; of
its rows seven int64 each are kept.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tailback.plugin import (
    BadInput,
    Problem,
    UnitError,
    cached_per_file,
    parse_duration,
    parse_size,
)

BATCH = 65_536
"""Rows that are read at once."""
MOST_ROWS = 50_000_000
"""Of a file: 3 GB of numbers."""
MOST_SIZE = 10**12
"""Octets of a message."""
MOST_START = 3600 * 10**12
"""ps: the longest run."""
MAGIC = b"PAR1"
"""First octets of a Parquet file."""
SIZE_DIGITS = {"size_B": 0, "size_KB": 3, "size_MB": 6}
START_DIGITS = {"start_ps": 0, "start_ns": 3, "start_us": 6, "start_ms": 9, "start_s": 12}
"""Column with its unit in its name -> decimal digits from that unit to octets or ps."""
SOURCE, DESTINATION, SIZE, START, PRIORITY, ENTRY = range(6)
COLUMNS = 6
NOT_GIVEN = -1
"""Priority or entry of a row whose file has no such column."""
ROLES: Mapping[str, int] = {
    "source": SOURCE,
    "destination": DESTINATION,
    "size": SIZE,
    **dict.fromkeys(SIZE_DIGITS, SIZE),
    "start": START,
    **dict.fromkeys(START_DIGITS, START),
    "priority": PRIORITY,
    "entry": ENTRY,
}
ACCEPTED = {
    SOURCE: "the name of a node is expected",
    DESTINATION: "the name of a node is expected",
    SIZE: "a size from 1B to 1TB is expected",
    START: "a time from 0s to 3600s is expected",
    PRIORITY: "a priority from 0 to 7 is expected",
    ENTRY: "the name of a traffic entry is expected",
}
BOUNDS = {SIZE: (1, MOST_SIZE), START: (0, MOST_START), PRIORITY: (0, 7)}


@dataclass(frozen=True)
class FlowFile:
    """Rows of a flow file, in its order."""

    rows: np.ndarray
    """int64[rows, COLUMNS]: source, destination and entry as indices of `names`, octets, ps, and
    priority; NOT_GIVEN where the file has no such column."""
    names: tuple[str, ...]
    numbering: str
    """Word for the number of a row in messages: line of a CSV file, row of a Parquet file."""
    numbers: np.ndarray
    """int64[rows]: that number."""


@cached_per_file
def read_flow_file(path: str) -> FlowFile:
    """The rows of a file. Raises BadInput with the first row that cannot be used."""
    try:
        with open(path, "rb") as file:
            parquet = file.read(len(MAGIC)) == MAGIC
        reader = _ParquetReader(path) if parquet else _CsvReader(path)
        return _read(path, reader)
    except OSError as error:
        raise BadInput(path, f"cannot be read: {error.strerror or error}") from None


def row_problem(path: str, flows: FlowFile, row: int, value: object, accepted: str) -> BadInput:
    """An error about one row of a file that was read."""
    return _refused(path, flows.numbering, int(flows.numbers[row]), "row", value, accepted)


def _refused(
    path: str, numbering: str, number: int, column: str, value: object, accepted: str
) -> BadInput:
    place = f"{path}:{number}" if numbering == "line" else f"{path}, {numbering} {number}"
    return BadInput(path, [Problem(column, _short(value), accepted, at=place)])


def _short(value: object) -> object:
    """A text that does not fill the screen."""
    return value[:57] + "..." if isinstance(value, str) and len(value) > 60 else value


def _read(path: str, reader: _CsvReader | _ParquetReader) -> FlowFile:
    roles = _roles(path, reader)
    names: dict[str, int] = {}
    parts, numbers, total = [], [], 0
    for columns, counted in reader.batches():
        total += len(counted)
        if total > MOST_ROWS:
            raise BadInput(path, f"has more than {MOST_ROWS} rows; split it into several files")
        part = np.full((len(counted), COLUMNS), NOT_GIVEN, np.int64)
        for name, role in roles.items():
            texts = columns[name]
            place = (path, reader.numbering, counted, name)
            if role in BOUNDS:
                part[:, role] = _numbers(name, role, texts, place)
            else:
                part[:, role] = _indices(role, texts, names, place)
        parts.append(part)
        numbers.append(np.asarray(counted, np.int64))
    if not total:
        raise BadInput(path, "holds no flow; a header and one row per flow are expected")
    return FlowFile(np.concatenate(parts), tuple(names), reader.numbering, np.concatenate(numbers))


def _roles(path: str, reader: _CsvReader | _ParquetReader) -> dict[str, int]:
    """Column -> what it is. Raises BadInput for a header that names too little or too much."""
    header = reader.header
    problems = []
    place = f"{path}:1" if reader.numbering == "line" else path
    for name in header:
        if name not in ROLES:
            accepted = f"{', '.join(ROLES)} are the columns of a flow file"
            problems.append(Problem("column", _short(name), accepted, at=place))
    roles = {name: ROLES[name] for name in header if name in ROLES}
    for role, expected in (
        (SOURCE, "source"),
        (DESTINATION, "destination"),
        (SIZE, "one of size, size_B, size_KB, size_MB"),
        (START, "one of start, start_ps, start_ns, start_us, start_ms, start_s"),
        (PRIORITY, ""),
        (ENTRY, ""),
    ):
        given = [name for name in header if roles.get(name) == role]
        if len(given) > 1 or (not given and expected):
            found = " and ".join(given) or "none"
            accepted = f"{expected or f'at most one {given[0]}'} is expected in the header"
            problems.append(Problem("column", found, accepted, at=place))
    if problems:
        raise BadInput(path, problems)
    return roles


class _CsvReader:
    """Rows of a CSV file (RFC 4180), with the line that each one ends on."""

    numbering = "line"

    def __init__(self, path: str) -> None:
        self.path = path
        self.header = [name.strip() for name in next(self._rows(), ([], 0))[0]]

    def _rows(self) -> Iterator[tuple[list[str], int]]:
        with open(self.path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            try:
                for row in reader:
                    if row:
                        yield row, reader.line_num
            except (csv.Error, UnicodeDecodeError) as error:
                text = f"is not CSV at line {reader.line_num + 1}: {error}"
                raise BadInput(self.path, text) from None

    def batches(self) -> Iterator[tuple[dict[str, Sequence[Any]], list[int]]]:
        """Column -> texts of some rows, and their lines."""
        rows = self._rows()
        next(rows, None)
        width = len(self.header)
        kept: list[list[str]] = []
        lines: list[int] = []
        for row, line in rows:
            if len(row) != width:
                accepted = f"{width} columns as in the header are expected"
                text = f"{len(row)} columns"
                raise _refused(self.path, self.numbering, line, "row", text, accepted)
            kept.append(row)
            lines.append(line)
            if len(kept) == BATCH:
                yield dict(zip(self.header, zip(*kept, strict=True), strict=True)), lines
                kept, lines = [], []
        if kept:
            yield dict(zip(self.header, zip(*kept, strict=True), strict=True)), lines


class _ParquetReader:
    """Rows of a Parquet file, numbered from 1."""

    numbering = "row"

    def __init__(self, path: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path, self._errors = path, (pa.ArrowException, ValueError)
        try:
            self._file = pq.ParquetFile(path)
            self.header = list(self._file.schema_arrow.names)
        except self._errors as error:
            raise BadInput(path, f"is not a Parquet file: {error}") from None
        if len(set(self.header)) < len(self.header):
            raise BadInput(path, "has two columns of one name")

    def batches(self) -> Iterator[tuple[dict[str, Sequence[Any]], list[int]]]:
        """Column -> values of some rows, and their numbers."""
        first = 1
        try:
            for batch in self._file.iter_batches(batch_size=BATCH):
                columns = dict(zip(self.header, map(_texts, batch.columns), strict=True))
                yield columns, list(range(first, first + batch.num_rows))
                first += batch.num_rows
        except self._errors as error:
            raise BadInput(self.path, f"is not a Parquet file: {error}") from None


def _texts(column: Any) -> list[str]:
    """Values of a Parquet column as a CSV file would have them; a float by its decimals."""
    return ["" if value is None else str(value) for value in column.to_pylist()]


Place = tuple[str, str, Sequence[int], str]
"""Path, word for numbers of rows, those numbers, column."""


def _indices(role: int, texts: Sequence[str], names: dict[str, int], place: Place) -> list[int]:
    found = [names.setdefault(text, len(names)) for text in texts]
    if "" in texts:
        path, numbering, numbers, column = place
        number = numbers[list(texts).index("")]
        raise _refused(path, numbering, number, column, "", ACCEPTED[role])
    return found


def _numbers(name: str, role: int, texts: Sequence[str], place: Place) -> np.ndarray:
    """int64[rows] of a column of sizes, times or priorities."""
    least, most = BOUNDS[role]
    digits = SIZE_DIGITS.get(name, START_DIGITS.get(name, 0))
    if name in ("size", "start"):
        parse = parse_size if name == "size" else parse_duration
        return _parse_each(lambda text: parse(text.strip()), role, texts, place)
    found = _scaled(texts, digits)
    if found is None or (found < least).any() or (found > most).any():
        return _parse_each(lambda text: _scaled_number(text, digits), role, texts, place)
    return found


def _scaled(texts: Sequence[str], digits: int) -> np.ndarray | None:
    """Decimal numbers times 10^digits, int64[rows]; None where one is no whole number then."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        exact = pc.cast(pa.array(texts, pa.string()), pa.decimal128(38, digits))
    except pa.ArrowInvalid:
        return None
    words = np.frombuffer(exact.buffers()[1], np.int64).reshape(-1, 2)[: len(texts)]
    low, high = words[:, 0], words[:, 1]
    return low.copy() if (high == low >> 63).all() else None


def _scaled_number(text: str, digits: int) -> int:
    """A decimal number times 10^digits. Raises UnitError where that is no whole number."""
    from decimal import Decimal, InvalidOperation

    try:
        number = Decimal(text.strip())
        scaled = number.scaleb(digits)
    except InvalidOperation:
        raise UnitError("a decimal number is expected") from None
    if not number.is_finite() or scaled.adjusted() > 30 or scaled != scaled.to_integral_value():
        raise UnitError("a decimal number is expected, and nothing is rounded")
    return int(scaled)


def _parse_each(parse: Any, role: int, texts: Sequence[str], place: Place) -> np.ndarray:
    """int64[rows], text by text. Raises BadInput that names the first one that is refused."""
    path, numbering, numbers, column = place
    least, most = BOUNDS[role]
    found = np.empty(len(texts), np.int64)
    for row, text in enumerate(texts):
        accepted = ACCEPTED[role]
        try:
            value = parse(text)
        except UnitError as error:
            raise _refused(path, numbering, numbers[row], column, text, str(error)) from None
        if not least <= value <= most:
            raise _refused(path, numbering, numbers[row], column, text, accepted)
        found[row] = value
    return found
