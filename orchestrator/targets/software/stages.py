"""What a part's worker reports, in this order. Nothing is imported: agents know these words too."""

BUILDING, COMPILING, READY, RUNNING, ENDED, COLLECTED = (
    *("building", "compiling", "ready", "running"),
    *("ended", "collected"),
)
