"""Maps between DSCP and priority of a plan's nodes, as compiled code reads them."""

from __future__ import annotations

import numpy as np

from orchestrator.plan import Plan, Switch
from orchestrator.plan.header_table import CODE_POINTS


def dscp_maps(plan: Plan) -> tuple[np.ndarray, dict[str, int]]:
    """int64[n, 64] and the row of every node. Row 0 has the DSCP of each priority in its first 8
    columns; every further one the priority of each DSCP at the nodes that have that row.

    A plan whose priorities are those of VLAN tags has row 0 alone, of zeros, and no node a row.
    """
    first = np.zeros(CODE_POINTS, np.int64)
    if plan.headers.priority == "pcp":
        return first[None], {}
    first[:8] = plan.headers.code_points()
    rows: dict[tuple[int, ...], int] = {}
    found: dict[str, int] = {}
    for name, node in plan.nodes.items():
        classes = tuple(plan.headers.classes(node if isinstance(node, Switch) else None))
        found[name] = rows.setdefault(classes, 1 + len(rows))
    return np.array([first, *rows], np.int64), found
