"""Admission of connections: rate, share of one address, and which newcomer gives way."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from orchestrator.connection_bounds import ConnectionBounds, Denied, Limits

LIMITS = Limits(4, 2, 8, 3, accepted_s=100.0, accepted_of_source_s=5.0)


@dataclass(eq=False)
class Peer:
    source: str
    began_s: float = 0.0
    keyed: bool = False


def test_an_address_has_its_rate_and_others_theirs() -> None:
    bounds = ConnectionBounds(LIMITS)
    now = time.monotonic() + 10.0
    none: list[Peer] = []
    for _ in range(5):
        assert bounds.admit("a", now, none) is None
    with pytest.raises(Denied, match="5 new connections per second"):
        bounds.admit("a", now, none)
    assert bounds.admit("b", now, none) is None
    assert bounds.admit("a", now + 1.0, none) is None


def test_the_oldest_newcomer_of_the_largest_source_gives_way() -> None:
    bounds = ConnectionBounds(LIMITS)
    now = time.monotonic() + 10.0
    known = [Peer("a", 2.0), Peer("a", 1.0), Peer("a", 0.0, keyed=True)]
    assert bounds.admit("a", now, known) is known[1]
    assert bounds.admit("b", now, known) is None
    known += [Peer("b", 0.5), Peer("c", 0.1)]
    assert bounds.admit("d", now, known) is known[1], "not the oldest of all"


def test_connections_that_may_use_the_server_are_bounded_and_give_way_to_none() -> None:
    bounds = ConnectionBounds(LIMITS)
    now = time.monotonic() + 10.0
    known = [Peer("a", keyed=True) for _ in range(3)]
    with pytest.raises(Denied, match="3 connections of one address"):
        bounds.admit("a", now, known)
    known += [Peer("b", keyed=True), Peer("c", keyed=True)]
    with pytest.raises(Denied, match="more than 8 connections"):
        bounds.admit("d", now, known)
