"""Notes on messages that found every limiter of their NIC taken."""

from __future__ import annotations

from orchestrator.recording import Recording

QUANTITY = "feedback_unassigned"


def found(recording: Recording) -> list[str]:
    """Sentence for each NIC that dropped messages because it had no free limiter."""
    sentences = []
    for row, column in enumerate(recording.columns):
        if column.quantity != QUANTITY or not len(recording.times_ps):
            continue
        count = int(recording.values[-1, row])
        if count:
            which = "message" if count == 1 else "messages"
            sentences.append(
                f"{column.entity}: {count} {which} found no free limiter and slowed no flow down; "
                f"give it more (nodes.{column.node}.reaction_points)"
            )
    return sentences
