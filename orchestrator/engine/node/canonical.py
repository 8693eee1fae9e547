"""Wire normalisation: gives a new message the values that its octets can represent.

So that no target knows more of a message than another one: what its octets have no room for is not
there in the simulator either, and what they round is rounded.
"""

from __future__ import annotations

from orchestrator.engine.frames.codec import decode, encode
from orchestrator.engine.jit import compiled


@compiled
def make_canonical(w, frame):  # type: ignore[no-untyped-def]
    """Let a new frame be what its own octets say; False when it has none.

    It is in no list yet. The octets are written into the row of the message under construction,
    which in the simulator is the only one.
    """
    kind = frame.kind
    octets = w.octets[w.octets.shape[0] - 1]
    if encode(w.types, frame, octets) == 0:
        return False
    return decode(w.types, octets, frame.length, frame) == kind
