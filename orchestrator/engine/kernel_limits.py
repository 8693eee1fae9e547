"""Limits of kernels: what one may answer, assign to and send, and the sentences about what is not.

Compiled, a kernel is held to them by `engine.numba_backend.guarded_lowering`; uncompiled, by
`breach_of`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from orchestrator.engine.kernel_answers import (
    NOTIFY_ARRIVING,
    NOTIFY_HEAD,
    NOTIFY_LARGEST,
    NOTIFY_RANDOM_UNIT,
    SEND,
)
from orchestrator.engine.records import CNM, CNP, CREDIT, GRANT, NEVER, PAUSE, PFC, RETURNED
from orchestrator.engine.settable_fields import (
    ENTITY,
    FRAME,
    MESSAGE,
    MESSAGE_FIELDS,
    SETTABLE,
    Bounds,
    numbered_bounds,
    word_of,
)


class MessageBounds(NamedTuple):
    """Bounds of a field of `message`, as a kernel that sends it left it."""

    bounds: Bounds
    kinds: frozenset[int]
    """Kinds of message that have them; empty: all."""


CORE_MESSAGES: Mapping[str, frozenset[int]] = {
    "congestion_point": frozenset({CNM, RETURNED, CNP}),
    "notification_point": frozenset({CNM, RETURNED, CNP}),
    "pause": frozenset({PAUSE, PFC}),
    "receiver": frozenset({CREDIT}),
}
"""Kind of algorithm -> kinds of message of the core that it sends."""
KIND_NAMES = {
    CNM: "CNM",
    PAUSE: "PAUSE",
    PFC: "PFC",
    GRANT: "GRANT",
    CREDIT: "CREDIT",
    RETURNED: "RETURNED",
    CNP: "CNP",
}
_SENDING: Mapping[str, frozenset[int]] = {
    "congestion_point": frozenset(
        {NOTIFY_ARRIVING, NOTIFY_HEAD, NOTIFY_RANDOM_UNIT, NOTIFY_LARGEST}
    ),
    "notification_point": frozenset({SEND}),
    "pause": frozenset({SEND}),
    "receiver": frozenset({SEND}),
}
_FEEDBACK = MessageBounds(Bounds("message", "feedback", 0, 63), frozenset({CNM}))
_MESSAGE_BOUNDS: Mapping[str, tuple[MessageBounds, ...]] = {
    "congestion_point": (_FEEDBACK,),
    "notification_point": (
        _FEEDBACK,
        MessageBounds(Bounds("message", "priority", 0, 7), frozenset()),
    ),
    "pause": (
        MessageBounds(Bounds("message", "feedback", 0, 0xFFFF), frozenset({PAUSE, PFC})),
        MessageBounds(Bounds("message", "mark", 0, 0xFF), frozenset({PFC})),
    ),
    "delay_line": (
        MessageBounds(Bounds("message", "mark", 0, 2), frozenset()),
        MessageBounds(Bounds("message", "copies", 0, 16), frozenset()),
        MessageBounds(Bounds("message", "due", 0, NEVER), frozenset()),
    ),
}


@dataclass(frozen=True)
class Limits:
    """What a kernel may answer, assign to and send: by the kind of its algorithm, its event, and
    what the algorithm declares."""

    answers: Collection[int] | None = None
    """Answers that have a meaning; None: all numbers."""
    kind: str = ""
    """Kind of algorithm; empty: it may assign to any field and send anything."""
    event: str = ""
    sends: frozenset[int] = frozenset()
    """Kinds of message that the algorithm declares beside those of the core."""
    unserved: frozenset[str] = frozenset()
    """Timers of its entity for which the algorithm has no kernel."""
    named: int = 0
    """How many timers a reaction point names."""
    alters: bool = False
    """True for a delay line whose `message` is read: it alters frames."""

    def settable(self, place: int) -> frozenset[str] | None:
        """Fields of the record at a place among its arguments; None: any."""
        if place == MESSAGE and self.kind == "delay_line" and not self.alters:
            return frozenset()
        if place == MESSAGE:
            return MESSAGE_FIELDS if self.kind else None
        fields = SETTABLE[self.kind].get(place) if self.kind in SETTABLE else None
        return fields - self.unserved if fields is not None else None

    @property
    def sending(self) -> frozenset[int]:
        """Answers with which it sends `message` as a frame of `message.kind`."""
        if self.event == "probe":
            return frozenset()
        return _SENDING.get(self.kind, frozenset())

    @property
    def kinds(self) -> frozenset[int]:
        """Kinds of message that it may send."""
        return CORE_MESSAGES.get(self.kind, frozenset()) | self.sends

    @property
    def message_bounds(self) -> tuple[MessageBounds, ...]:
        """Bounds of `message` when it sends, or of a delay line, whatever it answers."""
        if self.kind == "delay_line" and not self.alters:
            return ()
        return _MESSAGE_BOUNDS.get(self.kind, ())

    @property
    def sends_segments(self) -> bool:
        """True for the kernel of a transport that chooses a segment."""
        return (self.kind, self.event) == ("transport", "send")

    def __str__(self) -> str:
        answers = self.answers
        shown = answers if isinstance(answers, range | None) else sorted(answers)
        more = sorted(self.sends), sorted(self.unserved), self.named, self.alters
        return f"answers {shown} {self.kind} {self.event} {more}"


def shown_kinds(kinds: Collection[int]) -> str:
    """Kinds of message for people."""
    return ", ".join(f"{one} ({KIND_NAMES[one]})" if one in KIND_NAMES else str(one)
                     for one in sorted(kinds))  # fmt: skip


Bounded = list[tuple[Bounds, Any, list[int]]]


def bounded_values(limits: Limits, entity: Any, frame: Any) -> Bounded:
    """Bounds, record and values of each field that an uncompiled kernel may set."""
    found = []
    for place, record in ((ENTITY, entity), (FRAME, frame)):
        word = word_of(record.dtype)
        known = numbered_bounds(word if place == ENTITY else "frame") if word else {}
        for field in sorted(limits.settable(place) or ()):
            if field in known:
                values = [int(value) for value in np.atleast_1d(record[field])]
                found.append((known[field][1], record, values))
    return found


def breach_of(
    limits: Limits, answer: int, before: Bounded, entity: Any, frame: Any, message: Any
) -> tuple[str, str] | None:
    """Cause and remedy of the first value beyond its bounds that an uncompiled kernel left.

    `before`: the `bounded_values` before its call; what it has not changed is not its own.
    """
    after = bounded_values(limits, entity, frame)
    for (bounds, record, values), (*_, held) in zip(after, before, strict=True):
        for place, (value, old) in enumerate(zip(values, held, strict=True)):
            if value != old and bounds.field == "timers" and place >= limits.named:
                return timer_sentence(place, limits.named)
            if value != old and not bounds.hold(value, record):
                return value_sentence(bounds, value)
    if answer in limits.sending and int(message.kind) not in limits.kinds:
        return kind_sentence(int(message.kind), limits)
    if (
        limits.sends_segments
        and answer == SEND
        and not (0 <= int(message.sequence) < int(entity.available))
    ):
        return segment_sentence(int(message.sequence), int(entity.available))
    if answer in limits.sending or limits.alters:
        for bounds, kinds in limits.message_bounds:
            value = int(message[bounds.field])
            if (not kinds or int(message.kind) in kinds) and not bounds.hold(value, message):
                return value_sentence(bounds, value)
    return None


def value_sentence(bounds: Bounds, value: int) -> tuple[str, str]:
    """Cause and remedy of a value beyond its bounds."""
    return f"it set {bounds.record}.{bounds.field} to {value}", bounds.accepted


def kind_sentence(kind: int, limits: Limits | None) -> tuple[str, str]:
    """Cause and remedy of a message of a kind that the algorithm does not send."""
    known = f"{shown_kinds(limits.kinds)} are accepted" if limits else "see what it may send"
    return (
        f"it sends a message of kind {kind}",
        f"{known}; declare `sends` at the algorithm to send a frame type of the plugin's own",
    )


def segment_sentence(sequence: int, available: int) -> tuple[str, str]:
    """Cause and remedy of a segment that the flow does not have."""
    return (
        f"it sends segment {sequence}",
        f"the flow has {available} so far, counted from 0 (flow.available)",
    )


def timer_sentence(place: int, named: int) -> tuple[str, str]:
    """Cause and remedy of a timer that the reaction point does not name."""
    known = f"it names {named} (0 to {named - 1})" if named else "it names none"
    return f"it sets limiter.timers[{place}]", f"{known}; name one for it in `timers`"
