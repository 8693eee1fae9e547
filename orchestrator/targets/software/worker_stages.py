"""Stages reported by a worker, and orders of its agent. Import-free: agents use these names too."""

BUILDING, COMPILING, READY, RUNNING, ENDED, COLLECTED = (
    *("building", "compiling", "ready", "running"),
    *("ended", "collected"),
)
CHANGE, HALT, COLLECT = "change", "halt", "collect"
"""Orders to a worker that runs; the answers about changes come with a report, as CHANGE."""
