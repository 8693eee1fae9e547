"""What a part's worker reports, in this order, and what it is told. Nothing is imported: agents
know these words too."""

BUILDING, COMPILING, READY, RUNNING, ENDED, COLLECTED = (
    *("building", "compiling", "ready", "running"),
    *("ended", "collected"),
)
CHANGE, HALT, COLLECT = "change", "halt", "collect"
"""Orders to a worker that runs; the answers about changes come with a report, as CHANGE."""
