"""Messages of the feed: reports of a run, and requests to it.

The same messages come from a run on this machine and from a controller. Every one names its run
and the version of this format; on a wire each is a frame of JSON, behind it the frames of its
arrays (see `orchestrator.live.feed_codec`). Times are ps of the run, rates bit/s, sizes octets.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

VERSION = 1
MOST_TEXT = 1_000_000
"""Characters of the longest text in a message, a plan's."""

MOST_FRAMES = 50
"""Most frames in one answer."""

Name = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=4000)]


class Message(BaseModel):
    """Base of all messages; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    run: Name = ""
    """Identifier of the run; empty in a request: the only run."""


# --- reports of a run

Stage = Literal["preparing", "compiling", "running", "writing", "done", "failed", "aborted"]
LIVE: frozenset[str] = frozenset({"preparing", "compiling", "running", "writing"})
"""Stages of a run that has not ended."""


class Machine(BaseModel):
    """A machine of a run and the nodes that live on it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    nodes: list[Name]
    target: Name
    state: Name = "up"
    lease_s: float | None = None
    """Remaining lease; None: no lease, the run is a process of this machine."""
    clock_error_s: float | None = None
    """Error of its clock against the run's; None: it is the run's clock."""


class RunState(Message):
    """Progress of the run. Sent when it changes and every second, as a heartbeat.

    `verdict` and `folder` are there when it is done, `reason` when it failed or was aborted.
    """

    kind: Literal["state"] = "state"
    plan: Name
    target: Name
    seed: int
    stage: Stage
    detail: Text = ""
    now_ps: int = 0
    duration_ps: int
    pace: float | None = None
    """Seconds of the run per second of the clock; None: as fast as it goes, or real time."""
    accepts: list[Name] = []
    """Kinds of commands that can be carried out now."""
    machines: list[Machine] = []
    watchers: int = 0
    verdict: Name | None = None
    folder: Text | None = None
    reason: Text | None = None


class ColumnName(BaseModel):
    """One sampled quantity, as in orchestrator.recording.Column."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    node: Name
    entity: Name
    quantity: Name
    unit: Name
    kind: Literal["gauge", "counter"]


class RunDescription(Message):
    """The resolved plan and what its samples hold: sent first, and again when the plan changed.

    `plan_text` has in its timeline what was changed live: saved, it repeats the run.
    """

    kind: Literal["described"] = "described"
    plan_text: Annotated[str, Field(max_length=MOST_TEXT)]
    columns: list[ColumnName]


class Samples(Message):
    """Rows `first` to before `first + len(times_ps)` of the samples, in the order of the columns.

    Rows that are missing before `first` were dropped, because this watcher was slow; `dropped`
    counts all of them so far. `Watch` with `from_row` brings them again while the run has them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    kind: Literal["samples"] = "samples"
    first: int = Field(ge=0)
    dropped: int = 0
    times_ps: np.ndarray = Field(exclude=True)  # int64[n]
    values: np.ndarray = Field(exclude=True)  # int64[n, columns]


class RunEvent(Message):
    """Event: a step of the timeline, or a live change.

    `number` counts the events of a run from 0, so that none is taken twice.
    """

    kind: Literal["event"] = "event"
    number: int = Field(ge=0)
    time_ps: int
    what: Name
    entity: Name
    detail: dict[str, Any] = {}


class Row(BaseModel):
    """One expectation: bounds in its unit; `met` None while its phase is not over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    metric: Name
    of: Name
    phase: Name
    min: float | None = None
    max: float | None = None
    value: float | None = None
    unit: Name = ""
    met: bool | None = None
    uncertain: bool = False


class Judgement(Message):
    """The expectations as far as they can be judged; `final` when the run is over."""

    kind: Literal["judged"] = "judged"
    final: bool
    verdict: Name | None = None
    rows: list[Row] = []
    fidelity: dict[str, Any] = {}


Level = Literal["info", "warning", "error"]


class LogLine(Message):
    """Line of the log."""

    kind: Literal["said"] = "said"
    number: int = Field(ge=0)
    level: Level = "info"
    text: Text


class Answer(Message):
    """Answer to a request: done or not, from which time on, or the reason of the refusal."""

    kind: Literal["answer"] = "answer"
    request: Name
    done: bool
    at_ps: int | None = None
    text: Text = ""


class CapturedFrame(BaseModel):
    """A frame that was captured: `length` octets on the wire without FCS, the first of them in hex.

    `outgoing`: it left through the port.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    port: Name
    time_ps: int
    outgoing: bool
    length: int = Field(ge=0)
    octets: Annotated[str, Field(max_length=20_000, pattern="^([0-9a-f]{2})*$")]


class CapturedFrames(Message):
    """The answer to a `FramesNear` that was not refused, in order of time."""

    kind: Literal["frames"] = "frames"
    request: Name
    frames: Annotated[list[CapturedFrame], Field(max_length=MOST_FRAMES)]


Reply = Answer | CapturedFrames


# --- requests to a run


class Request(Message):
    """Base of requests. A retry with the same `request` gets the same answer and acts once."""

    request: Name = ""


class Watch(Request):
    """Subscription to all messages, samples from row `from_row` on; repeated as a heartbeat.

    `events` is the number of events that the watcher has, `lines` of the log's lines.
    """

    kind: Literal["watch"] = "watch"
    from_row: int = Field(0, ge=0)
    events: int = Field(0, ge=0)
    lines: int = Field(0, ge=0)


class Leave(Request):
    """End of the subscription."""

    kind: Literal["leave"] = "leave"


class SetValue(Request):
    """Change of the value of a plan's dotted key (nodes.switch.service_rate), as a step `set`."""

    kind: Literal["set"] = "set"
    key: Text
    to: str | int | float | bool


class Act(Request):
    """Action of a step: cut or mend a link, pause or resume a port, start or stop traffic."""

    kind: Literal["act"] = "act"
    verb: Literal["cut", "mend", "pause", "resume", "start", "stop"]
    of: Name


class FramesNear(Request):
    """Request for the captured frames nearest to an instant of the run, at most `most`."""

    kind: Literal["look"] = "look"
    time_ps: int = Field(ge=0)
    most: int = Field(ge=1, le=MOST_FRAMES)


class Pace(Request):
    """New pace: seconds of the run per second of the clock; None: as fast as possible."""

    kind: Literal["pace"] = "pace"
    factor: float | None = Field(None, ge=1e-6, le=1e6)


class Stop(Request):
    """End the run now, judge and keep what was measured."""

    kind: Literal["halt"] = "halt"


class Abort(Request):
    """End the run now and keep nothing."""

    kind: Literal["abort"] = "abort"


FeedMessage = Annotated[
    RunState | RunDescription | Samples | RunEvent | Judgement | LogLine | Answer | CapturedFrames,
    Field(discriminator="kind"),
]
FeedRequest = Annotated[
    Watch | Leave | SetValue | Act | FramesNear | Pace | Stop | Abort, Field(discriminator="kind")
]
COMMANDS = ("set", "act", "pace", "halt", "abort")
"""Kinds of requests that change the run."""
