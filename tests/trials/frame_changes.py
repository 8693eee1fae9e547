"""Distortions of frames by kind, for the relay in the middle of a link: drawn by a seed.

A distortion has a kind of frame ("data", or "control" for every other of ours), an action, and a
pattern in time: throughout, for a share of the frames, or in bursts.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.engine.frames import FOREIGN, decode, frame_layout, type_table
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_field import (
    AT,
    CHECKED,
    FLAGS,
    LOW,
    MASK,
    NUMBER,
    OCTETS,
    OP,
    READ,
)
from orchestrator.engine.frames.ipv4_header import checksum
from orchestrator.engine.records import DATA
from tests.trials.relay import Rule, straight

DATA_FRAMES, CONTROL_FRAMES = "data", "control"
HEADER_AT = {False: frame_layout.IP, True: frame_layout.IP + frame_layout.CNM_MSDU - 16}
"""Where an IPv4 header begins: that of a frame, that of the one that a message samples."""
FEW, BURST_S, EVERY_S = 0.1, 0.01, 0.05
"""Share of the frames that are hit where not all are; length and period of bursts (of the run)."""


@dataclass
class Seen:
    """A frame that came by: its octets and the number of its kind."""

    octets: np.ndarray
    kind: int

    @classmethod
    def of(cls, frame: bytes) -> Seen:
        """Read a frame; FOREIGN for one that is not of the run."""
        row = np.zeros(max(len(frame), 128), np.uint8)
        row[: len(frame)] = np.frombuffer(frame, np.uint8)
        return cls(row, decode(row, len(frame), empty_descriptors(1)[0]))

    def is_of(self, frames: str) -> bool:
        """True for a frame of "data" or of "control"."""
        return self.kind != FOREIGN and (self.kind == DATA) == (frames == DATA_FRAMES)


def with_checksum(octets: np.ndarray, kind: int) -> None:
    """Set the checksum of a frame's IPv4 header right, and of the one that it samples."""
    sample = bool(type_table()[kind].sample)
    header = HEADER_AT[sample]
    if sample or type_table()[kind].is_ip:
        octets[header + 10 : header + 12] = 0
        octets[header + 10 : header + 12] = divmod(int(checksum(octets, header)), 256)


Change = Callable[[Seen, random.Random], None]


def rewrite(seen: Seen, draw: random.Random) -> None:
    """Change a number that a node reads; checksums stay right."""
    kind = type_table()[seen.kind]
    fields = [
        field
        for field in kind.fields[: kind.fields_used]
        if field[OP] == NUMBER and field[FLAGS] & READ and not field[FLAGS] & CHECKED
    ]
    field = draw.choice(fields)
    bits = int(field[MASK]) % (1 << 62)
    flip = draw.randrange(1, bits + 1) << int(field[LOW])
    for place in range(int(field[OCTETS])):
        octet = flip >> 8 * (int(field[OCTETS]) - 1 - place) & 0xFF
        seen.octets[int(field[AT]) + place] ^= octet
    with_checksum(seen.octets, seen.kind)


def later(seen: Seen, draw: random.Random) -> None:
    """Move the time of creation that a frame carries by 0.2 ms (of the run)."""
    kind = type_table()[seen.kind]
    created = empty_descriptors(1).dtype.names.index("created")  # type: ignore[union-attr]
    for field in kind.fields[: kind.fields_used]:
        if field[1] == created and field[OP] == NUMBER and field[FLAGS] & READ:
            place = slice(int(field[AT]), int(field[AT] + field[OCTETS]))
            value = int.from_bytes(seen.octets[place].tobytes(), "big") + 200_000_000
            seen.octets[place] = list(value.to_bytes(int(field[OCTETS]), "big"))
            return with_checksum(seen.octets, seen.kind)
    rewrite(seen, draw)
    return None


def unmark(seen: Seen, draw: random.Random) -> None:
    """Clear a CE mark; the checksum stays right."""
    if type_table()[seen.kind].is_ip and seen.octets[frame_layout.IP + 1] & 3 == 3:
        seen.octets[frame_layout.IP + 1] ^= 1
        with_checksum(seen.octets, seen.kind)


def mark(seen: Seen, draw: random.Random) -> None:
    """Set a CE mark on a frame that a queue may mark; the checksum stays right."""
    if type_table()[seen.kind].is_ip and seen.octets[frame_layout.IP + 1] & 3 in (1, 2):
        seen.octets[frame_layout.IP + 1] |= 3
        with_checksum(seen.octets, seen.kind)


CHANGES: dict[str, Change] = {"rewrite": rewrite, "later": later, "unmark": unmark, "mark": mark}
MOVES = ("drop", "double", "replace", "delay", "jitter", "swap", "stall")


def rule(what: dict[str, Any], slow: float) -> Rule:
    """The rule of a drawn distortion. `what`: its frames, action, value (s, of the run), pattern
    and seed; `slow`: seconds of this machine for one of the run."""
    draw = random.Random(what["seed"])
    action, value = what["action"], what["value"] * slow
    held: list[bytes] = []
    Seen.of(bytes(64))  # compiled now, not while the first frames wait
    began = time.monotonic()
    log = os.open(what["log"], os.O_WRONLY | os.O_APPEND) if "log" in what else -1

    def hits() -> bool:
        if what["pattern"] == "some":
            return draw.random() < FEW
        since = (time.monotonic() - began) / slow
        return what["pattern"] == "always" or since % EVERY_S < BURST_S

    def act(number: int, frame: bytes) -> list[tuple[float, bytes]]:
        seen = Seen.of(frame)
        if not seen.is_of(what["frames"]):
            return straight(number, frame)
        if action == "swap" and held and draw.random() < 0.5:
            return [(0.0, frame), (0.0, held.pop())]
        if not hits():
            held[:] = held if action == "swap" else [frame]
            return straight(number, frame)
        before = seen.octets.copy()
        if action in CHANGES:
            CHANGES[action](seen, draw)
        if log >= 0 and (action not in CHANGES or (before != seen.octets).any()):
            os.write(log, b".")  # the trial counts the frames that were hit
        if action in CHANGES:
            return [(0.0, seen.octets[: len(frame)].tobytes())]
        if action == "drop":
            return []
        if action == "double":
            return [(0.0, frame), (0.0, frame)]
        if action == "replace":
            old = held[0] if held else frame
            held[:] = held or [frame]
            return [(0.0, old)]
        if action == "swap":
            held.append(frame)
            return [] if len(held) == 1 else [(0.0, held.pop(0))]
        if action == "stall":  # what comes in a while leaves together at its end
            return [(value - time.monotonic() % value, frame)]
        return [(value * (draw.random() if action == "jitter" else 1.0), frame)]

    return act
