"""Contract of the kernels: for every kind and event, when it is called, what it answers and sets.

The reference page of algorithms is generated from this table. The answers are the names in
`orchestrator.engine.kernel_answers`; an answer in other words is a number with the unit stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class KernelContract:
    """One event of a kind."""

    called: str
    """When the node logic calls the kernel, and what `frame` is then."""
    answers: str
    """Answers that it may return, as names in code or a number with its unit."""
    sets: str = ""
    """Fields that it may set, and how they take effect."""


NOTIFICATIONS = (
    "`FORWARD`, `NOTIFY_ARRIVING`, `NOTIFY_HEAD`, `NOTIFY_RANDOM_UNIT`, `NOTIFY_LARGEST`"
)
MARKS = "`frame.mark` of a data frame (ECN in the low two bits); `message` (`CnmMessage`)"
SENDS_PROBE = "`NOTHING`, `SEND` (a PROBE, `ProbeMessage`)"
CONTROL = "`limiter.rate`, `target`, `active`, `timer`, `timers`, `window`"
SENDS_PAUSE = "`NOTHING`, `SEND` (`PauseMessage`, `GrantMessage`)"
SENDS_ACK = "`NOTHING`, `SEND` (`AckMessage`)"
SENDS_CREDIT = "`NOTHING`, `SEND` (`CreditMessage`)"

CONTRACTS: Mapping[str, Mapping[str, KernelContract]] = {
    "congestion_point": {
        "arrival": KernelContract(
            "A data frame arrives; the queue does not hold it yet.",
            f"{NOTIFICATIONS}, `DROP`, `TRIM`, `LANE` + priority",
            MARKS,
        ),
        "departure": KernelContract(
            "A data frame has left the queue, after `now - frame.entered` ps in it.",
            f"{NOTIFICATIONS}, `DROP`, `STAMP`, `STAMP_IF_LARGER`, `STAMP_IF_SMALLER`",
            f"{MARKS}, or `StampMessage`, `SignalMessage`",
        ),
        "timer": KernelContract(
            "`queue.congestion_point_timer` is due. There is no frame at hand.",
            "`NOTHING`, `NOTIFY_HEAD`, `NOTIFY_RANDOM_UNIT`, `NOTIFY_LARGEST`",
            "`queue.congestion_point_timer`; `message` (`CnmMessage`)",
        ),
        "probe": KernelContract("A PROBE passes.", "`FORWARD`", "`frame.feedback` of the PROBE"),
    },
    "notification_point": {
        "arrival": KernelContract(
            "A data frame is delivered, or enters a queue of a switch that has the algorithm.",
            "`NOTHING`, `SEND` (`CnmMessage`, to the source of the frame)",
            "`frame.mark`",
        ),
        "probe": KernelContract("A PROBE is delivered.", "`NOTHING`, `REFLECT`"),
    },
    "reaction_point": {
        "feedback": KernelContract(
            "A notification arrives; `frame.kind` is its kind, ECHO for a reflected PROBE.",
            SENDS_PROBE,
            CONTROL,
        ),
        "sent": KernelContract(
            "The limiter has sent a data frame.",
            SENDS_PROBE,
            f"{CONTROL}; `frame.inner`: path entropy, 0 to `MOST_ENTROPY`",
        ),
        "timer": KernelContract(
            "`limiter.timer` is due. A name in `timers` has a kernel of its own, for its place in "
            "`limiter.timers`.",
            SENDS_PROBE,
            CONTROL,
        ),
        "start": KernelContract(
            "A flow without a limiter begins. With `start` or `started` every flow has a limiter "
            "from its start on.",
            SENDS_PROBE,
            CONTROL,
        ),
        "acked": KernelContract(
            "An acknowledgement (`frame`) of a transport that leaves control to the reaction point "
            "arrives, with `limiter.rtt`, `acked`, `marked`, `flight`, `hops` and the stamps "
            "(`stamp_of`, `stamps_of`).",
            SENDS_PROBE,
            CONTROL,
        ),
        "lost": KernelContract(
            "The transport detected `limiter.lost` losses, by an acknowledgement (`frame.kind`) or "
            "its timer. The last lost segment was made at `limiter.lost_made`. `flight_before` is "
            "FlightSize (RFC 5681), lost octets included; `flight` is 0 for a go-back transport.",
            SENDS_PROBE,
            CONTROL,
        ),
        "bound": KernelContract(
            "A flow got this limiter, at its start or first notification. The state is 0, except "
            "`lfsr`.",
            SENDS_PROBE,
            CONTROL,
        ),
        "started": KernelContract("A flow is switched on.", SENDS_PROBE, CONTROL),
        "ended": KernelContract(
            "A flow was switched off and its last frame was sent.", SENDS_PROBE, CONTROL
        ),
    },
    "pause": {
        "enqueue": KernelContract("A frame entered the buffer.", SENDS_PAUSE, "`message`"),
        "dequeue": KernelContract("A frame left the buffer.", SENDS_PAUSE, "`message`"),
        "timer": KernelContract(
            "`queue.pause_timer` is due; at the begin of the run too, for an algorithm that "
            "`begins` or `grants`.",
            SENDS_PAUSE,
            "`queue.pause_timer`; `message`",
        ),
    },
    "delay_line": {
        "delay": KernelContract(
            "The last bit of a frame was sent.",
            "ps until the frame arrives, or `LOST`. On a link with stages each adds what it "
            "answers beyond `port.delay`",
            "`message` (`StageMessage`; `message.mark`: `FCS_WRONG`, `FCS_RIGHT`), of an algorithm "
            "that `alters_frames`",
        ),
    },
    "traffic": {
        "next": KernelContract(
            "The source made a frame. A source of messages needs no kernel; with one, the answer "
            "spaces the frames of a message.",
            "ps until the next frame",
            "`flow.length`: octets of the next frame",
        ),
    },
    "transport": {
        "send": KernelContract(
            "`flow.next_frame` is due. `flow.held` is 1 while the window of the reaction point "
            "takes no further segment; with `credited`, also after `flow.withdrawn` became 1.",
            "`NOTHING`, `SEND` (`SegmentMessage`), `REQUEST_CREDIT` (`RequestMessage`)",
            "`flow.next_frame`: the next call; `flow.withdrawn`",
        ),
        "acknowledged": KernelContract(
            "An ACK (`frame`) arrives at the source.",
            "`NOTHING`",
            "`flow.next_frame`. A transport that leaves control to the reaction point counts "
            "`flow.acked`, `marked` and `losses`, sets `flight` to 0 when it goes back, and "
            "may set `lost_made`, and `frame.created` (when the segment left that the ACK "
            "answers) and `frame.feedback`. One that declares it (`counts`) counts "
            "`flow.timeouts` and `flow.naks`",
        ),
        "arrived": KernelContract(
            "A segment (`frame`) arrives at the destination, or `flow.ack_timer` is due "
            "(`message.kind` is ACK).",
            SENDS_ACK,
            "`message.sequence` for any answer; `flow.ack_timer`",
        ),
        "trimmed": KernelContract(
            "The header of a trimmed segment arrives at the destination.",
            SENDS_ACK,
            "`message.sequence` for any answer",
        ),
        "credited": KernelContract(
            "A CREDIT (`frame`) arrives at the source.", "`NOTHING`", "`flow.next_frame`"
        ),
    },
    "receiver": {
        "flow_begins": KernelContract(
            "A REQUEST arrives: before the first data frame of a flow, and when the flow has more "
            "to send.",
            SENDS_CREDIT,
            "`node.receiver_timer`; `flow_state(state, flow)` is the state of one flow",
        ),
        "arrived": KernelContract(
            "A data frame arrives, or the header of one (`frame.kind` is TRIMMED, `frame.offset` "
            "its octets before).",
            SENDS_CREDIT,
            "`node.receiver_timer`",
        ),
        "timer": KernelContract(
            "`node.receiver_timer` is due.", SENDS_CREDIT, "`node.receiver_timer`"
        ),
    },
    "watchdog": {
        "held": KernelContract(
            "A PAUSE or PFC holds the queue of an output until `queue.held_until`.",
            "`NOTHING`",
            "`queue.stance`: `OBEYS`, `IGNORES` (send all the same) or `DROPS`; "
            "`queue.watchdog_timer`",
        ),
        "timer": KernelContract(
            "`queue.watchdog_timer` is due.",
            "`NOTHING`",
            "`queue.stance`, `queue.watchdog_timer`, `queue.storms`, `queue.storms_over`",
        ),
    },
    "scheduler": {
        "choose": KernelContract(
            "A port may send a data frame, and one lane or several have one: `scheduler.ready`, "
            "`backlogged` and `octets` are up to date. There is no frame at hand. As the "
            "`flow_scheduler` of a NIC: a lane may send, and flows of one class or several are "
            "ready; what is said of priorities and lanes holds for classes and their flows.",
            "the priority of the lane that sends, 0 to 7; its bit in `scheduler.ready` is set",
        ),
        "sent": KernelContract(
            "The port sent a frame from the lane that `choose` named; `scheduler.sent` is its "
            "octets, `backlogged` says if the lane has another one.",
            "`NOTHING`",
        ),
    },
    "buffer_management": {
        "limit": KernelContract(
            "A data frame arrives at a buffer in shared memory, or leaves one at an input that has "
            "a pause, whose kernel `dequeue` follows. `queue.free`: octets of that memory that are "
            "free before the frame came, or after it left; `queue.bytes` includes it as it leaves.",
            "octets that the buffer may hold, with the frame. `queue.limit` becomes the lesser "
            "of this and `queue.capacity`. A frame above it goes into the headroom of its port if "
            "its lane of an input is lossless; else it is dropped",
        ),
    },
}
"""Kind -> event -> contract."""
