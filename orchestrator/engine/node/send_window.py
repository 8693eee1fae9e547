"""Send window of a limiter: octets of a flow in flight, enforced where segments are made.

A reaction point sets `window` in octets of whole frames. A window below one frame lets one frame go
at a time, `rtt * frame / window` after the one before: as many octets per round trip as it says
(Swift does so).
"""

from __future__ import annotations

from orchestrator.engine.frames.telemetry_header import headers_of
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER, NONE, Flow, Frame


@compiled
def window_opens_at(w: World, flow: Flow, now: int) -> int:
    """Time at which a full segment may be made (ps): now, by its pace, or NEVER.

    NEVER: not before an acknowledgement has come, or what is under way is taken for lost.
    """
    if flow.limiter == NONE:
        return now
    limiter = w.limiters[flow.limiter]
    full = headers_of(flow) + flow.segment
    if limiter.window <= 0 or flow.flight + full <= limiter.window:
        return now
    if flow.flight > 0:
        return NEVER
    return max(now, flow.made + limiter.rtt * full // limiter.window)


@inlined
def resume_windowed_flow(flow: Flow, now: int) -> None:
    """The reaction point may have opened the window of a flow that waits for that."""
    if flow.held != 0 and flow.on != 0:
        flow.next_frame = now


@compiled
def on_segment_departed(w: World, flow: Flow, frame: Frame, now: int) -> None:
    """A segment leaves its NIC: from now on its round trip counts.

    Where there is a window and the rate is that of the link no bucket holds frames back: the link
    does that.
    """
    frame.created = now
    if flow.limiter != NONE:
        limiter = w.limiters[flow.limiter]
        if limiter.window > 0 and limiter.rate >= limiter.link_rate:
            limiter.tokens = limiter.depth
