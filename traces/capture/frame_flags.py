"""What pcapng states of single frames: direction, FCS, errors of the link, losses before them."""

from __future__ import annotations

import numpy as np

from traces.capture.capture_interface import LINK_ERRORS, Interface
from traces.capture.frame_batch import Batch

DIRECTION = 3
FCS_AT, FCS_MASK = 5, 0xF
ERRORS_AT = 24


def apply_flags(
    batch: Batch, flags: np.ndarray, interfaces: list[Interface], tallies: np.ndarray
) -> None:
    """Fill in a batch's directions, take the FCS off its frames, and add to its interfaces' counts.

    `flags` int64[frames] are words of epb_flags, 0 where a frame has none; `tallies`
    int64[>= interfaces, TALLIES] those of `scanner.scan_pcapng`.
    """
    batch.direction[:] = flags & DIRECTION
    fcs = (flags >> FCS_AT) & FCS_MASK
    if any(one.fcs_octets for one in interfaces):
        of_interfaces = np.array([one.fcs_octets for one in interfaces])
        fcs = np.where(fcs > 0, fcs, of_interfaces[batch.interface])
    rows = np.flatnonzero(fcs)
    if len(rows):
        batch.original[rows] = np.maximum(batch.original[rows] - fcs[rows], 0)
        batch.captured[rows] = np.minimum(batch.captured[rows], batch.original[rows])
    erroneous = np.flatnonzero(flags >> ERRORS_AT)
    for index in np.unique(batch.interface[erroneous]).tolist():
        mine = flags[erroneous[batch.interface[erroneous] == index]]
        counts = interfaces[index].link_errors
        for bit, name in LINK_ERRORS.items():
            count = int((mine >> bit & 1).sum())
            if count:
                counts[name] = counts.get(name, 0) + count
    for index in np.flatnonzero(tallies[: len(interfaces)].any(axis=1)).tolist():
        lost, untimed, stated = tallies[index].tolist()
        interfaces[index].untimed = untimed
        if stated:
            interfaces[index].dropped_between_frames = lost
