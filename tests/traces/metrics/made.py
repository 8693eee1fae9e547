"""Tables of samples with known numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orchestrator.recording import Column
from traces.metrics.sample_table import Table

MS = 10**9
ENTITY = "thing"


def table_of(boundaries: Sequence[int] = (), times: Any = None, **series: Any) -> Table:
    """One entity's samples, one a millisecond if no times are given."""
    values = np.stack([np.asarray(one, np.int64) for one in series.values()], axis=1)
    columns = [Column("node", ENTITY, quantity, "", "gauge") for quantity in series]
    times = np.arange(len(values)) * MS if times is None else np.asarray(times, np.int64)
    return Table(times, columns, values, boundaries)


def counting(step: int, rows: int) -> np.ndarray:
    """A counter that grows by `step` from each row to the next, from 7 on: runs may follow runs."""
    return 7 + step * np.arange(rows)
