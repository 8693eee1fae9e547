"""Reconstructed states of the reference: queues and limiters, sampled as the plan says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.assembly import Assembly


def reconstructed(assembly: Assembly, node: str) -> dict[tuple[str, str], np.ndarray]:
    """(entity, quantity) -> int64[n] of what the node has, at `reconstructed_at`."""
    world = assembly.world
    rows = int(world.clock[0].row)
    return {
        (probe.column.entity, probe.column.quantity): world.rows[:rows, index]
        for index, probe in enumerate(assembly.probes)
        if probe.owner == node
    }


def reconstructed_at(assembly: Assembly) -> np.ndarray:
    """The instants of the samples, int64[n] in ps."""
    return assembly.world.row_times[: int(assembly.world.clock[0].row)]


def write(path: Path, nodes: dict[str, Assembly]) -> None:
    """states.parquet: time_ps, node, entity, quantity, value; a row per sample.

    A node that departs is given up to its departure, as far as its reference was driven.
    """
    parts = []
    for node, assembly in nodes.items():
        times = reconstructed_at(assembly)
        for (entity, quantity), values in reconstructed(assembly, node).items():
            names = {"node": node, "entity": entity, "quantity": quantity}
            columns = {"time_ps": pa.array(times)}
            for name, text in names.items():
                one = pa.DictionaryArray.from_arrays(np.zeros(len(times), np.int32), [text])
                columns[name] = one.cast(pa.string())
            parts.append(pa.table({**columns, "value": pa.array(values.copy())}))
    if parts:
        pq.write_table(pa.concat_tables(parts), path, compression="zstd")
