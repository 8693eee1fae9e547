"""What a relay in the middle of a link may do to frames (tests/trials/relay.py).

Each makes a rule from a strength: so many frames that are hit, or a time in seconds.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from orchestrator.engine.frames import frame_layout as at
from tests.trials.relay import Rule, straight

AMONG = 1000
"""The frames that are hit lie among so many, the first of a run."""
BEHIND = 4
"""A frame out of order comes so many later: of two flows, one of them is its own."""
AGAIN_S = 0.02


def hits(count: float) -> set[int]:
    """The numbers of so many frames, evenly spread."""
    return {AMONG * (place + 1) // (int(count) + 1) for place in range(int(count))}


def _at(count: float, hit: Callable[[bytes], list[tuple[float, bytes]]]) -> Rule:
    chosen = hits(count)
    return lambda number, frame: hit(frame) if number in chosen else straight(number, frame)


def lost(count: float) -> Rule:
    """Frames vanish."""
    return _at(count, lambda frame: [])


def doubled(count: float) -> Rule:
    """Frames come twice."""
    return _at(count, lambda frame: [(0.0, frame), (0.0, frame)])


def replayed(count: float) -> Rule:
    """Frames come once more, long after."""
    return _at(count, lambda frame: [(0.0, frame), (AGAIN_S, frame)])


def corrupted(count: float) -> Rule:
    """An octet is turned round: of the EtherType, or of the address that it comes from.

    Not of the MAC addresses' own part or the padding: no node of a run reads those, as none would
    know the frame of another hop, and what nobody reads changes nothing.
    """
    places = itertools.cycle((at.TYPE, at.IP + 15))

    def hit(frame: bytes) -> list[tuple[float, bytes]]:
        place = next(places)
        return [(0.0, frame[:place] + bytes([frame[place] ^ 0xFF]) + frame[place + 1 :])]

    return _at(count, hit)


def swapped(count: float) -> Rule:
    """Frames come behind later ones."""
    chosen, held = hits(count), dict[int, bytes]()

    def rule(number: int, frame: bytes) -> list[tuple[float, bytes]]:
        if number in chosen:
            held[number + BEHIND] = frame
            return []
        late = held.pop(number, None)
        return [(0.0, frame)] if late is None else [(0.0, frame), (0.0, late)]

    return rule


def exchanged(count: float) -> Rule:
    """One is lost, the next comes twice: as many as were sent."""
    chosen = hits(count)

    def rule(number: int, frame: bytes) -> list[tuple[float, bytes]]:
        if number in chosen:
            return []
        return [(0.0, frame)] * (2 if number - 1 in chosen else 1)

    return rule


def late(seconds: float) -> Rule:
    """Every frame takes so much longer."""
    return lambda number, frame: [(seconds, frame)]


def bunched(seconds: float) -> Rule:
    """Frames go on together, once in so many seconds."""
    return lambda number, frame: [(seconds - time.monotonic() % seconds, frame)]
