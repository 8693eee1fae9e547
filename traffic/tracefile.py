"""Reads a capture into a table of arrivals, for sources that replay it."""

from __future__ import annotations

import numpy as np

from orchestrator.errors import BadInput

KEY = (
    "source",
    "destination",
    "from_high",
    "from_low",
    "to_high",
    "to_low",
    "source_port",
    "destination_port",
    "qp",
)
"""Fields that tell flows apart."""
PS_PER_NS = 1000
MOST_PS = 10**17
"""A capture may last that long: 100 000 s, more than a day."""


def rows(path: str) -> np.ndarray:
    """int64[frames, 4]: ps since the first frame, octets, flow, direction; see `Trace`."""
    from traces.capture import NO_TIME, open_capture
    from traces.dissect import Kind, dissect

    control = [int(kind) for kind in (Kind.CNM, Kind.PAUSE, Kind.PFC, Kind.LLDP, Kind.CNP)]
    numbers: dict[bytes, int] = {}
    parts = [np.zeros((0, 4), np.int64)]
    with open_capture(path) as stream:
        for batch in stream.batches():
            headers = dissect(batch, stream.interfaces)
            keep = (batch.time_ns != NO_TIME) & ~np.isin(headers["kind"], control)
            keys = np.stack([headers[name][keep].astype(np.int64) for name in KEY], axis=1)
            found, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            flows = np.zeros(len(found), np.int64)
            for index in np.argsort(first):
                key = found[index].tobytes()
                flows[index] = numbers.setdefault(key, len(numbers))
            part = np.empty((len(keys), 4), np.int64)
            part[:, 0] = batch.time_ns[keep]
            part[:, 1] = batch.original[keep]
            part[:, 2] = flows[member.reshape(-1)] if len(keys) else 0
            part[:, 3] = batch.direction[keep]
            parts.append(part)
    table = np.concatenate(parts)
    if not len(table):
        raise BadInput(path, "holds no frame that a source could repeat")
    table[:, 0] -= table[:, 0].min()
    longest = int(table[:, 0].max())
    if longest > MOST_PS // PS_PER_NS:
        raise BadInput(
            path,
            f"lasts {longest // 10**9} s: a source repeats one of {MOST_PS // 10**12} s at most",
        )
    table[:, 0] *= PS_PER_NS
    return np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")])
