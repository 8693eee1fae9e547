"""What pcapng states of single frames: direction, FCS, errors of the link, losses before them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np

from traces.capture.capture_interface import ETHERNET, LINK_ERRORS, Interface
from traces.capture.frame_batch import Batch

DIRECTION = 3
FCS_AT, FCS_MASK = 5, 0xF
ERRORS_AT = 24
FCS_OCTETS, LEAST_FRAME = 4, 64
"""Octets of Ethernet's FCS, and of the shortest frame with it (IEEE 802.3, 3.2.9, 4.4.2)."""
MOST_CHECKED = 8
"""Frames of an interface whose last octets are compared with their CRC."""


def end_with_fcs(frames: Iterable[bytes]) -> bool:
    """True if there are complete Ethernet frames, and all of them end with their FCS: their CRC-32,
    least significant octet first. One of 2^32 frames without FCS does by chance."""
    checked = list(frames)
    return bool(checked) and all(
        len(one) >= LEAST_FRAME
        and zlib.crc32(one[:-FCS_OCTETS]).to_bytes(FCS_OCTETS, "little") == one[-FCS_OCTETS:]
        for one in checked
    )


def find_unstated_fcs(
    batch: Batch, flags: np.ndarray, interfaces: list[Interface], checked: set[int]
) -> None:
    """Note the FCS of interfaces whose first frames show it and whose file does not state it.

    `checked` are the interfaces that are known already; those of the batch are added.
    """
    for index in set(np.unique(batch.interface).tolist()) - checked:
        checked.add(index)
        one = interfaces[index]
        if one.linktype != ETHERNET or one.fcs_octets:
            continue
        rows = np.flatnonzero(batch.interface == index)
        rows = rows[batch.captured[rows] == batch.original[rows]][:MOST_CHECKED]
        stated = (flags[rows] >> FCS_AT & FCS_MASK).any()
        if not stated and end_with_fcs(batch.frame(row) for row in rows.tolist()):
            one.fcs_octets, one.fcs_unstated = FCS_OCTETS, True


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
