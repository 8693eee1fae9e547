"""`messages.parquet`: one row per message that a flow carried.

Columns: entry, flow (dictionary-encoded text), size (octets without headers), start_ps, done_ps
(null: not begun, not completed within the run), ideal_ps (what the empty path would have taken);
round and step where a collective has any (null: of none); int64.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.errors import BadInput
from orchestrator.recording import MessageTable
from traces import arrow_arrays

NUMBERS = ("size", "start_ps", "done_ps", "ideal_ps")
OF_COLLECTIVES = ("round", "step")


def write_messages(path: str | os.PathLike[str], table: MessageTable) -> None:
    """Write the messages of a recording."""
    names = {
        "entry": [entry for _, entry in table.flows],
        "flow": [flow for flow, _ in table.flows],
    }
    columns = {
        **{
            name: pa.DictionaryArray.from_arrays(
                arrow_arrays.numbers(table.flow.astype(np.int32)), arrow_arrays.texts(texts)
            )
            for name, texts in names.items()
        },
        "size": arrow_arrays.numbers(table.size),
        "start_ps": _or_null(table.start_ps),
        "done_ps": _or_null(table.done_ps),
        "ideal_ps": arrow_arrays.numbers(table.ideal_ps),
    }
    if table.round is not None and table.step is not None and (table.round >= 0).any():
        columns |= {"round": _or_null(table.round), "step": _or_null(table.step)}
    columns["entry"] = columns["entry"].dictionary_decode().dictionary_encode()
    pq.write_table(pa.table(columns), path, compression="zstd")


def _or_null(numbers: np.ndarray) -> pa.Array:
    return arrow_arrays.numbers(numbers, numbers < 0)


def read_messages(path: str | os.PathLike[str]) -> MessageTable:
    """The messages in a file that `write_messages` wrote. Raises BadInput."""
    name = os.fspath(path)
    try:
        table = arrow_arrays.read_parquet(path)
        kept = [*NUMBERS, *(key for key in OF_COLLECTIVES if key in table.column_names)]
        numbers = {key: arrow_arrays.to_numpy(table[key].fill_null(-1)) for key in kept}
        ends = list(zip(table["flow"].to_pylist(), table["entry"].to_pylist(), strict=True))
        texts = all(isinstance(text, str) for end in ends for text in end)
        if not texts or any(values.dtype != np.int64 for values in numbers.values()):
            raise KeyError("of another type")
    except (*arrow_arrays.READ_ERRORS, KeyError) as error:
        raise BadInput(name, f"cannot be read as messages that tailback wrote ({error})") from error
    known = {end: place for place, end in enumerate(dict.fromkeys(ends))}
    return MessageTable(
        flows=list(known), flow=np.array([known[end] for end in ends], np.int64), **numbers
    )
