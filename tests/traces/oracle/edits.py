"""Captures in which a few frames were exchanged, moved or rewritten: what a defective device does
once. Where nothing reacts to what is changed, the rest of the capture stays right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from orchestrator.engine.frames import frame_layout
from orchestrator.engine.records import CNM, DATA
from orchestrator.recording import PortCapture, Recording
from traces.pytest_plugin.decoded_frames import Frames

US = 10**6
LATE_PS = 500 * US
CEILING = 40


@dataclass(frozen=True)
class Edit:
    """What is done to a recording, the node that is to blame, and the rule that it breaks."""

    name: str
    rule: str
    node: str
    apply: Callable[[Recording], None]
    plan: str = "open"
    settings: tuple[str, ...] = ()
    says: str = ""
    """What stands in the reason."""
    shows_without_seed: bool = False
    clocked: bool = True
    """Whether a clocked device's tolerances leave the reason to be seen."""


def port(recording: Recording, entity: str) -> PortCapture:
    """What was captured at a port."""
    return next(one for one in recording.captures if f"{one.node}.{one.port}" == entity)


def frames(captured: PortCapture) -> np.ndarray:
    """Descriptors of all its frames; those that came in have the kind -1."""
    found = Frames.of(captured.times_ps, captured.outgoing, captured.lengths, captured.octets)
    read = found.fields.copy()
    read["kind"][~captured.outgoing] = -1
    return read


def arrays(captured: PortCapture) -> list[str]:
    """Names of what has a row per frame."""
    return [f.name for f in fields(captured) if isinstance(getattr(captured, f.name), np.ndarray)]


def taken_out(captured: PortCapture, row: int) -> dict[str, np.ndarray]:
    """Remove a frame; its rows."""
    taken = {name: getattr(captured, name)[row : row + 1].copy() for name in arrays(captured)}
    for name in taken:
        setattr(captured, name, np.delete(getattr(captured, name), row, axis=0))
    return taken


def put_in(captured: PortCapture, frame: dict[str, np.ndarray]) -> None:
    """Add a frame at its time."""
    row = int(np.searchsorted(captured.times_ps, frame["times_ps"][0]))
    for name, value in frame.items():
        setattr(captured, name, np.insert(getattr(captured, name), row, value, axis=0))


def exchanged(captured: PortCapture, one: int, other: int) -> None:
    """Two frames of equal length take each other's place."""
    assert captured.lengths[one] == captured.lengths[other]
    captured.octets[[one, other]] = captured.octets[[other, one]]


def messages(captured: PortCapture) -> np.ndarray:
    """Rows of the messages that left."""
    return np.flatnonzero(frames(captured)["kind"] == CNM)


def message_apart(captured: PortCapture, *, near: bool) -> int:
    """A message whose next one comes within LATE_PS, or long after it."""
    rows = messages(captured)
    gaps = np.diff(captured.times_ps[rows])
    fit = gaps < LATE_PS - 20 * US if near else gaps > LATE_PS + 20 * US
    return int(rows[np.flatnonzero(fit)[2]])


def swapped_in_the_queue(recording: Recording) -> None:
    """A frame leaves the queue before one that was there first."""
    out = port(recording, "switch.sink")
    flow = frames(out)["flow"]
    row = 300 + int(np.flatnonzero(flow[300:-1] != flow[301:])[0])
    exchanged(out, row, row + 1)


def overtaken_in_the_queue(recording: Recording) -> None:
    """Five frames overtake one."""
    out = port(recording, "switch.sink")
    out.octets[300:306] = np.roll(out.octets[300:306], -1, axis=0)


def lost_in_the_queue(recording: Recording) -> None:
    """A frame never leaves, and those behind it take the places that were theirs."""
    out = port(recording, "switch.sink")
    out.octets[300:-1] = out.octets[301:]
    taken_out(out, len(out.times_ps) - 1)


def sent_out_of_another_port(recording: Recording) -> None:
    """A message goes to the other source, by the way to it."""
    one, other = port(recording, "switch.n1"), port(recording, "switch.n2")
    address = other.octets[messages(other)[0], :6].copy()
    frame = taken_out(one, int(messages(one)[6]))
    frame["octets"][0, :6] = address
    put_in(other, frame)


def sent_to_another_address(recording: Recording) -> None:
    """A message has the other source's address, and goes the way of its own."""
    one, other = port(recording, "switch.n1"), port(recording, "switch.n2")
    one.octets[messages(one)[6], :6] = other.octets[messages(other)[0], :6]


def late(recording: Recording, *, near: bool) -> None:
    """A message leaves LATE_PS after its port was free; `near`: behind the next one."""
    one = port(recording, "switch.n1")
    frame = taken_out(one, message_apart(one, near=near))
    frame["times_ps"] += LATE_PS
    put_in(one, frame)


def late_and_alone(recording: Recording) -> None:
    late(recording, near=False)


def late_and_overtaken(recording: Recording) -> None:
    late(recording, near=True)


def clipped(recording: Recording) -> None:
    """No value is above a ceiling that there is not."""
    for captured in recording.captures:
        for row in messages(captured):
            value = captured.octets[row, frame_layout.CNM_FEEDBACK + 1]
            captured.octets[row, frame_layout.CNM_FEEDBACK + 1] = min(int(value), CEILING)


def early(recording: Recording, slots: int, idle_ps: int) -> None:
    """The flow that is limited first sends a frame so many slots of the other flow too early, each
    of those frames one slot later; behind them the port idles so long, so that nothing waits."""
    places = [port(recording, name) for name in ("nic.switch", "switch.nic", "switch.sink")]
    found = [keys(captured) for captured in places]
    told = messages(places[1])
    sampled = {tuple(key) for key in frames(places[1])[["flow", "sequence"]][told].tolist()}
    flow, begun = found[1][told[0]][0], places[1].times_ps[told[0]] + 2000 * US
    sent = places[0].times_ps
    for last in np.flatnonzero(sent > begun).tolist():
        run = found[0][last - slots : last + 1]
        alone = [key[0] for key in run] == [1 - flow] * slots + [flow]
        passed = all(key in at for key in run for at in found)
        if alone and passed and sent[last] - sent[last - 1] > idle_ps and not sampled & set(run):
            for captured, at in zip(places, found, strict=True):
                rows = [at.index(key) for key in run]
                captured.octets[rows] = captured.octets[[rows[-1], *rows[:-1]]]
            return
    raise AssertionError("there is no such place")


def keys(captured: PortCapture) -> list[tuple[int, int]]:
    """(flow, sequence) of each frame, that of messages included."""
    found = Frames.of(captured.times_ps, captured.outgoing, captured.lengths, captured.octets)
    seen: list[tuple[int, int]] = []
    for frame in found.fields:
        data = frame["kind"] == DATA
        seen.append((int(frame["flow"]), int(frame["sequence"]) if data else -1))
    return seen


def early_in_a_limited_slot(recording: Recording) -> None:
    """Its limiter holds it back: the port had nothing to send before its frame."""
    early(recording, 2, 13 * US)


def early_in_an_unlimited_slot(recording: Recording) -> None:
    """Four slots are longer than a limiter's period, and its frames wait for one at most."""
    early(recording, 4, 0)


EDITS = (
    Edit("two frames swapped", "queue.service", "switch", swapped_in_the_queue, says="order"),
    Edit("one frame overtaken", "queue.service", "switch", overtaken_in_the_queue, says="order"),
    Edit("one frame lost", "queue.drop", "switch", lost_in_the_queue, says="missing"),
    Edit(
        "message out of another port",
        "cp.culprit",
        "switch",
        sent_out_of_another_port,
        says="switch.n2",
        shows_without_seed=True,
    ),
    Edit(
        "message to another address",
        "cp.culprit",
        "switch",
        sent_to_another_address,
        says="address",
        shows_without_seed=True,
    ),
    Edit("message late", "cp.delay", "switch", late_and_alone, shows_without_seed=True),
    Edit(
        "message late and overtaken",
        "cp.delay",
        "switch",
        late_and_overtaken,
        says="500",
        shows_without_seed=True,
    ),
    Edit("value clipped too low", "cp.quantise", "switch", clipped, says=str(CEILING)),
    Edit(
        "early in a limited flow's slot",
        "rp.rate",
        "nic",
        early_in_a_limited_slot,
        plan="qcn",
        says="earlier",
    ),
    Edit(
        "early in an unlimited flow's slot",
        "rp.rate",
        "nic",
        early_in_an_unlimited_slot,
        plan="qcn",
        settings=("nodes.nic.reaction_points=1",),
        clocked=False,  # found, by when its source made the next frames
        says="earlier",
    ),
)
