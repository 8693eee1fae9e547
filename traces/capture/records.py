"""The octets of a pcap file in which records are still to be found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Records:
    """What a scan of records in the machine's own octet order takes.

    `octets` uint8[size] up to `end`; `state` int64[5] as `scan` has it; `unit` ns per unit of the
    second word of times; `columns` int64[rows] each: offset, captured, original, time_ns,
    interface, as those of a `Batch`.
    """

    octets: np.ndarray
    end: int
    state: np.ndarray
    unit: int
    columns: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
