"""Records of node logic: frames, nodes, ports, queues, limiters, flows.

Every field is an int64: times in ps, lengths in octets, rates in bit/s. All records of a run but
the frames lie in one int64 memory, so that a field can be sampled or changed by its offset alone,
by the simulator, by a data path or from afar.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.kernel_events import MOST_EVENTS, MOST_TIMERS

NEVER = 1 << 62
"""A time that does not come (ps)."""
NONE = -1
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


FRAME = record(
    # a line of the caches: what every hop reads
    "next",  # the list that holds this frame continues here
    # the port it came in through; between input and output, the one it will leave by; in a delay
    # line, CORRUPTED to WRONG_ICRC: its octets are corrupted on the way
    "port",
    "kind",  # frame kind, see below
    "length",  # octets from destination address up to, not including, the FCS
    "priority",  # 0 to 7, of its VLAN tag or lane
    "source",  # address indices; MAC and IP are derived from them, see orchestrator.engine.frames
    "destination",  # address index
    "due",  # ps: when it leaves the delay line it is in
    # the next one: what queues, hashes and ends need besides
    "flow",  # index of the flow; for a CNM, of the flow that is notified; NONE when foreign
    "sequence",  # per flow; for a CNM, of the sampled frame
    "created",  # ps: when the source had it; for a CNM, when the sampled frame's source had it
    # data: the IP TOS octet, ECN codepoint in the low two bits, a switch's feedback in the others;
    # CNM: the sampled frame's length; PFC: bit n: priority n
    "mark",
    "entered",  # ps: when it came into the buffer that it came into last
    "hops",  # IP routers that it has passed
    # CNM: the sampled frame's destination; `source` is the congestion point's address;
    # data: path entropy, 0 to MOST_ENTROPY, or NONE
    "inner",
    "held",  # data in a switch with inputs: the input buffer it takes room in; NONE
    # and what only some frames need
    "original",  # copy of a multicast frame in a switch with inputs: the frame that has the room
    "unit",  # the first unit of its input buffer that it lies in; NONE where units are not kept
    "side",  # data between an input and its output: the input
    "behind",  # the next frame that is transferred from that input
    # CNM: 6-bit quantised value; PAUSE: quanta of 512 bit times; PFC: see frames.pfc;
    # PROBE, ECHO: bit/s
    "feedback",
    "offset",  # CNM: q - Q_eq in octets
    "delta",  # CNM: q - q_old in octets
    "copies",  # of a multicast frame that has room: how many copies still need it
)
"""A frame descriptor. In the software target its index is also that of its octets."""

CORRUPTED, FCS_ERROR, ALTERED = -2, -3, -4
"""In place of a frame's port while it is in a delay line: its octets are corrupted on the way. The
FCS check at the other end drops it, by an injection of the timeline (CORRUPTED) or by a stage of
the link (FCS_ERROR); or its FCS is right (ALTERED), and the node at the other end gets it."""
WRONG_IPV4, WRONG_UDP, WRONG_ICRC = -5, -6, -7
"""The same, by an injection of the timeline: the FCS is right, and one bit of the IPv4 header
checksum, the UDP checksum or the ICRC is wrong."""

MADE = np.dtype([("created", np.int64), ("next", np.int32), ("length", np.int32)])
"""A frame that a source has made and its NIC has not begun to send: what its flow does not know of
it. `next`: the row of the next one in its host queue, or of the next unused one; NONE.

A host queue of 64 KB holds 43 full frames; with a descriptor for each, those of 512 flows would
take 4 MB, and each would have left the caches when it is sent."""

NODE = record(
    "kind",  # NIC, SWITCH or SINK
    "address",  # its own address index
    "first_port",  # index of its first port
    "ports",  # number of its ports
    "first_limiter",  # index of its first limiter
    "limiters",  # number of its limiters
    "host_bytes",  # octets in the queue that flows without a limiter share, where they do
    "host_capacity",  # octets of a host queue
    "feedback_ignored",  # CNMs that concern no flow of this node
    "feedback_unassigned",  # CNMs that found no free limiter
    "reaction_time",  # ps from the arrival of a CNM until its limiter acts
    "reacting_head",  # CNMs that arrived and whose limiters have not acted yet
    "reacting_tail",  # the last one of that list
    "unroutable",  # frames to an address without a route
    "foreign",  # frames that no codec knows
    "lfsr",  # random numbers of a switch that sprays frames over several ways
    "copied",  # copies that were made of multicast frames
    "order_capacity",  # octets of frames that wait for an earlier one of their flow
    "order_timeout",  # ps until the earlier one is given up
    "order_bytes",  # octets that wait so now
    "order_gaps",  # so many were given up
    "frames_late",  # that came after all and were sent on out of order
    "notification_point",  # instance that sees the data frames delivered here; NONE
    "feedback_sent",  # by it; probes that it turned round are not counted here
    "echoes_sent",  # probes that it turned round
    "shared_bytes",  # octets in the memory that the ports of a switch share, without headroom
    "shared_capacity",  # octets of that memory
    "routed",  # 1: this switch is an IP router: next hop's MAC, TTL less one
    "host_port",  # 1: frames for programs leave by the wire `host_wire`
    "host_wire",  # index of that wire
    "receiver",  # instance that paces the sources of what is delivered here; NONE
    "receiver_timer",  # ps: its next timer event; NEVER. Its kernels set it
    "receiver_rate",  # bit/s of its node's link, the fastest where there are several
    "receiver_overhead",  # octets per frame that take time on that link beside its length
    "credits_sent",  # frames that it sent
    "ttl_expired",  # IP frames whose TTL ended at it: it forwarded none of them
    "forwards",  # 1: a host that sends on what is addressed to others
    "classifier",  # row of `dscp_maps` that gives what it receives its priority; 0: none
    "obeys_pfc",  # bit n: PFC that it receives for priority n holds the lane of that
)
"""A node: NIC, switch or sink."""

PORT = record(
    "node",  # node that it belongs to
    "address",  # a switch's ports have one each: the source of the CNMs of their queue
    "peer",  # port at the other end; NONE when it is reached through a wire
    "wire",  # index of the socket or transport; NONE when the peer is in this world; ELSEWHERE
    "up",  # 0: the link is cut in this direction, frames sent are lost and counted
    "rate",  # bit/s of its link
    "delay",  # ps of propagation, on top of serialisation
    "overhead",  # octets per frame that take time on the wire but are no part of its length
    "delay_line",  # instance of a delay-line algorithm; NONE: exactly `delay`
    "free_at",  # ps: the transmitter is busy until then
    "timed_octets",  # the last wire time that was divided out: of so many octets ...
    "timed_rate",  # ... at this rate ...
    "timed_ps",  # ... it is this long
    "paused_until",  # by 802.3x PAUSE, which holds all lanes and control frames
    "first_lane",  # index of its first lane
    "turn",  # the lane that is looked at first for the next frame
    "next_service",  # ps: the service-rate limiter of a switch's port lets no data go before
    "control_head",  # frames that no limiter or queue holds back: CNM, PAUSE
    "control_tail",  # the last one of that list
    "input",  # the input side of a port of a switch that has inputs; NONE elsewhere
    "agenda",  # of a NIC's port that is late: its first row of the agenda, see node.late_nic ...
    "entries",  # ... and how many rows there are, one more than its flows; 0: it is not
    "reached",  # ps: when something last happened at such a port
    "line_head",  # the delay line: frames on their way to the peer
    "line_tail",  # the last one of that list
    "line_bytes",  # octets in the delay line
    "line_capacity",  # octets; NEVER: unbounded
    "in_order",  # 1: flows leave it in the order in which they were sent (node.order)
    "patience",  # ps that a frame which is due may stay in the line, see node.arrive
    "ahead",  # 1: frames that are only counted at its peer are counted at once, see node.ahead
    "bytes_out",  # octets that it sent
    "frames_out",  # frames that it sent
    "frames_lost",  # by a cut link or a full delay line
    "paused_ps",  # time in which its peer held any of its lanes, up to `pause_counted`
    "pause_counted",  # ps: up to here `paused_ps` counts
    "hold_began",  # ps: the last stretch of held time without a break, ...
    "hold_ended",  # ... up to `pause_counted` where it still goes on
    "longest_hold_ps",  # the longest that went on since the last row of samples
    "sampled_hold_ps",  # what that row has of it
    "pause_received",  # PAUSE and PFC frames that it received
    # ps: when the last frame that was counted ahead arrived; of a port with an injector, when the
    # last frame arrives that no injection delays
    "last_due",
    "late",  # data leaves it without events, see node.late: how, or 0
    "next_hop",  # MAC address that IP frames get as their destination here; NONE: their own
    "drift",  # 2^-30: so much slower than its rate it sends, by its node's clock
    # row behind that of its scheduler, or of that of the flows of its first lane (the other lanes'
    # follow); 0: its lanes, and the flows of each, take turns
    "scheduler",
    # row behind that of its injector; 0: the timeline injects nothing there, and its link has no
    # stages
    "injector",
)
"""A port of a node, with the direction of its link that leaves it."""
LAZY, LAZY_BEHIND_INPUTS, LAZINESS_DISABLED = 1, 2, 3
"""Lazy ports: the queue is filled by events alone; frames reach it from inputs without one;
likewise, but it wakes for each that leaves."""

LANE = record(
    "queue",  # the data queue of a switch's port; NONE elsewhere
    "ready_head",  # flows of a NIC that may send now, in the order they became ready
    "ready_tail",
    "paused_until",  # by PFC; NEVER while what the link's far end granted is used up
    "granted",  # octets that it granted in all; NEVER: it grants nothing, and lets all come
    "granted_used",  # octets that were sent on account of them
    "paused_ps",  # time in which this lane was held, by PFC or PAUSE, up to its port's counting
    "hold_began",  # as those of its port
    "hold_ended",
    "longest_hold_ps",
    "sampled_hold_ps",
    "own_turn",  # at a host that forwards, 1: the next frame is one of its own flows
)
"""The priorities of a port that share a queue and are paused together: one lane for all of them,
or one for each that is in use."""

_SCHEDULER = record(
    "port",  # port whose lanes, or flows, it schedules
    "algorithm",  # its instance
    "of_flows",  # 1: it chooses among the flows of a lane, by their classes: n is a class then
    "ready",  # bit n: the lane of priority n may send a frame now
    "backlogged",  # bit n: that lane has a frame, which PAUSE, PFC or credit may hold back
    "sent",  # octets of the frame that the port sent last by its choice
    "unready",  # choices of a priority that was not ready: a mistake of the algorithm
)
PRIORITIES = 8
"""Priorities of 802.1Q: 0 to 7."""
SCHEDULER = np.dtype(
    [
        *_SCHEDULER.descr,
        ("octets", np.int64, (PRIORITIES,)),
        ("priority", np.int64, (PRIORITIES,)),
    ]
)
"""What the lanes of a port have for its scheduler, each lane by its priority. `octets`: length of
the first frame in the lane of each priority; 0: it has none. `priority`: that of each lane, in the
order of the lanes. Of a NIC's flow scheduler: what the ready flows of a lane have, by their class,
and `priority` is unused."""

QUEUE = record(
    "port",  # port that it belongs to
    "priorities",  # of its lane, bit n: priority n
    "input",  # this is the buffer of an input; NONE: a queue before an output
    "crossbar",  # 1: frames come from inputs and have to be granted room first
    "bytes",  # octets in it
    "frames",  # frames in it
    "head",  # its first frame; NONE
    "tail",  # its last frame; NONE
    "capacity",  # octets that it has room for
    "service_rate",  # bit/s at which it is served at most
    "timed_octets",  # the last service time, as for a port's wire time
    "timed_rate",  # at this rate
    "timed_ps",  # it is this long
    "bytes_max",  # the most octets that it held since the run began
    "bytes_out",  # octets that left it
    "bytes_came",  # to the buffer of an input: what found no room or no way included
    "frames_in",  # frames that entered it
    "frames_out",  # frames that left it
    "frames_dropped",  # frames that found no room
    "congestion_point",  # instances, NONE when there is none
    "pause",  # instance of the pause; NONE
    "feedback_sent",  # notifications that its congestion point sent
    "feedback_value",  # of the last CNM
    "pause_sent",  # PAUSE, PFC and GRANT frames that its pause sent
    "pausing",  # 1 while its last PAUSE asked to stop
    "pause_rate",  # bit/s of the fastest port that its PAUSE frames go to: its quanta are shortest
    "congestion_point_timer",  # ps: its next ON_TIMER, NEVER when none; set by its kernels
    "pause_timer",  # ps: likewise
    "line_rate",  # bit/s of the port's link
    "reserved",  # octets granted to frames that are on their way from their inputs
    "request_head",  # virtual output queues that ask for a grant, in the order of their turns
    "request_tail",  # the last one of that list
    "first_unit",  # the buffer's units of 256 octets, kept where they are sampled
    "units",  # how many units it has; 0: not kept
    "free_unit",  # the first unused one; NONE
    "lfsr",  # random numbers of the sampling of units
    "notification_point",  # instance that sees the frames which enter this queue; NONE
    "frames_marked",  # whose mark its congestion point changed, or its notification point set
    "emptied",  # how often its last frame left
    "frames_dropped_early",  # by its congestion point or watchdog, though there was room
    "frames_trimmed",  # cut to their headers by its congestion point, which went on past it
    "watchdog",  # instance that sees when its lane is held; NONE
    "watchdog_timer",  # ps: likewise; NEVER
    "held_until",  # ps: by the last PAUSE or PFC for its lane; known where there is a watchdog
    "stance",  # that its watchdog takes, see below
    "storms",  # that its watchdog found; its kernels count these two
    "storms_over",  # of these, how many ended
    "frames_moved",  # that its congestion point sent on in another lane
    "deaf",  # 1: its congestion point has nothing to do for frames that leave
    "calm",  # of an input, 1: no algorithm has, while it does not pause its neighbour
    "fly_head",  # frames on their way to an output that is late, in the order of their arrival
    "fly_tail",  # the last one of that list
    "awaited",  # the input that wakes for a frame which leaves such an output at once; NONE
    "awaits_next",  # the next output that this input wakes for
    "before_tail",  # the frame before the last one, where there is one
    "order_key",  # decides what of equal frames finds room where it is full; 0: what came first
    "contested",  # ps: when the last frame that others came too late for entered
    "contenders",  # how many frames its place was drawn among
    "buffer_management",  # number behind its instance, in shared memory; 0: `capacity` alone limits
    "free",  # octets of that memory that were free when its buffer management was called last
    "limit",  # octets that it may hold in that memory, as its buffer management answered last
    "headroom",  # octets of it that lie in the headroom of its port, beside that memory
    "marks_arriving",  # histograms of what its congestion point marks: first row of three; 0: none
    "marks_leaving",  # the same where it looks at frames that leave
)
"""A buffer: the queue before an output port, or the buffer behind an input port, whose frames lie
in virtual output queues (no `head` and `tail` of its own then)."""
OBEYS, IGNORES, DROPS = range(3)
"""Treatment of a queue whose lane is held by PAUSE or PFC: its frames wait; they are sent all
the same; they and those that come are dropped."""

AGENDA = record(
    "wake",  # ps: when something is due for it; NEVER
    "sends",  # ps: no data frame of a flow begins before; NEVER
    "octets",  # so long is that one, or longer
    "probes",  # ps: nor does a probe of its reaction point, but for one behind a frame; NEVER
    "flow",  # NONE: the row is that of a port, and those of its flows follow, by number
)
"""Timers of a late port of a NIC and of each of its flows, instead of the tournament."""

INPUT = record(
    "first_queue",  # its buffers, one per lane
    "first_voq",  # its virtual output queues: for every lane one per port of the node, in order
    "rate",  # bit/s towards the outputs: the link's rate times the internal over-speed
    "latency",  # ps from the end of a transfer until the output has the frame (fall-through)
    "retain",  # 1: a frame keeps its room until it left the output (reliable delivery)
    "free_at",  # ps: the end of the last transfer that was granted
    "moving_head",  # frames whose transfer has not ended, in its order
    "moving_tail",
    "fly_head",  # frames on their way to an output that is not late
    "fly_tail",
    "awaits_head",  # outputs that are late and wait for a frame of this input; NONE
    "timed_octets",  # the last transfer time, as for a port's wire time
    "timed_rate",
    "timed_ps",
    "shared",  # 1: nothing is transferred, the frames lie in memory that the whole switch shares
    "headroom_bytes",  # octets in the headroom of this port, of all its lanes
    "headroom_capacity",  # octets of that headroom; 0: it has none
)
"""The input side of a port of a combined input/output queued switch."""

VOQ = record(
    "input",
    "queue",  # the output queue that its frames go to
    "head",
    "tail",
    "next",  # the next one that asks the same output queue
)

_LIMITER = record(
    "node",  # NIC that it belongs to
    "flow",  # NONE while free
    "active",  # 1: `rate` limits its flow
    "rate",  # current rate; an inactive limiter lets everything pass
    "target",  # bit/s, target rate of the reaction point
    "link_rate",  # bit/s of its port
    "backlog",  # octets waiting behind this limiter
    "timer",  # ps: when ON_TIMER is due; NEVER
    "feedback_received",  # notifications that reached it
    "algorithm",  # instance of the reaction point
    "tokens",  # signed, in 10^-12 bit: rate (bit/s) times time (ps), nothing is rounded
    "tick",  # ps of the last refill that is in `tokens`
    "depth",  # of the bucket, in 10^-12 bit
    "period",  # ps between refills
    "phase",  # ps: refills come at phase + k * period; limiters share no clock edge
    "granularity",  # bit/s; the rate is cut down to a multiple; 0 or 1: exact
    "gain",  # what one refill adds, as of ...
    "gain_rate",  # ... this rate
    "probes_sent",  # PROBE frames that it sent
    # of a flow whose transport leaves control to the reaction point:
    "window",  # octets of whole frames that may be under way; less than one: paced; 0: any number
    "flight",  # so many are
    "rtt",  # ps: from the departure of the segment that the last acknowledgement answers
    "acked",  # octets that this one acknowledged newly
    "marked",  # octets of these in frames that came with ECN 11
    "acked_total",  # since the flow began
    "stamps",  # while `acked` is called: where the stamps on the acknowledgement lie; 0: none
    "hops",  # so many ports have stamped the segment that it answers
    "lost",  # while `lost` is called: how many losses the transport found at once
    "lost_made",  # ps: when the last made one of the segments that it holds for lost was made
    "flight_before",  # octets that were under way until then, what is lost included
    "named",  # how many timers its reaction point has named
    "soonest",  # ps: the earliest of these; NEVER
)
LIMITER = np.dtype([*_LIMITER.descr, ("timers", np.int64, (MOST_TIMERS,))])
"""`timers`: ps, the time of each named one; NEVER."""

FLOW = record(
    "node",  # node of its source
    "port",  # port that its frames leave by
    "lane",  # of that port
    "source",  # address index
    "destination",  # address index; of a group for multicast
    "priority",  # 0 to 7
    "length",  # of the next frame; the traffic kernel may change it
    "algorithm",  # instance of the traffic source
    "limiter",  # NONE: not limited
    "entry",  # row of the agenda, where its port is a NIC's that is late; 0 elsewhere
    "controlled",  # 1: its transport leaves it to the reaction point what may be under way
    "on",  # 1 while its source is switched on
    "next_frame",  # ps: the source makes its next frame, when the host queue has room; NEVER: off
    "head",  # host queue: of mode FRAMES rows of `made`, of others descriptors
    "tail",  # the last one of it
    "bytes",  # octets in its host queue
    "capacity",  # octets that its host queue has room for
    "ready",  # 1: in the port's list of ready flows
    "ready_next",  # the next flow of that list
    "sequence",  # of its next frame
    "shared",  # 1: its frames are in the queue that its node's flows share
    "open_loop",  # 1: the source does not wait for room; a frame that finds none is lost
    "frames_refused",  # so many
    "frames_sent",  # data frames that its NIC sent
    "bytes_sent",  # octets of these
    "frames_received",  # data frames that were delivered
    "bytes_received",  # octets of these
    "group",  # index of the traffic entry, for the latency histogram
    "latest",  # one more than the highest sequence that was delivered
    "frames_reordered",  # delivered after a later one
    "order_next",  # the sequence that the switch before the destination has to send on next
    "order_head",  # frames behind it that came earlier, by sequence
    "order_until",  # ps: then the missing one is given up
    "first_copy",  # multicast: the rows that count what each member received
    "copies",  # multicast: how many members
    "mark",  # TOS octet that its frames begin with
    "limited",  # 1: it gets a limiter when it starts, not only at its first notification
    "mode",  # where its frames come from, see below
    "first_message",  # row of its first message
    "message",  # row of the message that is sent or, with a transport, handed over next
    "last_message",  # row behind its last message
    "left",  # octets of that message that no frame holds yet
    "segment",  # octets of a message that a full frame carries
    "arriving",  # at the destination: the message that the last frame belonged to
    "transport",  # instance
    "available",  # segments that a transport was handed over so far
    "sending",  # the message that its last segment belonged to
    "ack_timer",  # ps: at the destination, a delayed acknowledgement is due; NEVER
    "ack_priority",  # 0 to 7: of the acknowledgements of its transport
    "back",  # the port there that acknowledgements leave through
    "held",  # 1: the reaction point's window takes no further segment now
    "flight",  # octets of segments that were made and not acknowledged
    "acked",  # octets that were acknowledged; the transport's kernels count these two
    "marked",  # of these, in frames that came with ECN 11
    "losses",  # that the transport found; its kernels count them
    "lost_made",  # ps: when the last made one of the segments that are lost was made, see `lost`
    "flight_before",  # octets that were under way until the transport found its last loss
    "highest",  # one more than the highest sequence that was made
    "frames_resent",  # segments that were made a second time
    "made",  # ps: when the last segment was
    "stamps",  # hops whose stamps its segments have room for
    "demand",  # octets of whole frames, as far as its messages have begun
    "octets_made",  # octets of all segments that were made, again ones too
    "headers_received",  # frames of which a header arrived: they were trimmed
    "withdrawn",  # 1: its destination knows that it wants no credit; its transport unsets it
    "drift",  # 2^-30: so much longer its intervals are, by its node's clock
    "phase",  # ps from its start until its source makes the first frame, for mode FRAMES
    "timeouts",  # of its transport, whose kernels count these two
    "naks",  # negative acknowledgements that came back
    "headers",  # octets of its data frames that are no part of a message, but for stamps
    "ack_mark",  # TOS octet that acknowledgements of its transport begin with
    "roce",  # NOT_ROCE, or the operation of its queue pair
    "flow_class",  # 0 to 7: by which the flow scheduler of its NIC, if there is one, chooses
)
"""A flow of a traffic entry, at its source and at its destination."""
FRAMES, MESSAGES, TRANSPORT, PROGRAMS = range(4)
"""Modes of a flow: a kernel makes its frames; messages go as datagrams, or by a transport; programs
on its host send what they like."""

MESSAGE = record(
    "flow",
    "start",  # ps: the application hands it over
    "octets",  # of the application, without any header
    "first",  # sequence number of its first frame
    "frames",
    "received",  # so many of them arrived; with a transport all or none
    "done",  # ps: the last one arrived; NEVER
    "behind",  # gate that has to open before it begins, `start` is NEVER till then; NONE
    "opens",  # gate that it counts for when it is whole; NONE
    "round",  # of its collective, from 0 on; NONE
    "step",  # of that round; NONE
)
"""Message of an application, over a flow that is a connection: one after another."""

GATE = record(
    "missing",  # messages that have not arrived whole yet and gates still closed that count for it
    "first",  # messages that begin when it opens: from this place in `gated` ...
    "last",  # ... up to, not including, this one; from here on the gates that it counts for ...
    "last_gate",  # ... up to, not including, this one
    "latest",  # ps: of what counted for it, the latest; before that the earliest that it may open
    "pause",  # ps from then until it opens
    "until",  # ps: what would begin now or later does not
    "next",  # gate that opens after it, of those that open at one arrival; NONE
)
"""Dependency of some messages: others, to the node that these come from, have arrived whole."""

INSTANCE = np.dtype(
    [
        ("state", np.int64),  # addresses of the records
        ("params", np.int64),
        ("stride", np.int64),  # octets from one flow's state to the next; 0: one state for all
        ("words", np.int64),  # int64 in a state
        ("kept", np.int64),  # that word of them is not zeroed for a new flow: `lfsr`; NONE
        ("kernels", np.int64, (MOST_EVENTS,)),  # addresses by event; 0: it does not care
    ]
)

CLOCK = record(
    "now",
    "lanes",  # of every port
    "free",  # frame descriptors that were given back
    "frames_used",  # descriptors that were ever taken: those from this one on never were
    "delivered",  # data frames that reached their destination
    "no_descriptor",  # frames lost because the pool or `made` was empty: never in a sound run
    "row",  # next row of samples
    "next_sample",
    "sample_interval",
    "command",  # next command to carry out
    "commands",  # how many there are
    "events",
    "stop",  # 1: leave the loop
    "actor",  # that the simulator has woken last
    "first_queue",  # number of the first actor of each kind (`engine.node.actors`)
    "first_port",
    "first_flow",
    "first_input",
    "first_node",
    "late",  # 1: there are ports that are late, or inputs that are calm
    "unmade",  # first row of `made` that was given back; NONE
    "made_used",  # rows of `made` that were ever taken: those from this one on never were
    "late_nics",  # 1: there are ports of NICs that are late
    "unseen",  # what happened at these, each as an event that needed no wake
    "direct",  # 1: a flow that has its port to itself sends without asking the port's lanes
)

COMMAND = record(
    "at",  # ps
    "action",
    "offset",  # where in the memory, or which flow
    "value",
)
SET, START_FLOW, STOP_FLOW, MARK, SERVE, DISABLE_LAZINESS = range(6)
"""Actions of a command: write a value into the memory; start or stop a flow; mark a phase boundary
with a row of samples and a copy of the latency histograms; let a port send that was held; let the
line of a port hand every frame over when it is due, from now on."""

INJECTOR = record(
    "first",  # its steps: rows of `injections` from this one ...
    "last",  # ... up to, not including, this one
    "dropped",  # frames that it dropped
    "marked",  # whose ECN codepoint it set to CE
    "corrupted",  # that it corrupted and the FCS check at the link's other end dropped
    "delayed",  # that it delayed
    "duplicated",  # copies that it added
    "first_stage",  # the stages of its link: rows of `stages` from this one ...
    "last_stage",  # ... up to, not including, this one
    "delay",  # of the frame that passes these: ps on the way by the stages so far
    "hold",  # ps that they hold it back so far, beside that
    "damage",  # NONE; FCS_ERROR or ALTERED: they corrupted it
    "copies_head",  # copies of it that have stages to pass: the list of these
    "copies_tail",  # the last one of that list
    "fcs_errors",  # frames that stages corrupted and the FCS check at the other end dropped
    "icrc_errors",  # frames that they corrupted with a right FCS, and a check of their own dropped
    "copies",  # copies that they added
    "external",  # 1: an external node is at the link's other end
    "sent_wrong",  # frames that it sent to a socket with a check by which the other end drops them
)
"""Faults that the timeline injects into single frames which leave a port, and what came of them;
and the stages of the port's link, in their order."""

STAGE = record(
    "algorithm",  # its instance, of a delay line
    "frames_in",  # frames that entered it
    "lost",  # frames that it lost
    "corrupted",  # frames that it corrupted
    "duplicated",  # copies that it added
    "held_back",  # frames that it held back, so that others may overtake them
)
"""A stage of a link: one delay-line algorithm of several, which a frame passes in their order."""

INJECTION = record(
    "action",  # see below
    "flow",  # frames of this flow count ...
    "of",  # ... of these kinds, see below ...
    "at",  # ps: ... that the port begins to send at this time or later
    "packet",  # the first one it applies to, counted from 1
    "packets",  # to so many in a row
    "delay",  # ps, of INJECT_DELAY
    "damage",  # of INJECT_CORRUPT: CORRUPTED, WRONG_IPV4, WRONG_UDP or WRONG_ICRC
    "passed",  # so many frames counted
)
"""A step of the timeline that injects a fault: drop, mark, corrupt, delay or duplicate."""
INJECT_DROP, INJECT_MARK, INJECT_CORRUPT, INJECT_DELAY, INJECT_DUPLICATE = range(5)
OF_DATA, OF_ACK, OF_CNM = range(3)
"""Frames of a flow that a step counts: data (of programs as well); acknowledgements; congestion
messages (CNM, CNP)."""
