"""Arrow tables of an analysis: times in ns since 1970, all rows."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pyarrow as pa

from traces.analysis.analyze import Findings
from traces.analysis.flow_labels import mac_text, point_names
from traces.analysis.pause_cascade import DIRECTIONS
from traces.analysis.pause_spells import PLAIN


def flows(found: Findings) -> pa.Table:
    """One row per flow and interface. `row` is what `rates` refers to."""
    rows = [
        {"interface": interface.name} | asdict(flow)
        for interface in found.analysis.interfaces
        for flow in (*interface.flows, *interface.conversations)
    ]
    return (
        pa.Table.from_pylist(rows) if rows else pa.table({"interface": pa.array([], pa.string())})
    )


def rates(found: Findings) -> pa.Table:
    """Octets and CE-marked frames per flow and bin of time; bins without frames are left out.

    Columns: row, time_ns (beginning of the bin), octets, ce. The metadata say how wide bins are.
    """
    series = found.collected.flows.series
    starts, values = series.used()
    octets, marks = values
    row, column = np.nonzero(octets)
    return pa.table(
        {
            "row": row.astype(np.int64),
            "time_ns": starts[column],
            "octets": octets[row, column],
            "ce": marks[row, column],
        }
    ).replace_schema_metadata({"bin_ns": str(series.width_ns)})


def messages(found: Findings) -> pa.Table:
    """One row per CNM, the first million of them."""
    kept = found.collected.messages.stored_messages()
    points = found.collected.messages.points
    names = point_names(found.collected)
    which = kept["congestion_point"]
    labels = np.array([names[one.point] if one.point >= 0 else "" for one in points] or [""])
    cpids = np.array([f"{one.cpid % 2**64:016x}" for one in points] or [""])
    targets = [mac_text(address) for address in kept["reaction_point"].tolist()]
    columns = {
        "interface": pa.array(labels[which]).dictionary_encode(),
        "cpid": pa.array(cpids[which]).dictionary_encode(),
        "reaction_point": pa.array(targets, pa.string()).dictionary_encode(),
    }
    for name in kept.dtype.names or ():
        if name not in ("congestion_point", "reaction_point"):
            columns[name] = pa.array(np.ascontiguousarray(kept[name]))
    return pa.table(columns)


def pauses(found: Findings) -> pa.Table:
    """One row per spell of PAUSE or PFC; `priority` is absent for PAUSE, which stops all.

    `cause` is the row of the spell that it is put down to.
    """
    spells, links = found.spells, found.collected.pausing.links
    names = point_names(found.collected)
    cause = {step.effect: step.cause for step in found.analysis.cascades}
    which = [links[index] for index in spells["link"].tolist()]
    priorities = [None if one == PLAIN else one for one in spells["priority"].tolist()]
    return pa.table(
        {
            "interface": pa.array([names[link.point] for link in which], pa.string()),
            "source": pa.array([mac_text(link.source) for link in which], pa.string()),
            "direction": pa.array([DIRECTIONS[link.direction] for link in which], pa.string()),
            "priority": pa.array(priorities, pa.int64()),
            "begin_ns": np.ascontiguousarray(spells["begin_ns"]),
            "end_ns": np.ascontiguousarray(spells["end_ns"]),
            "frames": np.ascontiguousarray(spells["frames"]),
            "cause": pa.array([cause.get(row) for row in range(len(spells))], pa.int64()),
        }
    )


def probes(found: Findings) -> pa.Table:
    """One row per probe or echo of FECN, the first million of them; `way` is forward or back."""
    kept, probed = found.collected.probes.stored_probes(), found.collected.probes.probed
    names = point_names(found.collected)
    which = kept["probed"]
    texts = {
        "interface": [names[one.point] for one in probed],
        "source": [mac_text(one.source) for one in probed],
        "destination": [mac_text(one.destination) for one in probed],
        "way": ["back" if one.echo else "forward" for one in probed],
    }
    columns = {
        name: pa.array(np.array(values or [""])[which], pa.string()).dictionary_encode()
        for name, values in texts.items()
    }
    columns["flow"] = pa.array(np.array([one.flow for one in probed] or [0], np.int64)[which])
    for name in ("time_ns", "rate_bps", "sequence", "created_ps"):
        columns[name] = pa.array(np.ascontiguousarray(kept[name]))
    return pa.table(columns)
