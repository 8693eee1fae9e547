"""Records of node logic: frames, nodes, ports, queues, limiters, flows.

Every field is an int64: times in ps, lengths in octets, rates in bit/s. All records of a run but
the frames lie in one int64 memory, so that a field can be sampled or changed by its offset alone,
by the simulator, by a data path or from afar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.engine.index_types import (
    ActorIndex,
    AgendaIndex,
    FlowIndex,
    FrameIndex,
    GateIndex,
    InputIndex,
    InstanceIndex,
    LaneIndex,
    LimiterIndex,
    MessageIndex,
    NodeIndex,
    PortIndex,
    QueueIndex,
    VoqIndex,
)
from orchestrator.engine.kernel_events import MOST_EVENTS, MOST_TIMERS

NEVER = 1 << 62
"""A time that does not come (ps)."""
NONE: Any = -1
"""No index: the end of a list, nothing bound."""
SOONEST = 1000
"""ps from an expired timer to its next time at the least: one that a kernel sets to now or into the
past would be due again and again, and time would stand still."""

DATA, CNM, PAUSE, PFC = range(4)
"""Frame kinds of the core. Plugins that bring frames of their own count from 16."""
PROBE, ECHO, RETURNED, CNP = range(12, 16)
"""Further kinds that no queue holds back, as a CNM: a source's probe on its way forward, which
switches may rewrite; the same turned round at its destination; a data frame's header returned to
its source, ECN 11 (P4QCN); a RoCEv2 congestion notification packet."""

NOT_ECT, ECT1, ECT0, CE = range(4)
"""ECN codepoints (RFC 3168): the two low bits of a data frame's `mark`."""
GRANT = 4
"""Of a link: the buffer at its end has room for `sequence` octets in all, since the run began, of
the priorities in `mark`."""
TRIMMED = 7
"""A data frame that a switch cut to its header (`offset`: how long it was); no queue holds it."""
CREDIT, REQUEST = 10, 11
"""Of a receiver to a flow's source: `sequence` octets were granted so far; and of that source,
before its first data frame and whenever there is more: it wants credit for `sequence` octets in
all, `offset` it sends without. `feedback` of a request is WITHDRAWN where its flow was switched
off."""
WITHDRAWN = 1
"""`feedback` of a REQUEST: the flow was switched off and wants no credit."""
SACK = 6
"""An acknowledgement that tells of single segments as well: `offset` is the one that it answers,
`inner` has a bit for it and each before it that is there."""
BRIDGED = 5
"""A frame of another device that a switch forwards by its MAC addresses (`mac_learning`)."""
ACK, HOST = 8, 9
"""Of transports (`sequence`: all segments before it arrived; `created`: that of the segment that it
answers; the other fields are the transport's) and of programs on a host, whose octets are their
own."""

ROCE_DATA, ROCE_ACK, ROCE_CNP = range(61, 64)
"""Rows of the table of frame types: layouts of DATA, ACK and CNP for flows of RoCEv2 queue pairs.
No frame has one of them for its kind."""
NOT_ROCE, ROCE_WRITE, ROCE_SEND = range(3)
"""Operation of a flow (`flow.roce`): it is no RoCEv2 queue pair, it has RDMA WRITE, or SEND."""

SPREAD_FLOWS, SPREAD_FRAMES, COPY = range(3)
"""Rule of a switch for a destination with several paths: one for each flow, one for each frame at
random, a copy of the frame for each."""
PORT_SETS = -2
"""A route of this value or less is no port but that row of the ways, counted down from it."""
LOCAL_DELIVERY = -NEVER
"""A route that is none of these: the place is this switch, and its port depends on the address."""

ENTROPY_BITS = 11
MOST_ENTROPY = (1 << ENTROPY_BITS) - 2
"""The largest path entropy: a number by which a data frame's source chooses among equal paths."""

NIC, SWITCH, SINK = 0, 1, 2
"""Node kinds."""

ELSEWHERE = -2
"""In place of a port's wire: another world of the same run drives its peer."""


def record(*fields: str) -> np.dtype:
    """A dtype of int64 fields in the order given."""
    return np.dtype([(name, np.int64) for name in fields])


class Record:
    """Fields of one kind of record, in their order: attributes, and items by name."""

    if TYPE_CHECKING:

        def __getitem__(self, field: str, /) -> Any: ...
        def __setitem__(self, field: str, value: Any, /) -> None: ...


def record_of(kind: type[Record], **types: Any) -> np.dtype:
    """The dtype of a kind of record: its fields are int64, where `types` has no other type."""
    return np.dtype([(name, types.get(name, np.int64)) for name in kind.__annotations__])


class Frame(Record):
    # a line of the caches: what every hop reads
    next: FrameIndex  # the list that holds this frame continues here
    # the port it came in through; between input and output, the one it will leave by; in a delay
    # line, CORRUPTED to WRONG_ICRC: its octets are corrupted on the way
    port: PortIndex
    kind: int  # frame kind, see below
    length: int  # octets from destination address up to, not including, the FCS
    priority: int  # 0 to 7, of its VLAN tag or lane
    source: int  # address indices; MAC and IP are derived from them, see orchestrator.engine.frames
    destination: int  # address index
    due: int  # ps: when it leaves the delay line it is in
    # the next one: what queues, hashes and ends need besides
    flow: FlowIndex  # index of the flow; for a CNM, of the flow that is notified; NONE when foreign
    sequence: int  # per flow; for a CNM, of the sampled frame
    created: int  # ps: when the source had it; for a CNM, when the sampled frame's source had it
    # data: the IP TOS octet, ECN codepoint in the low two bits, a switch's feedback in the others;
    # CNM: the sampled frame's length; PFC: bit n: priority n
    mark: int
    entered: int  # ps: when it came into the buffer that it came into last
    hops: int  # IP routers that it has passed
    # CNM: the sampled frame's destination; `source` is the congestion point's address;
    # data: path entropy, 0 to MOST_ENTROPY, or NONE
    inner: int
    held: QueueIndex  # data in a switch with inputs: the input buffer it takes room in; NONE
    # and what only some frames need
    original: FrameIndex  # of a copy in a switch with inputs: the multicast frame that has the room
    unit: int  # the first unit of its input buffer that it lies in; NONE where units are not kept
    side: Any  # data between an input and its output: the input
    behind: Any  # the next frame that is transferred from that input
    # CNM: 6-bit quantised value; PAUSE: quanta of 512 bit times; PFC: see frames.pfc;
    # PROBE, ECHO: bit/s
    feedback: int
    offset: int  # CNM: q - Q_eq in octets
    delta: int  # CNM: q - q_old in octets
    copies: int  # of a multicast frame that has room: how many copies still need it


FRAME = record_of(Frame)
"""A frame descriptor. In the software target its index is also that of its octets."""

CORRUPTED: Any
CORRUPTED, FCS_ERROR, ALTERED = -2, -3, -4
"""In place of a frame's port while it is in a delay line: its octets are corrupted on the way. The
FCS check at the other end drops it, by an injection of the timeline (CORRUPTED) or by a stage of
the link (FCS_ERROR); or its FCS is right (ALTERED), and the node at the other end gets it."""
WRONG_IPV4, WRONG_UDP, WRONG_ICRC = -5, -6, -7
"""The same, by an injection of the timeline: the FCS is right, and one bit of the IPv4 header
checksum, the UDP checksum or the ICRC is wrong."""


class Made(Record):
    created: int
    next: int
    length: int


MADE = record_of(Made, next=np.int32, length=np.int32)
"""A frame that a source has made and its NIC has not begun to send: what its flow does not know of
it. `next`: the row of the next one in its host queue, or of the next unused one; NONE.

A host queue of 64 KB holds 43 full frames; with a descriptor for each, those of 512 flows would
take 4 MB, and each would have left the caches when it is sent."""


class Node(Record):
    kind: int  # NIC, SWITCH or SINK
    address: int  # its own address index
    first_port: PortIndex  # index of its first port
    ports: int  # number of its ports
    first_limiter: LimiterIndex  # index of its first limiter
    limiters: int  # number of its limiters
    host_bytes: int  # octets in the queue that flows without a limiter share, where they do
    host_capacity: int  # octets of a host queue
    feedback_ignored: int  # CNMs that concern no flow of this node
    feedback_unassigned: int  # CNMs that found no free limiter
    reaction_time: int  # ps from the arrival of a CNM until its limiter acts
    reacting_head: FrameIndex  # CNMs that arrived and whose limiters have not acted yet
    reacting_tail: FrameIndex  # the last one of that list
    unroutable: int  # frames to an address without a route
    foreign: int  # frames that no codec knows
    lfsr: int  # random numbers of a switch that sprays frames over several ways
    copied: int  # copies that were made of multicast frames
    order_capacity: int  # octets of frames that wait for an earlier one of their flow
    order_timeout: int  # ps until the earlier one is given up
    order_bytes: int  # octets that wait so now
    order_gaps: int  # so many were given up
    frames_late: int  # that came after all and were sent on out of order
    notification_point: InstanceIndex  # instance that sees the data frames delivered here; NONE
    feedback_sent: int  # by it; probes that it turned round are not counted here
    echoes_sent: int  # probes that it turned round
    shared_bytes: int  # octets in the memory that the ports of a switch share, without headroom
    shared_capacity: int  # octets of that memory
    routed: int  # 1: this switch is an IP router: next hop's MAC, TTL less one
    host_port: int  # 1: frames for programs leave by the wire `host_wire`
    host_wire: int  # index of that wire
    receiver: InstanceIndex  # instance that paces the sources of what is delivered here; NONE
    receiver_timer: int  # ps: its next timer event; NEVER. Its kernels set it
    receiver_rate: int  # bit/s of its node's link, the fastest where there are several
    receiver_overhead: int  # octets per frame that take time on that link beside its length
    credits_sent: int  # frames that it sent
    ttl_expired: int  # IP frames whose TTL ended at it: it forwarded none of them
    forwards: int  # 1: a host that sends on what is addressed to others
    classifier: int  # row of `dscp_maps` that gives what it receives its priority; 0: none
    obeys_pfc: int  # bit n: PFC that it receives for priority n holds the lane of that


NODE = record_of(Node)
"""A node: NIC, switch or sink."""


class Port(Record):
    node: NodeIndex  # node that it belongs to
    address: int  # a switch's ports have one each: the source of the CNMs of their queue
    peer: PortIndex  # port at the other end; NONE when it is reached through a wire
    wire: int  # index of the socket or transport; NONE when the peer is in this world; ELSEWHERE
    up: int  # 0: the link is cut in this direction, frames sent are lost and counted
    rate: int  # bit/s of its link
    delay: int  # ps of propagation, on top of serialisation
    overhead: int  # octets per frame that take time on the wire but are no part of its length
    delay_line: InstanceIndex  # instance of a delay-line algorithm; NONE: exactly `delay`
    free_at: int  # ps: the transmitter is busy until then
    timed_octets: int  # the last wire time that was divided out: of so many octets ...
    timed_rate: int  # ... at this rate ...
    timed_ps: int  # ... it is this long
    paused_until: int  # by 802.3x PAUSE, which holds all lanes and control frames
    first_lane: LaneIndex  # index of its first lane
    turn: int  # the lane that is looked at first for the next frame
    next_service: int  # ps: the service-rate limiter of a switch's port lets no data go before
    control_head: FrameIndex  # frames that no limiter or queue holds back: CNM, PAUSE
    control_tail: FrameIndex  # the last one of that list
    input: InputIndex  # the input side of a port of a switch that has inputs; NONE elsewhere
    # of a NIC's port that is late: its first row of the agenda, see node.late_nic ...
    agenda: AgendaIndex
    entries: int  # ... and how many rows there are, one more than its flows; 0: it is not
    reached: int  # ps: when something last happened at such a port
    line_head: FrameIndex  # the delay line: frames on their way to the peer
    line_tail: FrameIndex  # the last one of that list
    line_bytes: int  # octets in the delay line
    line_capacity: int  # octets; NEVER: unbounded
    in_order: int  # 1: flows leave it in the order in which they were sent (node.order)
    patience: int  # ps that a frame which is due may stay in the line, see node.arrive
    ahead: int  # 1: frames that are only counted at its peer are counted at once, see node.ahead
    bytes_out: int  # octets that it sent
    frames_out: int  # frames that it sent
    frames_lost: int  # by a cut link or a full delay line
    paused_ps: int  # time in which its peer held any of its lanes, up to `pause_counted`
    pause_counted: int  # ps: up to here `paused_ps` counts
    hold_began: int  # ps: the last stretch of held time without a break, ...
    hold_ended: int  # ... up to `pause_counted` where it still goes on
    longest_hold_ps: int  # the longest that went on since the last row of samples
    sampled_hold_ps: int  # what that row has of it
    pause_received: int  # PAUSE and PFC frames that it received
    # ps: when the last frame that was counted ahead arrived; of a port with an injector, when the
    # last frame arrives that no injection delays
    last_due: int
    late: int  # data leaves it without events, see node.late: how, or 0
    next_hop: int  # MAC address that IP frames get as their destination here; NONE: their own
    drift: int  # 2^-30: so much slower than its rate it sends, by its node's clock
    # row behind that of its scheduler, or of that of the flows of its first lane (the other lanes'
    # follow); 0: its lanes, and the flows of each, take turns
    scheduler: int
    # row behind that of its injector; 0: the timeline injects nothing there, and its link has no
    # stages
    injector: int


PORT = record_of(Port)
"""A port of a node, with the direction of its link that leaves it."""
LAZY, LAZY_BEHIND_INPUTS, LAZINESS_DISABLED = 1, 2, 3
"""Lazy ports: the queue is filled by events alone; frames reach it from inputs without one;
likewise, but it wakes for each that leaves."""


class Lane(Record):
    queue: QueueIndex  # the data queue of a switch's port; NONE elsewhere
    ready_head: FlowIndex  # flows of a NIC that may send now, in the order they became ready
    ready_tail: FlowIndex
    paused_until: int  # by PFC; NEVER while what the link's far end granted is used up
    granted: int  # octets that it granted in all; NEVER: it grants nothing, and lets all come
    granted_used: int  # octets that were sent on account of them
    paused_ps: int  # time in which this lane was held, by PFC or PAUSE, up to its port's counting
    hold_began: int  # as those of its port
    hold_ended: int
    longest_hold_ps: int
    sampled_hold_ps: int
    own_turn: int  # at a host that forwards, 1: the next frame is one of its own flows


LANE = record_of(Lane)
"""The priorities of a port that share a queue and are paused together: one lane for all of them,
or one for each that is in use."""

PRIORITIES = 8
"""Priorities of 802.1Q: 0 to 7."""


class Scheduler(Record):
    port: PortIndex  # port whose lanes, or flows, it schedules
    algorithm: InstanceIndex  # its instance
    of_flows: int  # 1: it chooses among the flows of a lane, by their classes: n is a class then
    ready: int  # bit n: the lane of priority n may send a frame now
    backlogged: int  # bit n: that lane has a frame, which PAUSE, PFC or credit may hold back
    sent: int  # octets of the frame that the port sent last by its choice
    unready: int  # choices of a priority that was not ready: a mistake of the algorithm
    octets: np.ndarray  # length of the first frame in the lane of each priority; 0: it has none
    priority: np.ndarray  # that of each lane, in the order of the lanes


SCHEDULER = record_of(
    Scheduler, octets=(np.int64, (PRIORITIES,)), priority=(np.int64, (PRIORITIES,))
)
"""What the lanes of a port have for its scheduler, each lane by its priority. Of a NIC's flow
scheduler: what the ready flows of a lane have, by their class, and `priority` is unused."""


class Queue(Record):
    port: PortIndex  # port that it belongs to
    priorities: int  # of its lane, bit n: priority n
    input: InputIndex  # this is the buffer of an input; NONE: a queue before an output
    crossbar: int  # 1: frames come from inputs and have to be granted room first
    bytes: int  # octets in it
    frames: int  # frames in it
    head: FrameIndex  # its first frame; NONE
    tail: FrameIndex  # its last frame; NONE
    capacity: int  # octets that it has room for
    service_rate: int  # bit/s at which it is served at most
    timed_octets: int  # the last service time, as for a port's wire time
    timed_rate: int  # at this rate
    timed_ps: int  # it is this long
    bytes_max: int  # the most octets that it held since the run began
    bytes_out: int  # octets that left it
    bytes_came: int  # to the buffer of an input: what found no room or no way included
    frames_in: int  # frames that entered it
    frames_out: int  # frames that left it
    frames_dropped: int  # frames that found no room
    congestion_point: InstanceIndex  # instances, NONE when there is none
    pause: InstanceIndex  # instance of the pause; NONE
    feedback_sent: int  # notifications that its congestion point sent
    feedback_value: int  # of the last CNM
    pause_sent: int  # PAUSE, PFC and GRANT frames that its pause sent
    pausing: int  # 1 while its last PAUSE asked to stop
    # bit/s of the fastest port that its PAUSE frames go to: its quanta are shortest
    pause_rate: int
    congestion_point_timer: int  # ps: its next ON_TIMER, NEVER when none; set by its kernels
    pause_timer: int  # ps: likewise
    line_rate: int  # bit/s of the port's link
    reserved: int  # octets granted to frames that are on their way from their inputs
    # virtual output queues that ask for a grant, in the order of their turns
    request_head: VoqIndex
    request_tail: VoqIndex  # the last one of that list
    first_unit: int  # the buffer's units of 256 octets, kept where they are sampled
    units: int  # how many units it has; 0: not kept
    free_unit: int  # the first unused one; NONE
    lfsr: int  # random numbers of the sampling of units
    notification_point: InstanceIndex  # instance that sees the frames which enter this queue; NONE
    frames_marked: int  # whose mark its congestion point changed, or its notification point set
    emptied: int  # how often its last frame left
    frames_dropped_early: int  # by its congestion point or watchdog, though there was room
    frames_trimmed: int  # cut to their headers by its congestion point, which went on past it
    watchdog: InstanceIndex  # instance that sees when its lane is held; NONE
    watchdog_timer: int  # ps: likewise; NEVER
    held_until: int  # ps: by the last PAUSE or PFC for its lane; known where there is a watchdog
    stance: int  # that its watchdog takes, see below
    storms: int  # that its watchdog found; its kernels count these two
    storms_over: int  # of these, how many ended
    frames_moved: int  # that its congestion point sent on in another lane
    deaf: int  # 1: its congestion point has nothing to do for frames that leave
    calm: int  # of an input, 1: no algorithm has, while it does not pause its neighbour
    # frames on their way to an output that is late, in the order of their arrival
    fly_head: FrameIndex
    fly_tail: FrameIndex  # the last one of that list
    # the input that wakes for a frame which leaves such an output at once; NONE
    awaited: InputIndex
    awaits_next: QueueIndex  # the next output that this input wakes for
    before_tail: FrameIndex  # the frame before the last one, where there is one
    order_key: int  # decides what of equal frames finds room where it is full; 0: what came first
    contested: int  # ps: when the last frame that others came too late for entered
    contenders: int  # how many frames its place was drawn among
    # number behind its instance, in shared memory; 0: `capacity` alone limits
    buffer_management: InstanceIndex
    free: int  # octets of that memory that were free when its buffer management was called last
    limit: int  # octets that it may hold in that memory, as its buffer management answered last
    headroom: int  # octets of it that lie in the headroom of its port, beside that memory
    # histograms of what its congestion point marks: first row of three; 0: none
    marks_arriving: int
    marks_leaving: int  # the same where it looks at frames that leave


QUEUE = record_of(Queue)
"""A buffer: the queue before an output port, or the buffer behind an input port, whose frames lie
in virtual output queues (no `head` and `tail` of its own then)."""
OBEYS, IGNORES, DROPS = range(3)
"""Treatment of a queue whose lane is held by PAUSE or PFC: its frames wait; they are sent all
the same; they and those that come are dropped."""


class Agenda(Record):
    wake: int  # ps: when something is due for it; NEVER
    sends: int  # ps: no data frame of a flow begins before; NEVER
    octets: int  # so long is that one, or longer
    probes: int  # ps: nor does a probe of its reaction point, but for one behind a frame; NEVER
    flow: FlowIndex  # NONE: the row is that of a port, and those of its flows follow, by number


AGENDA = record_of(Agenda)
"""Timers of a late port of a NIC and of each of its flows, instead of the tournament."""


class Input(Record):
    first_queue: QueueIndex  # its buffers, one per lane
    # its virtual output queues: for every lane one per port of the node, in order
    first_voq: VoqIndex
    rate: int  # bit/s towards the outputs: the link's rate times the internal over-speed
    latency: int  # ps from the end of a transfer until the output has the frame (fall-through)
    retain: int  # 1: a frame keeps its room until it left the output (reliable delivery)
    free_at: int  # ps: the end of the last transfer that was granted
    moving_head: FrameIndex  # frames whose transfer has not ended, in its order
    moving_tail: FrameIndex
    fly_head: FrameIndex  # frames on their way to an output that is not late
    fly_tail: FrameIndex
    awaits_head: QueueIndex  # outputs that are late and wait for a frame of this input; NONE
    timed_octets: int  # the last transfer time, as for a port's wire time
    timed_rate: int
    timed_ps: int
    shared: int  # 1: nothing is transferred, the frames lie in memory that the whole switch shares
    headroom_bytes: int  # octets in the headroom of this port, of all its lanes
    headroom_capacity: int  # octets of that headroom; 0: it has none


INPUT = record_of(Input)
"""The input side of a port of a combined input/output queued switch."""


class Voq(Record):
    input: InputIndex
    queue: QueueIndex  # the output queue that its frames go to
    head: FrameIndex
    tail: FrameIndex
    next: VoqIndex  # the next one that asks the same output queue


VOQ = record_of(Voq)


class Limiter(Record):
    node: NodeIndex  # NIC that it belongs to
    flow: FlowIndex  # NONE while free
    active: int  # 1: `rate` limits its flow
    rate: int  # current rate; an inactive limiter lets everything pass
    target: int  # bit/s, target rate of the reaction point
    link_rate: int  # bit/s of its port
    backlog: int  # octets waiting behind this limiter
    timer: int  # ps: when ON_TIMER is due; NEVER
    feedback_received: int  # notifications that reached it
    algorithm: InstanceIndex  # instance of the reaction point
    tokens: int  # signed, in 10^-12 bit: rate (bit/s) times time (ps), nothing is rounded
    tick: int  # ps of the last refill that is in `tokens`
    depth: int  # of the bucket, in 10^-12 bit
    period: int  # ps between refills
    phase: int  # ps: refills come at phase + k * period; limiters share no clock edge
    granularity: int  # bit/s; the rate is cut down to a multiple; 0 or 1: exact
    gain: int  # what one refill adds, as of ...
    gain_rate: int  # ... this rate
    probes_sent: int  # PROBE frames that it sent
    # of a flow whose transport leaves control to the reaction point:
    window: int  # octets of whole frames that may be under way; less than one: paced; 0: any number
    flight: int  # so many are
    rtt: int  # ps: from the departure of the segment that the last acknowledgement answers
    acked: int  # octets that this one acknowledged newly
    marked: int  # octets of these in frames that came with ECN 11
    acked_total: int  # since the flow began
    stamps: int  # while `acked` is called: where the stamps on the acknowledgement lie; 0: none
    hops: int  # so many ports have stamped the segment that it answers
    lost: int  # while `lost` is called: how many losses the transport found at once
    lost_made: int  # ps: when the last made one of the segments that it holds for lost was made
    flight_before: int  # octets that were under way until then, what is lost included
    named: int  # how many timers its reaction point has named
    soonest: int  # ps: the earliest of these; NEVER
    timers: np.ndarray  # ps: the time of each named one; NEVER


LIMITER = record_of(Limiter, timers=(np.int64, (MOST_TIMERS,)))
"""A rate limiter of a NIC, free or bound to a flow."""


class Flow(Record):
    node: NodeIndex  # node of its source
    port: PortIndex  # port that its frames leave by
    lane: LaneIndex  # of that port
    source: int  # address index
    destination: int  # address index; of a group for multicast
    priority: int  # 0 to 7
    length: int  # of the next frame; the traffic kernel may change it
    algorithm: InstanceIndex  # instance of the traffic source
    limiter: LimiterIndex  # NONE: not limited
    entry: AgendaIndex  # row of the agenda, where its port is a NIC's that is late; 0 elsewhere
    controlled: int  # 1: its transport leaves it to the reaction point what may be under way
    on: int  # 1 while its source is switched on
    next_frame: int  # ps: the source makes its next frame, when the host queue has room; NEVER: off
    head: Any  # host queue: of mode FRAMES rows of `made`, of others descriptors
    tail: Any  # the last one of it
    bytes: int  # octets in its host queue
    capacity: int  # octets that its host queue has room for
    ready: int  # 1: in the port's list of ready flows
    ready_next: FlowIndex  # the next flow of that list
    sequence: int  # of its next frame
    shared: int  # 1: its frames are in the queue that its node's flows share
    open_loop: int  # 1: the source does not wait for room; a frame that finds none is lost
    frames_refused: int  # so many
    frames_sent: int  # data frames that its NIC sent
    bytes_sent: int  # octets of these
    frames_received: int  # data frames that were delivered
    bytes_received: int  # octets of these
    group: int  # index of the traffic entry, for the latency histogram
    latest: int  # one more than the highest sequence that was delivered
    frames_reordered: int  # delivered after a later one
    order_next: int  # the sequence that the switch before the destination has to send on next
    order_head: FrameIndex  # frames behind it that came earlier, by sequence
    order_until: int  # ps: then the missing one is given up
    first_copy: FlowIndex  # multicast: the rows that count what each member received
    copies: int  # multicast: how many members
    mark: int  # TOS octet that its frames begin with
    limited: int  # 1: it gets a limiter when it starts, not only at its first notification
    mode: int  # where its frames come from, see below
    first_message: MessageIndex  # row of its first message
    message: MessageIndex  # row of the message that is sent or, with a transport, handed over next
    last_message: MessageIndex  # row behind its last message
    left: int  # octets of that message that no frame holds yet
    segment: int  # octets of a message that a full frame carries
    arriving: MessageIndex  # at the destination: the message that the last frame belonged to
    transport: InstanceIndex  # instance
    available: int  # segments that a transport was handed over so far
    sending: MessageIndex  # the message that its last segment belonged to
    ack_timer: int  # ps: at the destination, a delayed acknowledgement is due; NEVER
    ack_priority: int  # 0 to 7: of the acknowledgements of its transport
    back: PortIndex  # the port there that acknowledgements leave through
    held: int  # 1: the reaction point's window takes no further segment now
    flight: int  # octets of segments that were made and not acknowledged
    acked: int  # octets that were acknowledged; the transport's kernels count these two
    marked: int  # of these, in frames that came with ECN 11
    losses: int  # that the transport found; its kernels count them
    lost_made: int  # ps: when the last made one of the segments that are lost was made, see `lost`
    flight_before: int  # octets that were under way until the transport found its last loss
    highest: int  # one more than the highest sequence that was made
    frames_resent: int  # segments that were made a second time
    made: int  # ps: when the last segment was
    stamps: int  # hops whose stamps its segments have room for
    demand: int  # octets of whole frames, as far as its messages have begun
    octets_made: int  # octets of all segments that were made, again ones too
    headers_received: int  # frames of which a header arrived: they were trimmed
    withdrawn: int  # 1: its destination knows that it wants no credit; its transport unsets it
    drift: int  # 2^-30: so much longer its intervals are, by its node's clock
    phase: int  # ps from its start until its source makes the first frame, for mode FRAMES
    timeouts: int  # of its transport, whose kernels count these two
    naks: int  # negative acknowledgements that came back
    headers: int  # octets of its data frames that are no part of a message, but for stamps
    ack_mark: int  # TOS octet that acknowledgements of its transport begin with
    roce: int  # NOT_ROCE, or the operation of its queue pair
    flow_class: int  # 0 to 7: by which the flow scheduler of its NIC, if there is one, chooses


FLOW = record_of(Flow)
"""A flow of a traffic entry, at its source and at its destination."""
FRAMES, MESSAGES, TRANSPORT, PROGRAMS = range(4)
"""Modes of a flow: a kernel makes its frames; messages go as datagrams, or by a transport; programs
on its host send what they like."""


class Message(Record):
    flow: FlowIndex
    start: int  # ps: the application hands it over
    octets: int  # of the application, without any header
    first: int  # sequence number of its first frame
    frames: int
    received: int  # so many of them arrived; with a transport all or none
    done: int  # ps: the last one arrived; NEVER
    behind: GateIndex  # gate that has to open before it begins, `start` is NEVER till then; NONE
    opens: GateIndex  # gate that it counts for when it is whole; NONE
    round: int  # of its collective, from 0 on; NONE
    step: int  # of that round; NONE


MESSAGE = record_of(Message)
"""Message of an application, over a flow that is a connection: one after another."""


class Gate(Record):
    # messages that have not arrived whole yet and gates still closed that count for it
    missing: int
    first: int  # messages that begin when it opens: from this place in `gated` ...
    last: int  # ... up to, not including, this one; from here on the gates that it counts for ...
    last_gate: int  # ... up to, not including, this one
    latest: int  # ps: of what counted for it, the latest; before that the earliest that it may open
    pause: int  # ps from then until it opens
    until: int  # ps: what would begin now or later does not
    next: GateIndex  # gate that opens after it, of those that open at one arrival; NONE


GATE = record_of(Gate)
"""Dependency of some messages: others, to the node that these come from, have arrived whole."""


class Instance(Record):
    state: int  # addresses of the records
    params: int
    stride: int  # octets from one flow's state to the next; 0: one state for all
    words: int  # int64 in a state
    kept: int  # that word of them is not zeroed for a new flow: `lfsr`; NONE
    kernels: np.ndarray  # addresses by event; 0: it does not care


INSTANCE = record_of(Instance, **dict.fromkeys(["kernels"], (np.int64, (MOST_EVENTS,))))


class Clock(Record):
    now: int
    lanes: int  # of every port
    free: int  # frame descriptors that were given back
    frames_used: FrameIndex  # descriptors that were ever taken: those from this one on never were
    delivered: int  # data frames that reached their destination
    no_descriptor: int  # frames lost because the pool or `made` was empty: never in a sound run
    row: int  # next row of samples
    next_sample: int
    sample_interval: int
    command: int  # next command to carry out
    commands: int  # how many there are
    events: int
    stop: int  # 1: leave the loop
    actor: ActorIndex  # that the simulator has woken last
    first_queue: ActorIndex  # number of the first actor of each kind (`engine.node.actors`)
    first_port: ActorIndex
    first_flow: ActorIndex
    first_input: ActorIndex
    first_node: ActorIndex
    late: int  # 1: there are ports that are late, or inputs that are calm
    unmade: int  # first row of `made` that was given back; NONE
    made_used: int  # rows of `made` that were ever taken: those from this one on never were
    late_nics: int  # 1: there are ports of NICs that are late
    unseen: int  # what happened at these, each as an event that needed no wake
    direct: int  # 1: a flow that has its port to itself sends without asking the port's lanes


CLOCK = record_of(Clock)


class Command(Record):
    at: int  # ps
    action: int
    offset: Any  # where in the memory, or which flow
    value: int


COMMAND = record_of(Command)
SET, START_FLOW, STOP_FLOW, MARK, SERVE, DISABLE_LAZINESS = range(6)
"""Faults that the timeline injects into single frames which leave a port, and what came of them;
and the stages of the port's link, in their order."""


class Injector(Record):
    first: int  # its steps: rows of `injections` from this one ...
    last: int  # ... up to, not including, this one
    dropped: int  # frames that it dropped
    marked: int  # whose ECN codepoint it set to CE
    corrupted: int  # that it corrupted and the FCS check at the link's other end dropped
    delayed: int  # that it delayed
    duplicated: int  # copies that it added
    first_stage: int  # the stages of its link: rows of `stages` from this one ...
    last_stage: int  # ... up to, not including, this one
    delay: int  # of the frame that passes these: ps on the way by the stages so far
    hold: int  # ps that they hold it back so far, beside that
    damage: Any  # NONE; FCS_ERROR or ALTERED: they corrupted it
    copies_head: FrameIndex  # copies of it that have stages to pass: the list of these
    copies_tail: FrameIndex  # the last one of that list
    fcs_errors: int  # frames that stages corrupted and the FCS check at the other end dropped
    # frames that they corrupted with a right FCS, and a check of their own dropped
    icrc_errors: int
    copies: int  # copies that they added
    external: int  # 1: an external node is at the link's other end
    # frames that it sent to a socket with a check by which the other end drops them
    sent_wrong: int


INJECTOR = record_of(Injector)
"""Faults that the timeline injects into single frames which leave a port, and what came of them;
and the stages of the port's link, in their order."""


class Stage(Record):
    algorithm: InstanceIndex  # its instance, of a delay line
    frames_in: int  # frames that entered it
    lost: int  # frames that it lost
    corrupted: int  # frames that it corrupted
    duplicated: int  # copies that it added
    held_back: int  # frames that it held back, so that others may overtake them


STAGE = record_of(Stage)
"""A stage of a link: one delay-line algorithm of several, which a frame passes in their order."""


class Injection(Record):
    action: int  # see below
    flow: FlowIndex  # frames of this flow count ...
    of: int  # ... of these kinds, see below ...
    at: int  # ps: ... that the port begins to send at this time or later
    packet: int  # the first one it applies to, counted from 1
    packets: int  # to so many in a row
    delay: int  # ps, of INJECT_DELAY
    damage: Any  # of INJECT_CORRUPT: CORRUPTED, WRONG_IPV4, WRONG_UDP or WRONG_ICRC
    passed: int  # so many frames counted


INJECTION = record_of(Injection)
"""A step of the timeline that injects a fault: drop, mark, corrupt, delay or duplicate."""
INJECT_DROP, INJECT_MARK, INJECT_CORRUPT, INJECT_DELAY, INJECT_DUPLICATE = range(5)
OF_DATA, OF_ACK, OF_CNM = range(3)
"""Frames of a flow that a step counts: data (of programs as well); acknowledgements; congestion
messages (CNM, CNP)."""
