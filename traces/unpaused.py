"""Proof that a run has no pauses, so that its captures need not be read again.

What reads them takes longer to import than a small report to write.
"""

from __future__ import annotations

from orchestrator.engine.frames.layout import MAC_CONTROL_TYPE
from orchestrator.recording import PortCapture
from traces.metrics.table import Table
from traces.runs import Run

TYPES_AT = (12, 16, 20)
"""Offsets of a frame's type: without a tag, behind one, behind two."""


def has_no_pauses(run: Run) -> bool:
    """True where nothing was captured; of a run that was just made also where nothing that was can
    be a PAUSE or a PFC frame, and no port has counted any time that one held it."""
    if run.folder is None or not any((run.folder / "captures").glob("*.pcapng")):
        return True
    if run.captures is None:
        return False
    return not any(map(_may_hold_one, run.captures)) and not _counted(run.table)


def _may_hold_one(capture: PortCapture) -> bool:
    """True if any frame is a MAC control frame."""
    high, low = divmod(MAC_CONTROL_TYPE, 256)
    octets = capture.octets
    places = [place for place in TYPES_AT if place + 2 <= octets.shape[1]]
    found = [(octets[:, at] == high) & (octets[:, at + 1] == low) for at in places]
    return any(bool(some.any()) for some in found)


def _counted(table: Table) -> bool:
    """True if any port counted paused time."""
    return any(
        bool(table.column(one, "paused_ps")[-1:].any()) for one in table.entities("paused_ps")
    )
