"""Requester of a RoCEv2 connection: what it counts, measures and sends again, over any channel."""

from __future__ import annotations

import random

import pytest

from orchestrator.engine.records import ACK, DATA, NEVER
from tests.plugins.scheme_driver import Driver
from traffic.go_back_n import NEGATIVE
from traffic.reliable_connection import RELIABLE_CONNECTION, ReliableConnection

US, MS = 10**6, 10**9
LENGTH = 1086


def requester(available: int, **params: int) -> Driver:
    """A sender with so many packets to send."""
    driver = Driver(RELIABLE_CONNECTION, ReliableConnection(**params))
    driver.set(available=available + params.get("first_psn", 0))
    return driver


def sends(driver: Driver, now: int, length: int = LENGTH) -> int | None:
    """The packet that it sends now; None: none. The node's books are kept as the engine does."""
    driver.message["sequence"] = driver.message["feedback"] = 0
    if driver.come("send", now) == 0:
        return None
    sequence = int(driver.message["sequence"][0])
    made, flight, highest = driver.octets_made, driver.flight, driver.highest
    driver.set(octets_made=made + length, flight=flight + length)
    driver.set(highest=max(highest, sequence + 1))
    return sequence


def answered(driver: Driver, expected: int, now: int, feedback: int = 0) -> int:
    """An acknowledgement comes; the time that it answers."""
    driver.come("acknowledged", now, kind=ACK, sequence=expected, feedback=feedback, created=0)
    return int(driver.frame["created"][0])


def test_it_counts_the_octets_of_the_packets_and_measures_by_its_own_times() -> None:
    driver = requester(3)
    for step, length in enumerate((1102, 1086, 90)):
        assert sends(driver, (step + 1) * US, length) == step
    assert sends(driver, 5 * US) is None
    assert answered(driver, 2, 50 * US) == 2 * US
    assert driver.acked == 1102 + 1086
    assert answered(driver, 2, 51 * US) == 2 * US
    assert driver.acked == 1102 + 1086
    assert answered(driver, 3, 52 * US) == 3 * US
    assert driver.acked == 1102 + 1086 + 90


def test_it_goes_back_to_the_packet_of_a_nak_and_measures_what_it_sent_again() -> None:
    driver = requester(10)
    assert [sends(driver, 1 * US) for _ in range(10)] == [*range(10)]
    answered(driver, 4, 20 * US, NEGATIVE)
    assert (driver.naks, driver.losses, driver.flight) == (1, 1, 0)
    assert [sends(driver, 30 * US) for _ in range(6)] == [*range(4, 10)]
    assert answered(driver, 5, 90 * US) == 30 * US
    answered(driver, 3, 91 * US, NEGATIVE)  # one that others have overtaken
    assert sends(driver, 92 * US) is None


@pytest.mark.parametrize("kind", ["nak", "timeout"])
def test_only_retries_without_progress_count(kind: str) -> None:
    driver = requester(5, retry_count=2, timeout=MS)
    now = US
    for expected, failed in ((0, 0), (0, 0), (1, 0), (1, 0), (1, 1)):
        while sends(driver, now) is not None:
            pass
        if kind == "nak":
            answered(driver, expected, now, NEGATIVE)
        else:
            answered(driver, expected, now)
            now += 2 * MS
            assert sends(driver, now) is None
        now += US
        assert int(driver.state["failed"][0]) == failed
    assert sends(driver, now) is None
    assert driver.next_frame == NEVER


def test_an_answer_to_what_was_never_sent_moves_nothing() -> None:
    driver = requester(5)
    sends(driver, US)
    answered(driver, 4000, 2 * US)
    assert int(driver.state["una"][0]) == 1
    assert driver.acked == LENGTH


@pytest.mark.parametrize("seed", range(12))
def test_both_ends_agree_over_any_channel(seed: int) -> None:
    """Packets and answers are lost at random for a while: all arrive in order, each octet is
    acknowledged once, and none is under way in the end."""
    rng = random.Random(seed)
    psn, every = rng.choice([0, 5, 2**24 - 20]), rng.choice([1, 3, 16])
    window, packets = rng.choice([1, 4, 64]), 150
    params = {"first_psn": psn, "ack_every": every, "window": window, "timeout": MS}
    source = requester(packets, **params)
    far = Driver(RELIABLE_CONNECTION, ReliableConnection(**params))
    source.set(highest=psn)
    far.set(ack_timer=NEVER)
    lengths = {psn + k: rng.choice([90, 1086, 1102]) for k in range(packets)}
    now, came, turns = US, [], 0
    while int(source.state["una"][0]) < psn + packets:
        turns += 1
        assert turns < 20_000
        loss = 0.2 if turns < 400 else 0
        sequence = sends(source, now, 0)
        arrived = None
        if sequence is not None:
            request = int(source.message["feedback"][0]) or sequence == psn + packets - 1
            source.set(octets_made=source.octets_made + lengths[sequence])
            arrived = (sequence, int(request)) if rng.random() >= loss else None
        answers = 0
        far.message["feedback"] = 0
        if arrived is not None:
            before = int(far.state["expected"][0]) or psn
            answers = far.come("arrived", now, kind=DATA, sequence=arrived[0], delta=arrived[1])
            if arrived[0] == before:
                came.append(arrived[0])
        elif far.ack_timer <= now:
            far.set(ack_timer=NEVER)
            answers = far.come("arrived", now, kind=ACK)
        if answers and rng.random() >= loss:
            expected, feedback = (int(far.message[n][0]) for n in ("sequence", "feedback"))
            answered(source, expected, now, feedback)
        assert int(source.state["failed"][0]) == 0 or loss > 0
        if int(source.state["failed"][0]):
            return
        if sequence is None:
            now = max(now + US, min(source.next_frame, far.ack_timer))
        now += US
    assert came == [*range(psn, psn + packets)]
    assert source.acked == sum(lengths.values())
