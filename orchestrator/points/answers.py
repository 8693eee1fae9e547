"""Replies of a worker about a point: its outcome and its result."""

from __future__ import annotations

from typing import Any

DONE, FAILED, BROKEN = "done", "failed", "broken"
"""It has a result; it cannot be run, in a sentence and with its exit code; a traceback."""
UNDER_WAY = "under way"
"""No answer yet: the seconds that all of the point takes, by how far it is."""
Answer = tuple[str, Any]
