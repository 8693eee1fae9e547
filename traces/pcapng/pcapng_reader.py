"""Reader of small pcapng files as one table: every frame a row.

Stricter than `traces.capture`, which this stands on: damage is an error here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.errors import BadInput
from traces.capture import Batch, open_capture
from traces.capture.capture_interface import Interface


@dataclass
class Capture:
    """Frames of a file, in file order.

    `interface` int64[n] indexes `interfaces`; `times_ns` int64[n] since 1970; `lengths` int64[n]
    on the wire; `kept` int64[n] in the file; `octets` uint8[n, max kept], zero-padded;
    `direction` int8[n]: 0 unknown, 1 in, 2 out.
    """

    interfaces: list[Interface]
    interface: np.ndarray
    times_ns: np.ndarray
    lengths: np.ndarray
    kept: np.ndarray
    octets: np.ndarray
    direction: np.ndarray


def joined(interfaces: list[Interface], batches: Sequence[Capture]) -> Capture:
    """Several captures of the same interfaces as one, in that order."""
    if len(batches) == 1:
        return batches[0]
    width = max((batch.octets.shape[1] for batch in batches), default=0)
    none = np.zeros(0, np.int64)
    whole = {
        name: np.concatenate([none, *(getattr(batch, name) for batch in batches)])
        for name in ("interface", "times_ns", "lengths", "kept", "direction")
    }
    octets = [
        np.pad(batch.octets, ((0, 0), (0, width - batch.octets.shape[1]))) for batch in batches
    ]
    return Capture(
        interfaces=interfaces,
        octets=np.concatenate([np.zeros((0, width), np.uint8), *octets]),
        **whole,
    )


def read(path: str | os.PathLike[str]) -> Capture:
    """Read a whole pcapng file. Raises BadInput with the offset of what is damaged."""
    with open_capture(path) as stream:
        if stream.format != "pcapng":
            raise BadInput(stream.path, f"offset 0: not a pcapng file but a {stream.format} file")
        parts = [_batch_table(batch) for batch in stream.batches()]
        if stream.damage is not None:
            raise BadInput(stream.path, str(stream.damage))
        for part in parts:
            part.interfaces = stream.interfaces
        return joined(stream.interfaces, parts)


def _batch_table(batch: Batch) -> Capture:
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
