"""Stages that a worker reports to its agent, in order, and the agent's orders. Import-free: agents
use these names too."""

BUILDING, COMPILING, READY, RUNNING, ENDED, COLLECTED = (
    *("building", "compiling", "ready", "running"),
    *("ended", "collected"),
)
CHANGE, HALT, COLLECT = "change", "halt", "collect"
"""Orders to a worker that runs; the answers about changes come with a report, as CHANGE."""
