"""Capture replay: frames at the times and with the lengths of a capture or of one of its flows.

The first frame of a source comes at its `start`, every further one as much later as it came behind
the first in the capture, divided by `speed`. Each is as long as it was, without FCS; the plan's
`frame` does not matter. An IP packet that was captured without a link header (raw IP, BSD loopback)
is longer by an Ethernet header. A frame shorter than `min_frame` is made as long as that, one
longer than `max_frame` is cut to that, and a note of the run says how many. A source that was held
(a full host queue, a stop) makes up for what it missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from tailback.plugin import (
    LONGEST_FRAME,
    NEVER,
    NONE,
    Algorithm,
    BadInput,
    Params,
    Ratio,
    RatioLimit,
    Sender,
    Size,
    cached_per_file,
    compiled,
    from_file,
    record,
    traffic,
    word_at,
)

KEY = (
    "source",
    "destination",
    "from_high",
    "from_low",
    "to_high",
    "to_low",
    "source_port",
    "destination_port",
    "qp",
)
"""Fields that tell flows apart."""
PS_PER_NS = 1000
MOST_PS = 10**17
"""A capture may last that long: 100 000 s, more than a day."""


@dataclass(frozen=True)
class Captured:
    """A capture's frames, int64[frames, 4] (ps since the first frame, octets without FCS, flow,
    direction; see `Trace`), and notes about what the capture itself lacks."""

    rows: np.ndarray
    notes: tuple[str, ...]


@cached_per_file
def read_capture(path: str) -> Captured:
    """The frames of a capture that a source can repeat, and what the file states of the others."""
    from tailback.plugin import NO_TIME, HeaderKind, dissect, open_capture

    control = [
        int(kind)
        for kind in (
            HeaderKind.CNM,
            HeaderKind.PAUSE,
            HeaderKind.PFC,
            HeaderKind.LLDP,
            HeaderKind.CNP,
        )
    ]
    numbers: dict[bytes, int] = {}
    parts = [np.zeros((0, 4), np.int64)]
    headerless, foreign = 0, dict[int, int]()
    with open_capture(path, ethernet=True) as stream:
        for batch in stream.batches():
            headers = dissect(batch, stream.interfaces)
            ethernet = np.array([one.is_ethernet for one in stream.interfaces])
            is_frame = ethernet[batch.interface]
            for number in batch.interface[~is_frame].tolist():
                linktype = stream.interfaces[number].linktype
                foreign[linktype] = foreign.get(linktype, 0) + 1
            keep = (batch.time_ns != NO_TIME) & ~np.isin(headers["kind"], control) & is_frame
            keys = np.stack([headers[name][keep].astype(np.int64) for name in KEY], axis=1)
            found, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            flows = np.zeros(len(found), np.int64)
            for index in np.argsort(first):
                key = found[index].tobytes()
                flows[index] = numbers.setdefault(key, len(numbers))
            part = np.empty((len(keys), 4), np.int64)
            part[:, 0] = batch.time_ns[keep]
            missing = np.array([one.missing_octets for one in stream.interfaces], np.int64)
            added = missing[batch.interface[keep]]
            headerless += int((added > 0).sum())
            part[:, 1] = batch.original[keep] + added
            part[:, 2] = flows[member.reshape(-1)] if len(keys) else 0
            part[:, 3] = batch.direction[keep]
            parts.append(part)
        notes = _capture_notes(stream, headerless, foreign)
    table = np.concatenate(parts)
    if not len(table) and foreign:
        odd = next(one for one in stream.interfaces if one.linktype in foreign)
        raise BadInput(path, f"its frames have the {odd.unreadable}")
    if not len(table):
        raise BadInput(path, "holds no frame that a source could repeat")
    table[:, 0] -= table[:, 0].min()
    longest = int(table[:, 0].max())
    if longest > MOST_PS // PS_PER_NS:
        raise BadInput(
            path,
            f"lasts {longest // 10**9} s: a source repeats one of {MOST_PS // 10**12} s at most",
        )
    table[:, 0] *= PS_PER_NS
    ordered = np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")])
    return Captured(ordered, tuple(notes))


def _capture_notes(stream: Any, headerless: int, foreign: dict[int, int]) -> list[str]:
    """What the file states that it lacks, and what of it is no sound frame.

    `headerless`: IP packets that were captured without a link header; `foreign`: link type -> its
    frames, of those that are no Ethernet.
    """
    lost = sum(one.dropped or 0 for one in stream.interfaces)
    untimed = sum(one.untimed for one in stream.interfaces)
    errors: dict[str, int] = {}
    for interface in stream.interfaces:
        for name, count in interface.link_errors.items():
            errors[name] = errors.get(name, 0) + count
    found = []
    if headerless:
        text = f"{headerless} captured IP packets have no link header and are sent with one of "
        found.append(text + "Ethernet, 14 B longer")
    for linktype, count in sorted(foreign.items()):
        text = f"{count} captured frames have the link type {linktype}, no Ethernet, and "
        found.append(text + "are not sent")
    if lost:
        found.append(f"the capture itself lost {lost} frames, which are not sent")
    if untimed:
        found.append(f"{untimed} captured frames have a time beyond the year 2262 and are not sent")
    if errors:
        what = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in errors.items())
        found.append(f"frames that were received with errors of the link ({what}) are sent too")
    if stream.damage is not None:
        found.append(f"the capture is damaged at {stream.damage} and is sent up to there")
    return found


TIME, LENGTH, FLOW, DIRECTION = range(4)
COLUMNS = 4


def load(path: str) -> np.ndarray:
    """int64[frames, COLUMNS] of a capture: ps since its first frame, octets, flow, direction.

    Flows are numbered in the order of their first frames. Control frames are left out. Raises
    BadInput for a file that is no capture or has no such frame.
    """
    return read_capture(path).rows


class Trace(Params):
    """Parameters of a source that repeats a capture."""

    former: ClassVar[dict[str, str]] = {
        "way": "direction",
        "longest": "max_frame",
        "shortest": "min_frame",
    }

    file: Annotated[str, *from_file(load)] = Field(description="a pcap or pcapng file")
    flow: int = Field(
        -1, ge=-1, le=10**6, description="index of a flow, in order of begin; -1: all"
    )
    direction: Literal["all", "in", "out"] = Field("all", description="captured direction")
    speed: Annotated[Ratio, RatioLimit(1_000_000)] = Field(
        Fraction(1), gt=0, le=10**6, description="speed-up; 2 is twice as fast"
    )
    min_frame: Size = Field(
        70, ge=70, le=LONGEST_FRAME, description="shorter frames become as long as this"
    )
    max_frame: Size = Field(
        LONGEST_FRAME, ge=70, le=LONGEST_FRAME, description="longer frames are cut to this"
    )
    repeat: bool = Field(False, description="begin again at its end")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min_frame > self.max_frame:
            raise ValueError("'min_frame' must not be above 'max_frame'")
        return self

    def captured(self) -> np.ndarray:
        """int64[frames]: octets of the capture's frames that are repeated, in order of time."""
        table = load(self.file)
        mine = np.ones(len(table), bool)
        if self.flow >= 0:
            mine &= table[:, FLOW] == self.flow
        if self.direction != "all":
            mine &= table[:, DIRECTION] == ("all", "in", "out").index(self.direction)
        return table[mine, LENGTH]

    def least_frame(self) -> int:
        """`min_frame`."""
        return self.min_frame

    def frame_lengths(self) -> tuple[int, int] | None:
        """As captured, within `min_frame` and `max_frame`; None where no frame is repeated."""
        lengths = self.captured()
        if not len(lengths):
            return None
        sent = np.clip(lengths, self.min_frame, self.max_frame)
        return int(sent[0]), int(sent.max())

    def frames_offered(self, sender: Sender) -> int | None:
        """The capture's frames, as often as they fit where they begin again."""
        table = load(self.file)
        lasts = max(int(table[-1, TIME] / self.speed), 1)
        return sender.flows * len(table) * (sender.span // lasts + 1 if self.repeat else 1)

    def notes(self) -> list[str]:
        """Notes of the run: which properties of the capture the replay does not repeat."""
        lengths = self.captured()
        if not len(lengths):
            return ["no frame of the capture is of the flow and direction that it names"]
        made = f"of {len(lengths)} captured frames"
        short = int((lengths < self.min_frame).sum())
        long = int((lengths > self.max_frame).sum())
        found = []
        if short:
            found.append(f"{short} {made} are shorter than {self.min_frame} B and sent as long")
        if long:
            found.append(f"{long} {made} are longer than {self.max_frame} B and cut to that")
        found += read_capture(self.file).notes
        if self.speed != 1:
            found.append(f"the capture's frames are sent at {self.speed} times their pace")
        return found


STATE = record("started", "row", "first", "begun", "made")
"""`made`: frames since the capture's first one, this time round."""


@compiled
def time_of(params, row):
    """ps of a row since the capture's first frame."""
    return min(max(word_at(params.file_address, COLUMNS * max(row, 0) + TIME), 0), MOST_PS)


@compiled
def scaled_span(params, span):
    """A span (ps) divided by the speed, rounded down; 2^61 at the most. In two parts, for the
    product of the span with a number of the ratio need not fit an int64."""
    whole = min(span // params.speed_num, NEVER // 2 // params.speed_den) * params.speed_den
    return whole + span % params.speed_num * params.speed_den // params.speed_num


@compiled
def is_selected(params, row):
    """True if a row is of the flow and direction that is replayed."""
    at = COLUMNS * row
    if params.flow >= 0 and word_at(params.file_address, at + FLOW) != params.flow:
        return False
    return params.direction == 0 or word_at(params.file_address, at + DIRECTION) == params.direction


@compiled
def next_selected_row(params, row):
    """The next row from `row` on that is wanted; NONE behind the last one."""
    while row < params.file_rows:
        if is_selected(params, row):
            return row
        row += 1
    return NONE


def on_next(state, params, flow, frame, now, message):
    """ps to the next frame, whose length is set; never after the last one."""
    if state.started == 0:
        state.started = 1
        state.begun = now
        state.row = next_selected_row(params, 0)
        state.first = state.row
    if state.row == NONE:
        return NEVER - now
    before = state.row
    state.row = next_selected_row(params, before + 1)
    if state.row == NONE and params.repeat != 0:
        # the gap from the last frame to the first is the mean one
        span = max(time_of(params, before) - time_of(params, state.first), 0)
        span += max(span // max(state.made, 1), 1)
        state.made = -1
        state.begun = min(state.begun + scaled_span(params, span), NEVER)
        state.row = state.first
    if state.row == NONE:
        return NEVER - now
    at = COLUMNS * state.row
    since = max(time_of(params, state.row) - time_of(params, state.first), 0)
    state.made += 1
    octets = word_at(params.file_address, at + LENGTH)
    flow.length = min(max(octets, params.min_frame), params.max_frame)
    return max(state.begun + scaled_span(params, since) - now, 0)


TRACE: Algorithm = traffic(
    "trace", "the times and lengths of a capture's frames", Trace, STATE, next=on_next
)
