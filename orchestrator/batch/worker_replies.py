"""Replies of a worker about a point: its outcome and its result."""

from __future__ import annotations

from typing import Any

DONE, FAILED, CRASHED = "done", "failed", "broken"
"""Outcomes: a result; a refusal or failure with its exit code and message; a traceback."""
IN_PROGRESS = "under way"
"""Intermediate reply: the estimated duration (s) of the whole point, from its progress."""
Answer = tuple[str, Any]
