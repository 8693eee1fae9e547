"""Messages from a flow file: each row of a CSV or Parquet table is one message.

`rows` says which rows are this entry's: "all"; "priority", those with the entry's own priority; or
"entry", those whose column `entry` names it. A row of another priority, or whose source and
destination are no pair of the entry, is refused with its line. The rows of a pair take its
connections in turn, in the order of their starts: a pair with as many connections as rows has one
for each. Rows outside of the entry's time, from `start` to `stop`, are left out.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tailback.plugin import (
    Algorithm,
    ApplicationMessages,
    Connections,
    Params,
    Sender,
    cached_per_file,
    from_file,
    messages,
)
from traffic.flow_file import (
    DESTINATION,
    ENTRY,
    NOT_GIVEN,
    PRIORITY,
    SIZE,
    SOURCE,
    START,
    FlowFile,
    read_flow_file,
    row_problem,
)


def load(path: str) -> np.ndarray:
    """int64[rows, columns] of a flow file. Raises BadInput."""
    return read_flow_file(path).rows


class RecordedFlows(Params):
    """Parameters of messages from a file."""

    file: Annotated[str, *from_file(load)] = Field(
        description="a CSV or Parquet file of source, destination, size, start, priority"
    )
    rows: Literal["all", "priority", "entry"] = Field(
        "all", description="rows of this entry: all, of its priority, or that name it"
    )

    def frames_offered(self, sender: Sender) -> int | None:
        """This sender's share of the most frames of the file's rows in any time so long."""
        most = _most_frames(self.file, sender.span, max(sender.frame - sender.headers, 1))
        return -(-most * sender.flows // max(sender.all_flows, 1))


@cached_per_file
def _most_frames(path: str, span: int, segment: int) -> int:
    """The most frames of messages that start within `span` ps, of `segment` octets each."""
    table = load(path)
    table = table[np.argsort(table[:, START], kind="stable")]
    frames = np.append(0, np.cumsum(-(-table[:, SIZE] // segment)))
    last = np.searchsorted(table[:, START], table[:, START] + span, side="left")
    return int((frames[last] - frames[: len(table)]).max())


def schedule(params: RecordedFlows, ends: Connections) -> ApplicationMessages:
    """The schedule of `flows`. Raises BadInput for a row that is none of the entry's."""
    flows = read_flow_file(params.file)
    mine = _rows_of_entry(params, flows, ends)
    pairs: dict[tuple[int, int], list[int]] = {}
    known = {name: index for index, name in enumerate(flows.names)}
    for connection, (source, target) in enumerate(ends.pairs):
        key = (known.get(source, NOT_GIVEN), known.get(target, NOT_GIVEN))
        pairs.setdefault(key, []).append(connection)
    table = flows.rows[mine]
    order = np.argsort(table[:, START], kind="stable")
    table, mine = table[order], mine[order]
    width = len(flows.names)
    keys = table[:, SOURCE] * width + table[:, DESTINATION]
    found, member = np.unique(keys, return_inverse=True)
    by_key = np.argsort(member, kind="stable")
    counts = np.bincount(member, minlength=len(found))
    turn = np.empty(len(table), np.int64)
    offsets = np.append(0, np.cumsum(counts))
    turn[by_key] = np.arange(len(table)) - np.repeat(offsets[:-1], counts)
    chosen = np.empty(len(table), np.int64)
    for index, key in enumerate(found.tolist()):
        rows = by_key[offsets[index] : offsets[index + 1]]
        pair = divmod(key, width)
        if pair not in pairs:
            first = int(mine[rows].min())
            names = f"{flows.names[pair[0]]} to {flows.names[pair[1]]}"
            accepted = f"a pair of 'from' and 'to' of traffic.{ends.name} is expected"
            raise row_problem(params.file, flows, first, names, accepted)
        own = np.array(pairs[pair])
        chosen[rows] = own[turn[rows] % len(own)]
    kept = (table[:, START] >= ends.start) & (table[:, START] < ends.stop)
    return ApplicationMessages(chosen[kept], table[kept, START], table[kept, SIZE])


def _rows_of_entry(params: RecordedFlows, flows: FlowFile, ends: Connections) -> np.ndarray:
    """Indices of the rows that are the entry's, int64[n]. Raises BadInput."""
    table = flows.rows
    if params.rows == "entry":
        if (table[:, ENTRY] == NOT_GIVEN).any():
            raise ValueError("with rows = \"entry\" the file needs a column 'entry'")
        index = flows.names.index(ends.name) if ends.name in flows.names else NOT_GIVEN
        mine = np.flatnonzero(table[:, ENTRY] == index)
    elif params.rows == "priority":
        if (table[:, PRIORITY] == NOT_GIVEN).any():
            raise ValueError("with rows = \"priority\" the file needs a column 'priority'")
        return np.flatnonzero(table[:, PRIORITY] == ends.priority)
    else:
        mine = np.arange(len(table))
    priority = table[mine, PRIORITY]
    others = mine[(priority != NOT_GIVEN) & (priority != ends.priority)]
    if len(others):
        found = f"priority {int(table[others[0], PRIORITY])}"
        accepted = (
            f'traffic.{ends.name} has priority {ends.priority}; rows = "priority" takes the rows '
            "of that alone"
        )
        raise row_problem(params.file, flows, int(others[0]), found, accepted)
    return mine


FLOWS: Algorithm = messages("flows", "messages from a CSV or Parquet file", RecordedFlows, schedule)
