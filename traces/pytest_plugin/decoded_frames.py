"""Captured frames, decoded, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator.engine.frames import captured_tables
from orchestrator.engine.frames.captured_codec import decode_captured
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import CNM, DATA, PAUSE, PFC


@compiled
def _decode_all(tables, octets, lengths, frames):
    """Decode every row; one that no codec knows stays blank."""
    for row in range(lengths.size):
        decode_captured(tables, octets[row], lengths[row], frames[row])


@dataclass(frozen=True)
class Frames:
    """Frames that a port saw, in time order.

    `times_ps` int64[n]: when the last bit (and the link's overhead) was on the wire behind the
    sender's delay line, in ps of the run; `outgoing` bool[n]; `lengths` int64[n], octets without
    FCS; `fields` FRAME[n] (orchestrator.engine.records); `octets` uint8[n, snap]: their first ones.
    `seen["feedback"]` is a field of all, int64[n].
    """

    times_ps: np.ndarray
    outgoing: np.ndarray
    lengths: np.ndarray
    fields: np.ndarray
    octets: np.ndarray

    @classmethod
    def of(
        cls, times_ps: np.ndarray, outgoing: np.ndarray, lengths: np.ndarray, octets: np.ndarray
    ) -> Frames:
        """Decode them; `octets` uint8[n, snap] are their first ones."""
        fields = empty_descriptors(len(lengths))
        rows = np.ascontiguousarray(octets)
        _decode_all(captured_tables(), rows, np.asarray(lengths, np.int64), fields)
        times, out = np.asarray(times_ps), np.asarray(outgoing, bool)
        return cls(times, out, np.asarray(lengths), fields, rows)

    def __len__(self) -> int:
        return len(self.times_ps)

    def __getitem__(self, field: str) -> np.ndarray:
        return np.asarray(self.fields[field])

    def where(self, chosen: np.ndarray) -> Frames:
        """The frames for which `chosen` (bool[n]) is true."""
        rows = (self.times_ps, self.outgoing, self.lengths, self.fields, self.octets)
        return Frames(*(row[chosen] for row in rows))

    @property
    def sent(self) -> Frames:
        """The frames that left the port."""
        return self.where(self.outgoing)

    @property
    def received(self) -> Frames:
        """The frames that came in."""
        return self.where(~self.outgoing)

    @property
    def data(self) -> Frames:
        """Data frames."""
        return self.where(self["kind"] == DATA)

    @property
    def messages(self) -> Frames:
        """Congestion notification messages: fields feedback, offset, delta, sequence."""
        return self.where(self["kind"] == CNM)

    @property
    def pauses(self) -> Frames:
        """PAUSE and PFC; the quanta of PAUSE are in `feedback`."""
        return self.where((self["kind"] == PAUSE) | (self["kind"] == PFC))
