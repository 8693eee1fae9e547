"""Reader of small pcapng files as one table: every frame a row.

Stricter than `traces.capture`, which this stands on: damage is an error here.
"""

from __future__ import annotations

import os

import numpy as np

from orchestrator.errors import BadInput
from traces.capture import Batch, open_capture
from traces.pcapng.capture import Capture, joined


def read(path: str | os.PathLike[str]) -> Capture:
    """Read a whole pcapng file. Raises BadInput with the offset of what is damaged."""
    with open_capture(path) as stream:
        if stream.format != "pcapng":
            raise BadInput(stream.path, f"offset 0: not a pcapng file but a {stream.format} file")
        parts = [_part(batch) for batch in stream.batches()]
        if stream.damage is not None:
            raise BadInput(stream.path, str(stream.damage))
        for part in parts:
            part.interfaces = stream.interfaces
        return joined(stream.interfaces, parts)


def _part(batch: Batch) -> Capture:
    """The frames of a batch as a table of their own."""
    columns = np.arange(int(batch.captured.max(initial=0)))
    there = columns < batch.captured[:, None]
    places = np.where(there, batch.offset[:, None] + columns, 0)
    return Capture(
        interfaces=[],
        interface=batch.interface.copy(),
        times_ns=batch.time_ns.copy(),
        lengths=batch.original.copy(),
        kept=batch.captured.copy(),
        octets=np.where(there, batch.octets[places], np.uint8(0)),
        direction=batch.direction.copy(),
    )
