"""Typed views of the `message` record that a kernel fills, one for each meaning of its fields.

At run time `message` is always the same record (`FRAME`): the views name, for a reader and a type
checker, the fields that one answer or frame kind uses, and what they mean there. A field that a
view does not list has no meaning for it and travels as 0.
"""

from __future__ import annotations

from typing import Protocol


class CnmMessage(Protocol):
    """Notification to a source, of a congestion or notification point: CNM, RETURNED or CNP."""

    kind: int
    """Frame kind: CNM (default), RETURNED, CNP, or a kind of the plugin that `sends` declares."""
    feedback: int
    """Quantised feedback, 0 to 63 (6 bits of a CNM, IEEE 802.1Q); a CNP carries none."""
    priority: int
    """Of a notification point: priority in the VLAN tag, 0 to 7; at first that of the frame."""
    offset: int
    """Octets: queue length minus set point, Q - Q_eq. Travels as whole multiples of 64."""
    delta: int
    """Octets: queue length minus its value at the previous sample. Whole multiples of 64."""
    mark: int
    """NOTIFY_RANDOM_UNIT: draws before the buffer is scanned in order; 0: no bound."""


class StampMessage(Protocol):
    """Telemetry stamp of the answer STAMP (in-band network telemetry, HPCC)."""

    offset: int
    """Octets that wait behind the frame."""
    delta: int
    """Octets that have left the queue, the frame included; travels modulo 2^32."""
    feedback: int
    """bit/s at which the queue is served; travels in kbit/s."""


class SignalMessage(Protocol):
    """Only stamp of a frame: STAMP_IF_LARGER, STAMP_IF_SMALLER (draft-ravi-ippm-csig)."""

    offset: int
    """Signal that is compared, 0 to 2^32 - 1, in a unit of the algorithm."""
    delta: int
    """Octets that have left the queue, the frame included; travels modulo 2^32."""
    feedback: int
    """bit/s at which the queue is served; travels in kbit/s."""


class ProbeMessage(Protocol):
    """PROBE of a reaction point, which switches may rewrite on its way."""

    feedback: int
    """bit/s: the current rate of the source."""


class PauseMessage(Protocol):
    """PAUSE or PFC of a pause (IEEE 802.3 and 802.1Q)."""

    kind: int
    """Frame kind: PAUSE (default) or PFC."""
    feedback: int
    """Quanta of 512 bit times, 0 to 65535; 0 ends the pause."""
    mark: int
    """PFC: bit n for priority n of the queue's lane; 0: all priorities of the lane."""


class GrantMessage(Protocol):
    """GRANT of a pause: credit of a link."""

    kind: int
    """Frame kind: GRANT."""
    sequence: int
    """Octets that the neighbour may have sent in all, since the run began."""


class SegmentMessage(Protocol):
    """Segment that a transport's `send` chooses."""

    sequence: int
    """Number of the segment in its flow, from 0 on."""
    mark: int
    """TOS octet of the frame; ECN codepoint in the low two bits (RFC 3168)."""
    feedback: int
    """1: of a RoCEv2 packet, that it requests an acknowledgement (AckReq)."""


class AckMessage(Protocol):
    """ACK or SACK of a transport's `arrived` or `trimmed`."""

    kind: int
    """Frame kind: SACK for a selective one; any other value sends an ACK."""
    sequence: int
    """Segments that are there without a gap; set it in any case, also for the answer NOTHING."""
    offset: int
    """SACK: number of the segment that it answers. ACK: a value of the transport's own."""
    inner: int
    """SACK: bitmap of that segment (bit 0) and those before it that are there."""


class CreditMessage(Protocol):
    """CREDIT of a receiver to the source of a flow."""

    kind: int
    """Frame kind: CREDIT (default), or a kind of the plugin that `sends` declares."""
    flow: int
    """Flow whose source gets it; that of the frame at first."""
    sequence: int
    """Octets that the flow was granted in all."""


class RequestMessage(Protocol):
    """REQUEST of a transport, for the answer REQUEST_CREDIT."""

    sequence: int
    """Octets in all that the flow wants credit for."""
    offset: int
    """Octets that the flow sends without credit."""


class StageMessage(Protocol):
    """Changes of a frame by a delay line that declares `alters_frames`, beside its answer."""

    mark: int
    """FCS_WRONG or FCS_RIGHT: the frame's octets are corrupted; 0: they are not."""
    copies: int
    """Copies that follow the frame, 0 to 16; each passes the stages behind this one by itself."""
    due: int
    """ps that the frame is held back beyond the answer: frames behind it overtake it."""
