"""Octets of a pcap file that have not been scanned for records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PcapRecords:
    """Input of a scan for records in the machine's byte order.

    `octets` uint8[size] up to `end`; `state` int64[5] as `scan` has it; `unit` ns per unit of the
    second word of times; `columns` int64[rows] each: offset, captured, original, time_ns,
    interface, as those of a `Batch`.
    """

    octets: np.ndarray
    end: int
    state: np.ndarray
    unit: int
    columns: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
