"""Sample rows: one for each instant.

A mark that lies on the sampling grid gives two rows of one time: what was there when the grid's
turn came, and what was there after all that the instant brought. The later one stays.
"""

from __future__ import annotations

import numpy as np


def one_row_each(
    times: np.ndarray, values: np.ndarray, *, in_place: bool
) -> tuple[np.ndarray, np.ndarray]:
    """`times` int64[n] and `values` int64[n, m] without the rows that another one of their time
    follows.

    `in_place`: `values` may be written to, and what is given lies in it. Of hundreds of megabytes
    a second copy is then not made; where rows do not lie one behind the other it is made all the
    same.
    """
    keep = np.ones(len(times), bool)
    keep[:-1] = times[1:] != times[:-1]
    rows = np.flatnonzero(keep)
    if not (in_place and values.flags.c_contiguous and values.flags.writeable):
        return times[rows], values.take(rows, axis=0)
    _close_gaps(values, rows)
    return times[rows], values[: len(rows)]


def _close_gaps(values: np.ndarray, rows: np.ndarray) -> None:
    """Move the rows of these numbers, which grow, to the front: whole stretches at a time.

    They are moved as one dimension: numpy would copy overlapping tables, but not lists.
    """
    flat, width = values.reshape(-1), values.shape[1]
    to = 0
    for stretch in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
        length = len(stretch) * width
        if length and int(stretch[0]) * width != to:
            begin = int(stretch[0]) * width
            flat[to : to + length] = flat[begin : begin + length]
        to += length
