"""Receiver-driven credits: a receiver grants its sources its link rate in round robin.

Sources tell how much they have to send before they send it. One credit goes out per `quantum`, to
the next flow that still wants some, so paced that what the credits let come takes `link_share` of
the
receiver's link: whatever the fan-in, frames come one after another, and no queue builds but that of
what sources send without credit. A share below one lets that drain. A trimmed frame has used a
credit in vain: its flow gets those octets again.

The receiver-driven control of EQDS (Olteanu et al., NSDI 2022) and of the Ultra Ethernet
transport (RCCC) are of this kind. What this leaves out: there is one class of flows, none is put
behind because its credits came back unused, and sources do not tell how congested they are.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    NEVER,
    NOTHING,
    SEND,
    TRIMMED,
    WITHDRAWN,
    Algorithm,
    Observed,
    Params,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    flow_state,
    receiver,
    record,
)

BIT_PS = 8 * 10**12
MOST_FRAME = (1 << 16) - 1
"""Octets that a switch can cut of one."""


class Credits(Params):
    """Parameters of the receiver."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"credits": {}}
    former: ClassVar[dict[str, str]] = {"share": "link_share"}

    quantum: Size = Field(1_500, ge=64, le=1 << 20, description="octets that one credit grants")
    link_share: Annotated[Ratio, RatioLimit(1_000)] = Field(
        Fraction(99, 100), gt=0, le=20, description="share of its link's rate in credits"
    )


STATE = record(
    "waiting",  # of all: how many flows want credit
    "first",  # one more than the flow whose turn is next; 0: none
    "last",  # likewise, the last one
    "next_at",  # ps: no credit before
    "next",  # of a flow: one more than the flow behind it; 0
    "lined_up",  # 1: it has a turn
    "asked",  # octets that requests wanted credit for, in all
    "cut",  # octets of trimmed frames
    "granted",  # octets, in all
)


@compiled
def enqueue_flow(state, flow):
    """Append a flow with ungranted demand to the round robin."""
    mine = flow_state(state, flow)
    if mine.lined_up != 0 or mine.asked + mine.cut <= mine.granted:
        return
    mine.lined_up = 1
    mine.next = 0
    state.waiting += 1
    if state.first == 0:
        state.first = flow + 1
    else:
        flow_state(state, state.last - 1).next = flow + 1
    state.last = flow + 1


@compiled
def schedule_credit(state, node, now):
    """Schedule the next credit at the end of the time that the previous one covers."""
    node.receiver_timer = max(now, state.next_at) if state.first != 0 else NEVER


def on_flow_begins(state, params, node, frame, now, message):
    """A source requests credit; if it has been granted all of it, a credit may have been lost."""
    mine = flow_state(state, frame.flow)
    if frame.feedback == WITHDRAWN:
        mine.asked = min(mine.asked, mine.granted - mine.cut)
        return NOTHING
    mine.asked = max(mine.asked, frame.sequence)
    enqueue_flow(state, frame.flow)
    schedule_credit(state, node, now)
    message.sequence = mine.granted
    return SEND if mine.granted > 0 and mine.lined_up == 0 else NOTHING


def on_arrived(state, params, node, frame, now, message):
    """A data frame, or its trimmed header, arrived."""
    if frame.kind == TRIMMED:
        flow_state(state, frame.flow).cut += min(max(frame.offset, 0), MOST_FRAME)
        enqueue_flow(state, frame.flow)
        schedule_credit(state, node, now)
    return NOTHING


def on_timer(state, params, node, frame, now, message):
    """A credit is due for the flow at the head of the round robin."""
    flow = state.first - 1
    mine = flow_state(state, flow)
    state.first = mine.next
    state.waiting -= 1
    mine.lined_up = 0
    octets = min(params.quantum, mine.asked + mine.cut - mine.granted)
    if octets <= 0:  # it was withdrawn
        schedule_credit(state, node, now)
        return NOTHING
    mine.granted += octets
    enqueue_flow(state, flow)
    took = (octets + node.receiver_overhead) * BIT_PS // node.receiver_rate
    state.next_at = min(now + took * params.link_share_den // params.link_share_num, NEVER)
    schedule_credit(state, node, now)
    message.flow = flow
    message.sequence = mine.granted
    return SEND


CREDITS: Algorithm = receiver(
    "receiver-credits",
    "grants credits in turns, paced at the rate of the receiver's link (EQDS, UEC RCCC)",
    Credits,
    STATE,
    flow_begins=on_flow_begins,
    arrived=on_arrived,
    timer=on_timer,
    columns=(Observed("waiting", "1", "flows that want credit"),),
    former=("credits",),
)
