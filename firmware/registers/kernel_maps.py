"""Register maps of algorithms that are compiled from their kernels."""

from __future__ import annotations

from firmware.registers.register_map import Register, RegisterMap, counter, placed, rw

KERNEL_POINT = RegisterMap(
    module="kernel_point",
    identity=0x5142_0004,
    version=2,
    summary="Congestion point compiled from its Python kernels, behind an arrival gate",
    caps="31 bits of the digest of its Verilog",
    registers=placed(
        rw("word_index", 16, "", 0, "bit 15: a field of the state, else a parameter; its place"),
        Register("word", 0, 64, "command", "", "sets that field, while no event is worked on"),
        ("state_word", 64, "ro", "", "the state's field at that place"),
        rw("arrivals_on", 1, "", 0, "1: frames that arrive are events"),
        rw("departures_on", 1, "", 0, "1: frames that leave the queue are events"),
        rw("line_rate", 40, "bit/s", 10**9, "of the port's link", 1),
        rw("service_rate", 40, "bit/s", 10**9, "of the queue", 1),
        rw("patience", 40, "ps", 10**9, "an event that waits longer is late"),
        rw("gated", 1, "", 0, "1: frames that leave the queue wait for the kernel's answer"),
        rw("allowance", 40, "ps", 10**9, "a frame that waits longer for it is a late event"),
        counter("messages", 48, "", "messages to sources"),
        counter("marked", 48, "", "frames whose mark changed"),
        counter("dropped", 48, "", "frames that the kernel dropped as they arrived"),
        counter("dropped_leaving", 48, "", "frames that the kernel dropped as they left"),
        counter("events", 48, "", "calls of kernels"),
        counter("late_events", 48, "", "events that waited longer than `patience`"),
        counter("lost_events", 48, "", "frames that found no room in the gate"),
        counter("longest_wait", 48, "ps", "from an event to its kernel's start, at most"),
        counter("longest_hold", 48, "ps", "from a frame's departure to its answer, at most"),
    ),
)

KERNEL_LIMITER = RegisterMap(
    module="kernel_limiter",
    identity=0x5142_0005,
    version=1,
    summary="Reaction point compiled from its Python kernels: N limiters on one module",
    caps="31 bits of the digest of its Verilog",
    registers=placed(
        rw("limiter", 16, "", 0, "the limiter whose state `word` and `state_word` are of"),
        rw("word_index", 16, "", 0, "bit 15: a field of the state, else a parameter; its place"),
        Register("word", 0, 64, "command", "", "sets that field, while no event is worked on"),
        ("state_word", 64, "ro", "", "the state's field at that place"),
        rw("link_rate", 40, "bit/s", 10**10, "C, taken by every limiter at clear", 1),
        rw("patience", 40, "ps", 10**9, "an event that waits longer is late"),
        counter("feedback_received", 48, "", "messages taken"),
        counter("feedback_unassigned", 48, "", "messages that found no free limiter"),
        counter("events", 48, "", "calls of kernels"),
        counter("late_events", 48, "", "events that waited longer than `patience`"),
        counter("longest_wait", 48, "ps", "from an event to its kernel's start, at most"),
    ),
)
