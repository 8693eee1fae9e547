"""Pause cascades: a paused device fills up and pauses its upstream neighbours.

A spell of pause that a node sends on one port is put down to the latest spell that the node
itself suffered on another port and that was going on (or had ended less than `slack_ns` before)
when the first began. The tree of these steps is the saturation tree of 802.1Qbb networks.

That needs to know which device a capture was taken at. tailback's captures say so: an interface
`node.port` with the direction of each frame. Where names or directions are missing, no step is
guessed at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

OUT, IN = 2, 1
LOOK_BACK = 64
"""Spells of a node among which a cause is looked for, from the latest back."""
LINK_NS = 1_000_000
"""The longest that a pause frame is thought to be under way on one link."""
DIRECTIONS = {0: "unknown", IN: "in", OUT: "out"}


@dataclass(frozen=True)
class CapturePoint:
    """Capture point of a link's pause frames: node, port, direction."""

    node: str
    port: str
    direction: int


def capture_point_of(name: str, direction: int) -> CapturePoint | None:
    """The point of an interface called `node.port`; None when it has another name."""
    node, dot, port = name.rpartition(".")
    if not dot or not node or not port or direction not in (IN, OUT):
        return None
    return CapturePoint(node, port, direction)


def cascade_steps(
    spells: np.ndarray, places: list[CapturePoint | None], slack_ns: int = 0
) -> list[tuple[int, int]]:
    """(cause, effect) as rows of `spells` (SPELL[n]); `places` belong to the links.

    A spell has at most one cause: the latest that had begun.
    """
    found = []
    for node in sorted({one.node for one in places if one is not None}):
        suffered = _rows(spells, places, node, IN)
        sent = _rows(spells, places, node, OUT)
        if not len(suffered) or not len(sent):
            continue
        order = suffered[np.argsort(spells["begin_ns"][suffered], kind="stable")]
        begins, ends = spells["begin_ns"][order], spells["end_ns"][order]
        ports = np.array([_port(places, link) for link in spells["link"][order].tolist()])
        for effect in sent.tolist():
            begin = spells["begin_ns"][effect]
            last = int(np.searchsorted(begins, begin, side="right"))
            near = slice(max(last - LOOK_BACK, 0), last)
            here = _port(places, int(spells["link"][effect]))
            fits = np.flatnonzero((ends[near] + slack_ns >= begin) & (ports[near] != here))
            if len(fits):
                found.append((int(order[near][fits[-1]]), effect))
    return sorted(found, key=lambda step: int(spells["begin_ns"][step[1]]))


def _rows(
    spells: np.ndarray, places: list[CapturePoint | None], node: str, direction: int
) -> np.ndarray:
    links = [
        index
        for index, one in enumerate(places)
        if one is not None and one.node == node and one.direction == direction
    ]
    return np.flatnonzero(np.isin(spells["link"], links))


def _port(places: list[CapturePoint | None], link: int) -> str:
    one = places[link]
    return "" if one is None else one.port


def both_ends_of_link(
    spells: np.ndarray, places: list[CapturePoint | None], sources: list[int]
) -> list[tuple[int, int]]:
    """(sent, suffered): the same pause at both ends of its link, as rows of `spells`.

    `sources` are the senders' MAC addresses per link. A spell that is suffered belongs to the
    latest spell that another node sent with that address and priority at most LINK_NS before.
    """
    found = []
    source = np.array(sources, np.int64)[spells["link"]]
    for effect in _all(spells, places, IN).tolist():
        node = places[spells["link"][effect]]
        same = (source == source[effect]) & (spells["priority"] == spells["priority"][effect])
        lag = spells["begin_ns"][effect] - spells["begin_ns"]
        fits = np.flatnonzero(same & (lag >= 0) & (lag <= LINK_NS))
        fits = np.array(
            [
                row
                for row in fits.tolist()
                if (other := places[spells["link"][row]]) is not None
                and node is not None
                and other.node != node.node
                and other.direction == OUT
            ],
            np.int64,
        )
        if len(fits):
            found.append((int(fits[spells["begin_ns"][fits].argmax()]), effect))
    return found


def _all(spells: np.ndarray, places: list[CapturePoint | None], direction: int) -> np.ndarray:
    links = [i for i, one in enumerate(places) if one is not None and one.direction == direction]
    return np.flatnonzero(np.isin(spells["link"], links))


def depth(causes: list[tuple[int, int]], same: list[tuple[int, int]]) -> dict[int, int]:
    """Steps of each spell from its cascade's root; `same` are `both_ends_of_link` spells."""
    cause_of = {effect: cause for cause, effect in causes}
    sent_of = {suffered: sent for sent, suffered in same}
    levels: dict[int, int] = {}
    for row in sorted({row for step in causes for row in step}):
        level, at, passed = 0, row, {row}
        while at in cause_of or at in sent_of:
            level += at in cause_of
            at = cause_of.get(at, sent_of.get(at, at))
            if at in passed:  # a circle: pauses that hold each other up
                break
            passed.add(at)
        levels[row] = level
    return levels
