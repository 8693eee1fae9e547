"""Frame iterator over a capture, for scripts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from traces.capture.capture_interface import Interface
from traces.capture.capture_stream import open_capture
from traces.capture.frame_batch import NO_TIME


@dataclass(frozen=True)
class Frame:
    """A captured frame."""

    number: int
    """Its place in the file, from 0."""
    time_ns: int | None
    """Since 1970; None when the file does not say."""
    octets: bytes
    """Captured octets of the frame."""
    length: int
    """Its octets on the wire."""
    interface: Interface
    direction: int
    """0 unknown, 1 in, 2 out."""


def frames(path: str | os.PathLike[str]) -> Iterator[Frame]:
    """All frames up to the end or the first damage.

    Raises BadInput when the file cannot be opened or is no capture. Use `open_capture` to learn
    whether there was damage.
    """
    with open_capture(path) as capture:
        for batch in capture.batches():
            for row in range(len(batch)):
                time_ns = int(batch.time_ns[row])
                yield Frame(
                    number=batch.number + row,
                    time_ns=None if time_ns == NO_TIME else time_ns,
                    octets=batch.frame(row),
                    length=int(batch.original[row]),
                    interface=capture.interfaces[int(batch.interface[row])],
                    direction=int(batch.direction[row]),
                )
