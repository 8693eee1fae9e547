"""The register maps of the modules. Reset values are those of the preset `ieee` at 10 Gb/s."""

from __future__ import annotations

from firmware.registers.kernel_maps import KERNEL_LIMITER, KERNEL_POINT
from firmware.registers.register_map import Register, RegisterMap, counter, placed, rw
from plugins.qcn_cp import SAMPLE_INTERVALS

QCN_CP = RegisterMap(
    module="qcn_cp",
    identity=0x5142_0001,
    version=2,
    summary="QCN congestion point: quantiser, sampler, random source",
    caps="0",
    registers=placed(
        rw("set_point", 30, "octets", 26_000, "queue length aimed at, Q_eq", 1),
        rw("weight", 7, "", 2, "weight of the queue's growth, w"),
        *(
            rw(
                f"interval_{index}",
                30,
                "octets",
                octets,
                f"to the next sample after feedback {8 * index} to {8 * index + 7}, "
                "before jitter; the first sample comes after interval_0",
            )
            for index, octets in enumerate(SAMPLE_INTERVALS)
        ),
        rw("sampling", 2, "", 0, "0 arrival, 1 head, 2 departure, 3 occupancy at random"),
        rw("counts_arriving", 1, "", 0, "1: a frame that finds no room counts towards a sample"),
        rw("jitter_on", 1, "", 1, "spread the sample intervals by +-15 %"),
        rw("seed", 32, "", 1, "of the random source, taken at clear", 1),
        ("random", 32, "ro", "", "the last draw of the random source"),
        rw(
            "searches",
            20,
            "",
            0,
            "of an occupied unit before units are looked through; 0: no bound",
        ),
        rw("units", 24, "256 octets", 1, "of the queue's memory; set before clear", 1),
        rw("units_seed", 32, "", 1, "of the random source of searches, taken at clear", 1),
        ("units_random", 32, "ro", "", "its last draw"),
        ("samples", 48, "counter", "", "samples taken"),
        ("messages", 48, "counter", "", "samples whose feedback was above 0"),
    ),
)

QCN_RP = RegisterMap(
    module="qcn_rp",
    identity=0x5142_0002,
    version=2,
    summary="QCN reaction point: N limiters on one calculator",
    caps="number of limiters",
    registers=placed(
        rw("link_rate", 40, "bit/s", 10**10, "C, taken by every limiter at clear", 1),
        rw("time_reset", 45, "ps", 15 * 10**9, "interval of the timer"),
        rw("byte_reset", 40, "octets", 150_000, "interval of the byte counter"),
        rw("threshold", 16, "", 5, "expiries that end fast recovery"),
        rw("ai_rate", 40, "bit/s", 5_000_000, "active increase"),
        rw("hai_rate", 40, "bit/s", 50_000_000, "hyper-active increase"),
        rw("gd_num", 16, "", 1, "cut per unit of feedback, numerator"),
        rw("gd_den", 16, "", 128, "cut per unit of feedback, denominator", 1),
        rw("factor_num", 16, "", 1, "least factor of a cut, numerator; not above factor_den"),
        rw("factor_den", 16, "", 2, "least factor of a cut, denominator", 1),
        rw("min_rate", 40, "bit/s", 5_000_000, "the rate never falls below"),
        rw("cap_target", 1, "", 1, "cap the target rate at the link rate"),
        rw("jitter_on", 1, "", 1, "spread the intervals by +-15 %"),
        rw("seed_index", 16, "", 0, "the limiter that the next seed is for"),
        Register("seed", 0, 32, "command", "", "seeds that limiter's random source; while idle", 1),
        rw(
            "extra_fast_recovery",
            1,
            "",
            1,
            "1: of messages in a row the first alone sets the target and the byte counter",
        ),
        ("feedback_received", 48, "counter", "", "messages taken"),
        ("feedback_unassigned", 48, "counter", "", "messages that found no free limiter"),
    ),
)

TOKEN_BUCKET = RegisterMap(
    module="token_bucket",
    identity=0x5142_0003,
    version=1,
    summary="Token buckets of N limiters",
    caps="number of limiters",
    registers=placed(
        rw("depth", 63, "10^-12 bit", 3000 * 8 * 10**12, "of every bucket", 1),
        rw(
            "period",
            34,
            "ps",
            16_000_000,
            "between refills; 9 clocks per limiter at least",
            100_000,
        ),
        rw("granularity", 40, "bit/s", 0, "rates are cut down to a multiple; 0: exact"),
        rw("phase_index", 16, "", 0, "the limiter that the next phase is for"),
        Register("phase", 0, 62, "command", "ps", "when that limiter is refilled next; while idle"),
        ("charged_octets", 64, "counter", "octets", "of the frames that took tokens"),
    ),
)


SWITCH = RegisterMap(
    module="qcn_switch",
    identity=0x5142_0010,
    version=1,
    summary="QCN switch: routes. Its ports follow, each as a switch_port and a qcn_cp",
    caps="bits 7:0 ports, 15:8 width of a route's address, 31:16 octets per clock",
    registers=placed(
        rw("route_address", 24, "", 0, "address index that the next route is for"),
        Register(
            "route", 0, 9, "command", "", "sets the route: bit 8 there is one, bits 7:0 the port"
        ),
        counter("unroutable", 48, "", "frames to an address without a route"),
    ),
)

SWITCH_PORT = RegisterMap(
    module="switch_port",
    identity=0x5142_0011,
    version=3,
    summary="One port of a QCN switch: output queue, service rate, PAUSE",
    caps="bit 0: can notify the head's source, bit 1: obeys PFC, bits 7:2 n of 2^n units of 256 "
    "octets that occupancy is sampled in (0: it is not), bits 31:8 octets of the queue",
    registers=placed(
        rw("address", 24, "", 0, "address index of the port: source of its CNMs and PAUSE"),
        rw("capacity", 32, "octets", 150_000, "of the output queue"),
        rw("gain", 56, "10^-12 bit", 10**10 * 8000, "service rate (bit/s) times ps of a clock"),
        rw("quantum", 32, "ps", 51_200, "512 bit times of the port's link"),
        rw("pause_on", 1, "", 0, "1: the queue asks for PAUSE"),
        rw("pause_high", 30, "octets", 110_000, "stop the neighbours above"),
        rw("pause_low", 30, "octets", 44_000, "let them go on below"),
        rw("pause_quanta", 16, "quanta", 65_535, "length of one PAUSE", 2),
        rw("pause_quantum", 32, "ps", 51_200, "512 bit times of the fastest neighbour"),
        Register(
            "hold_port", 0, 1, "command", "", "1 holds the port until 0 or a PAUSE; 0: it goes on"
        ),
        counter("queue_octets", 32, "octets", "in the queue"),
        counter("queue_most", 32, "octets", "most there ever were"),
        counter("octets_out", 64, "octets", "that left the queue"),
        counter("frames_in", 48, "", "that came for the queue, the lost ones too"),
        counter("frames_out", 48, "", "that left the queue"),
        counter("frames_lost", 48, "", "that found no room"),
        counter("feedback_value", 6, "", "of the last message"),
        counter("pause_sent", 48, "", "PAUSE frames sent by this port"),
        counter("pause_asked", 48, "", "PAUSE frames that this queue had other ports send"),
        counter("pause_received", 48, "", "PAUSE frames obeyed"),
        counter("paused_clocks", 48, "clocks", "in which the port was held"),
        counter("sent_octets", 64, "octets", "of all frames that the port sent"),
        counter("sent_frames", 48, "", "all frames that the port sent"),
        counter("overrun", 48, "", "frames that the port's input could not take"),
        counter(
            "pause_superseded", 48, "", "PAUSE frames that a newer one replaced before they left"
        ),
    ),
)

NIC = RegisterMap(
    module="qcn_nic",
    identity=0x5142_0020,
    version=2,
    summary="QCN NIC: its port, and what its flows and limiters are at",
    caps="bits 7:0 limiters, 15:8 flows, 31:16 octets per clock",
    registers=placed(
        rw("quantum", 32, "ps", 51_200, "512 bit times of the port's link"),
        Register(
            "hold_port", 0, 1, "command", "", "1 holds the port until 0 or a PAUSE; 0: it goes on"
        ),
        rw("limiter_index", 16, "", 0, "the limiter that `limiter_*` tell of"),
        ("limiter_active", 1, "ro", "", "1: it limits"),
        ("limiter_rate", 40, "ro", "bit/s", "current rate"),
        ("limiter_target", 61, "ro", "bit/s", "target rate"),
        ("limiter_byte_stage", 24, "ro", "", "stage of the byte counter"),
        ("limiter_timer_stage", 24, "ro", "", "stage of the timer"),
        ("limiter_feedback", 48, "ro", "", "messages for it"),
        ("limiter_flow", 17, "ro", "", "bit 16: it has a flow, bits 15:0 which"),
        counter("feedback_ignored", 48, "", "messages for no flow of this NIC"),
        counter("feedback_lost", 48, "", "messages that came too close to each other"),
        counter("pause_received", 48, "", "PAUSE frames obeyed"),
        counter("paused_clocks", 48, "clocks", "in which the port was held"),
        counter("sent_octets", 64, "octets", "of all frames that the port sent"),
        counter("sent_frames", 48, "", "all frames that the port sent"),
        counter("host_lost", 48, "", "frames of the host that found no room"),
    ),
)

FLOW_SOURCES = RegisterMap(
    module="flow_sources",
    identity=0x5142_0021,
    version=1,
    summary="Packet generators of a NIC: constant bit rate, a host queue each",
    caps="bits 15:0 flows, 31:16 frames of a host queue at most",
    registers=placed(
        rw("index", 16, "", 0, "the flow that `commit` sets and `flow_*` tell of"),
        rw("whole", 62, "ps", 12_000_000, "interval of the frames, whole ps"),
        rw("rest", 40, "", 0, "what is left of the division by the rate"),
        rw("rate", 40, "bit/s", 10**9, "of the source", 1),
        rw("start", 62, "ps", 0, "when its first frame is due, counted from a start only"),
        rw("length", 16, "octets", 1500, "of a frame, without FCS", 70),
        rw("room", 16, "frames", 1, "of the host queue", 1),
        rw("source", 24, "", 0, "address index"),
        rw("destination", 24, "", 0, "address index"),
        rw("priority_code", 3, "", 0, "of its frames"),
        rw("flow", 32, "", 0, "number of the flow"),
        Register(
            "commit", 0, 2, "command", "", "bit 0: the flow is on; bit 1: it starts, see `start`"
        ),
        ("flow_frames", 64, "ro", "", "frames sent"),
        ("flow_octets", 64, "ro", "octets", "sent"),
        ("flow_waiting", 16, "ro", "frames", "in the host queue"),
        rw("tos", 8, "", 0, "TOS octet in the IP header of its frames"),
    ),
)

DELAY_LINE = RegisterMap(
    module="delay_line",
    identity=0x5142_0030,
    version=1,
    summary="Delay line: a stream's frames, each as late as is set",
    caps="octets that it holds at most",
    registers=placed(
        rw("delay", 40, "ps", 0, "of every frame that comes from now on; none while not enabled"),
        counter("octets", 32, "octets", "in the line"),
        counter("frames_out", 48, "", "that have left"),
        counter("dropped", 48, "", "frames that found no room"),
    ),
)

PACKET_GENERATOR = RegisterMap(
    module="packet_generator",
    identity=0x5142_0031,
    version=1,
    summary="Packet generator: one flow of constant bit rate; enable starts it, its fields stand",
    caps="octets per clock",
    registers=placed(
        rw("whole", 62, "ps", 12_000_000, "interval of the frames, whole ps"),
        rw("rest", 40, "", 0, "what is left of the division by the rate; below the rate"),
        rw("rate", 40, "bit/s", 10**9, "of the source", 1),
        rw("length", 16, "octets", 1500, "of a frame, without FCS", 70),
        rw("source", 24, "", 0, "address index"),
        rw("destination", 24, "", 0, "address index"),
        rw("priority_code", 3, "", 0, "of its frames"),
        rw("ecn", 2, "", 0, "code point in the IP header"),
        rw("flow", 32, "", 0, "number of the flow"),
        counter("frames", 64, "", "made since the last clear; the number of the next one"),
    ),
)

CARD_CLOCK = RegisterMap(
    module="card_clock",
    identity=0x5142_0032,
    version=1,
    summary="Clock of a card: the time that starts of flows and phases of buckets are set in",
    caps="0",
    registers=placed(
        counter("now", 62, "ps", "since the reset; it runs whether enabled or not"),
    ),
)

MAPS = (
    QCN_CP,
    QCN_RP,
    TOKEN_BUCKET,
    KERNEL_POINT,
    KERNEL_LIMITER,
    SWITCH,
    SWITCH_PORT,
    NIC,
    FLOW_SOURCES,
    DELAY_LINE,
    PACKET_GENERATOR,
    CARD_CLOCK,
)
