"""Public interface for authors of plugins: algorithms, frame types, targets, commands.

    from tailback.plugin import DROP, FORWARD, Params, congestion_point, hookimpl, record

Every name is listed, with its meaning, in docs/reference/api.md. A plugin imports nothing else of
tailback; the other packages of the distribution are internal. A name is imported from its module at
its first use, so that a plugin that only defines algorithms does not load numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.lazy_exports import from_modules

# A type checker reads these imports and __all__, the interpreter reads SECTIONS; a test holds them
# equal.
# fmt: off
if TYPE_CHECKING:  # isort: off
    from orchestrator.algorithm import (
        AS_KERNELS, AS_VERILOG_TOO, Algorithm, Kernel, buffer_management, congestion_point,
        delay_line, messages, notification_point, pause, reaction_point, receiver, scheduler,
        traffic, transport, watchdog,
    )
    from orchestrator.assembly.recording_builder import record as record_run
    from orchestrator.assembly.world_assembly import assemble
    from orchestrator.capability import IN_ENGINE, IN_SOFTWARE, Capability
    from orchestrator.engine.frames.core_frame_types import CORE as CORE_FRAME_TYPES
    from orchestrator.engine.frames.frame_field import (
        checksum, ip, length, mac, near, number, shown,
    )
    from orchestrator.engine.frames.frame_type import (
        FIRST_OF_PLUGINS, FrameType, match_octets, write_octets,
    )
    from orchestrator.engine.frames.telemetry_header import (
        MOST_STAMPS, PORT as STAMP_PORT, QUEUED as STAMP_QUEUED, RATE as STAMP_RATE,
        SENT as STAMP_SENT, TIME as STAMP_TIME, WORDS as STAMP_WORDS, headers_of,
        since as stamp_growth, stamp_of, stamps_of,
    )
    from orchestrator.engine.intmath import (
        KBIT_NS, MOST_PRODUCT, mul_div, mul_div_capped, octets_in, rest_of, square_root,
    )
    from orchestrator.engine.jit import compiled, flow_state, word_at
    from orchestrator.engine.kernel_answers import (
        DROP, FCS_RIGHT, FCS_WRONG, FORWARD, LANE, LOST, NOTHING, NOTIFY_ARRIVING, NOTIFY_HEAD,
        NOTIFY_LARGEST, NOTIFY_RANDOM_UNIT, REFLECT, REQUEST_CREDIT, SEND, STAMP, STAMP_IF_LARGER,
        STAMP_IF_SMALLER, TRIM,
    )
    from orchestrator.engine.lfsr import jittered, lfsr_next
    from orchestrator.engine.node.event_loop import simulate
    from orchestrator.engine.node.transmitter import BIT_PS, quanta_time, wire_time
    from orchestrator.engine.records import (
        ACK, CE, CNM, CNP, CREDIT, DATA, DROPS, ECHO, ECT0, ECT1, FLOW, FRAME, GRANT, HOST, IGNORES,
        LIMITER, MOST_ENTROPY, NEVER, NODE, NONE, NOT_ECT, OBEYS, PAUSE, PFC, PORT, PROBE, QUEUE,
        REQUEST, RETURNED, SACK, SCHEDULER, TRIMMED, WITHDRAWN, record,
    )
    from orchestrator.engine.workload import (
        ENDLESS, HEADERS, ApplicationMessages, Connections, Schedule, Waiting,
    )
    from orchestrator.errors import BadInput, Problem, Refused, TailbackError
    from orchestrator.hookspecs import hookimpl
    from orchestrator.live.live_session import Session
    from orchestrator.message_views import (
        AckMessage, CnmMessage, CreditMessage, GrantMessage, PauseMessage, ProbeMessage,
        RequestMessage, SegmentMessage, SignalMessage, StageMessage, StampMessage,
    )
    from orchestrator.plan.algorithm_params import (
        EcnParams, Params, RatioLimit, Sender, from_file,
    )
    from orchestrator.plan.file_cache import cached_per_file
    from orchestrator.plan.quantity_types import Duration, Rate, Ratio, Size
    from orchestrator.plan.field_types import LONGEST_FRAME
    from orchestrator.plan.observables import Observed
    from orchestrator.plan.plan import Plan, ResolvedPlan
    from orchestrator.plan.units import (
        UnitError, parse_duration, parse_rate, parse_ratio, parse_size,
    )
    from orchestrator.profile.profile_store import read_profile
    from orchestrator.plan.metric import (
        BITS_PER_SECOND, BYTES, COUNT, COUNTER, GAUGE, HERTZ, HISTOGRAM, MESSAGES, NUMBER, RATIO,
        SECONDS, Metric, Unit,
    )
    from orchestrator.plan.target_options import TargetOptions
    from orchestrator.profile.quantiles import SHARES as QUANTILE_SHARES
    from orchestrator.progress import Progress, Report
    from orchestrator.recording import Column, Event, FrameSeen, Recording
    from orchestrator.rtl_module import Rtl, RtlDifference, RtlHunted, RtlOptions
    from orchestrator.target import Target
    from orchestrator.terminal.format_output import (
        console as output_console, print_json, quantity as format_quantity, table as text_table,
    )
    from traces.capture.capture_stream import open_capture
    from traces.capture.frame_batch import NO_TIME
    from traces.dissect.header_parser import dissect
    from traces.dissect.header_record import Kind as HeaderKind

__all__ = [
    "ACK", "AS_KERNELS", "AS_VERILOG_TOO", "BITS_PER_SECOND", "BIT_PS", "BYTES", "CE", "CNM", "CNP",
    "CORE_FRAME_TYPES", "COUNT", "COUNTER", "CREDIT", "DATA", "DROP", "DROPS", "ECHO", "ECT0",
    "ECT1", "ENDLESS", "FCS_RIGHT", "FCS_WRONG", "FIRST_OF_PLUGINS", "FLOW", "FORWARD", "FRAME",
    "GAUGE", "GRANT", "HEADERS", "HERTZ", "HISTOGRAM", "HOST", "IGNORES", "IN_ENGINE",
    "IN_SOFTWARE", "KBIT_NS", "LANE", "LIMITER", "LONGEST_FRAME", "LOST", "MESSAGES",
    "MOST_ENTROPY", "MOST_PRODUCT", "MOST_STAMPS", "NEVER", "NODE", "NONE", "NOTHING",
    "NOTIFY_ARRIVING", "NOTIFY_HEAD", "NOTIFY_LARGEST", "NOTIFY_RANDOM_UNIT", "NOT_ECT", "NO_TIME",
    "NUMBER", "OBEYS", "PAUSE", "PFC", "PORT", "PROBE", "QUANTILE_SHARES", "QUEUE", "RATIO",
    "REFLECT", "REQUEST", "REQUEST_CREDIT", "RETURNED", "SACK", "SCHEDULER", "SECONDS", "SEND",
    "STAMP", "STAMP_IF_LARGER", "STAMP_IF_SMALLER", "STAMP_PORT", "STAMP_QUEUED", "STAMP_RATE",
    "STAMP_SENT", "STAMP_TIME", "STAMP_WORDS", "TRIM", "TRIMMED", "WITHDRAWN", "AckMessage",
    "Algorithm", "ApplicationMessages", "BadInput", "Capability", "CnmMessage", "Column",
    "Connections", "CreditMessage", "Duration", "EcnParams", "Event", "FrameSeen", "FrameType",
    "GrantMessage", "HeaderKind", "Kernel", "Metric", "Observed", "Params", "PauseMessage", "Plan",
    "ProbeMessage", "Problem", "Progress", "Rate", "Ratio", "RatioLimit", "Recording", "Refused",
    "Report", "RequestMessage", "ResolvedPlan", "Rtl", "RtlDifference", "RtlHunted", "RtlOptions",
    "Schedule", "SegmentMessage", "Sender", "Session", "SignalMessage", "Size", "StageMessage",
    "StampMessage", "TailbackError", "Target", "TargetOptions", "Unit", "UnitError", "Waiting",
    "assemble", "buffer_management", "cached_per_file", "checksum", "compiled", "congestion_point",
    "delay_line", "dissect", "flow_state", "format_quantity", "from_file", "headers_of", "hookimpl",
    "ip", "jittered", "length", "lfsr_next", "mac", "match_octets", "messages", "mul_div",
    "mul_div_capped", "near", "notification_point", "number", "octets_in", "open_capture",
    "output_console", "parse_duration", "parse_rate", "parse_ratio", "parse_size", "pause",
    "print_json", "quanta_time", "reaction_point", "read_profile", "receiver", "record",
    "record_run", "rest_of", "scheduler", "shown", "simulate", "square_root", "stamp_growth",
    "stamp_of", "stamps_of", "text_table", "traffic", "transport", "watchdog", "wire_time",
    "word_at", "write_octets",
]

SECTIONS: dict[str, dict[str, str]] = {
    "Hooks and algorithms": {
        "orchestrator.hookspecs": "hookimpl",
        "orchestrator.algorithm": (
            "Algorithm congestion_point notification_point reaction_point pause delay_line "
            "traffic messages transport receiver watchdog scheduler buffer_management Kernel "
            "AS_KERNELS AS_VERILOG_TOO"
        ),
        "orchestrator.capability": "Capability IN_ENGINE IN_SOFTWARE",
        "orchestrator.plan.observables": "Observed",
        "orchestrator.rtl_module": "Rtl RtlOptions RtlDifference RtlHunted",
    },
    "Metrics": {
        "orchestrator.plan.metric": (
            "Metric Unit BYTES BITS_PER_SECOND SECONDS RATIO COUNT HERTZ NUMBER COUNTER GAUGE "
            "HISTOGRAM MESSAGES"
        ),
    },
    "Parameters": {
        "orchestrator.plan.algorithm_params": (
            "Params EcnParams RatioLimit Sender from_file"
        ),
        "orchestrator.plan.file_cache": "cached_per_file",
        "orchestrator.plan.quantity_types": "Size Duration Rate Ratio",
        "orchestrator.plan.units": "UnitError parse_size parse_duration parse_rate parse_ratio",
        "orchestrator.errors": "TailbackError BadInput Refused Problem",
    },
    "Kernel answers": {
        "orchestrator.engine.kernel_answers": (
            "FORWARD NOTIFY_ARRIVING NOTIFY_HEAD NOTIFY_RANDOM_UNIT NOTIFY_LARGEST DROP TRIM "
            "STAMP STAMP_IF_LARGER STAMP_IF_SMALLER LANE NOTHING SEND REFLECT REQUEST_CREDIT "
            "LOST FCS_WRONG FCS_RIGHT"
        ),
    },
    "Messages": {
        "orchestrator.message_views": (
            "CnmMessage StampMessage SignalMessage ProbeMessage PauseMessage GrantMessage "
            "SegmentMessage AckMessage CreditMessage RequestMessage StageMessage"
        ),
    },
    "Records": {
        "orchestrator.engine.records": (
            "record FRAME NODE PORT QUEUE LIMITER FLOW SCHEDULER NEVER NONE OBEYS IGNORES DROPS "
            "WITHDRAWN MOST_ENTROPY"
        ),
    },
    "Frame kinds and ECN": {
        "orchestrator.engine.records": (
            "DATA CNM PAUSE PFC GRANT SACK TRIMMED ACK HOST CREDIT REQUEST PROBE ECHO "
            "RETURNED CNP NOT_ECT ECT1 ECT0 CE"
        ),
    },
    "Compiled helpers": {
        "orchestrator.engine.jit": "compiled flow_state word_at",
        "orchestrator.engine.lfsr": "lfsr_next jittered",
        "orchestrator.engine.intmath": (
            "square_root mul_div mul_div_capped rest_of octets_in KBIT_NS MOST_PRODUCT"
        ),
        "orchestrator.engine.node.transmitter": "wire_time quanta_time BIT_PS",
    },
    "Telemetry stamps": {
        "orchestrator.engine.frames.telemetry_header": (
            "stamp_of stamps_of stamp_growth=since headers_of MOST_STAMPS STAMP_WORDS=WORDS "
            "STAMP_QUEUED=QUEUED STAMP_SENT=SENT STAMP_TIME=TIME STAMP_RATE=RATE "
            "STAMP_PORT=PORT"
        ),
    },
    "Frame types": {
        "orchestrator.engine.frames.frame_type": (
            "FrameType match_octets write_octets FIRST_OF_PLUGINS"
        ),
        "orchestrator.engine.frames.frame_field": "number mac ip shown near length checksum",
        "orchestrator.engine.frames.core_frame_types": "CORE_FRAME_TYPES=CORE",
    },
    "Traffic schedules": {
        "orchestrator.engine.workload": (
            "Schedule Connections ApplicationMessages Waiting ENDLESS HEADERS"
        ),
        "orchestrator.plan.field_types": "LONGEST_FRAME",
    },
    "Targets": {
        "orchestrator.target": "Target",
        "orchestrator.plan.target_options": "TargetOptions",
        "orchestrator.plan.plan": "Plan ResolvedPlan",
        "orchestrator.progress": "Progress Report",
        "orchestrator.recording": "Recording Column Event FrameSeen",
        "orchestrator.live.live_session": "Session",
        "orchestrator.assembly.world_assembly": "assemble",
        "orchestrator.assembly.recording_builder": "record_run=record",
        "orchestrator.engine.node.event_loop": "simulate",
    },
    "Measured input and output": {
        "orchestrator.profile.profile_store": "read_profile",
        "orchestrator.profile.quantiles": "QUANTILE_SHARES=SHARES",
        "traces.capture.capture_stream": "open_capture",
        "traces.capture.frame_batch": "NO_TIME",
        "traces.dissect.header_parser": "dissect",
        "traces.dissect.header_record": "HeaderKind=Kind",
        "orchestrator.terminal.format_output": (
            "print_json text_table=table output_console=console format_quantity=quantity"
        ),
    },
}
# fmt: on
"""Section of the reference -> module -> its names; `public=name` if the public name differs."""

_EXPORTS = {
    (pair := name.partition("="))[0]: f"{module}:{pair[2] or pair[0]}"
    for section in SECTIONS.values()
    for module, names in section.items()
    for name in names.split()
}

if not TYPE_CHECKING:
    __getattr__ = from_modules(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return __all__
