"""The figures of lost packets held to simulated NICs: right ones, and ones that err by a seed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.hardware import erring_nic
from tests.hardware import test_nic_recovery as suite
from tests.hardware.nic_port import captured_device, simulated_packets
from tests.hardware.stand_in import Figures
from tests.hardware.test_nic_recovery import (
    CAUSELESS,
    EARLY_ACK,
    IGNORED,
    NAK_TIME,
    NOT_ALL,
    OFF_TIME,
    PACKETS,
    RESENT_TIME,
    SAYS_NO,
    WINDOW,
    WRONG_NAK,
    Recovery,
)
from traces.pytest_plugin.nic_description import GoBackN
from traces.pytest_plugin.target_runner import Lab

ALL = {
    SAYS_NO,
    WRONG_NAK,
    EARLY_ACK,
    NAK_TIME,
    IGNORED,
    NOT_ALL,
    CAUSELESS,
    RESENT_TIME,
    OFF_TIME,
}
STATED = GoBackN(timeout=8, nak_time=10**6)
"""A packet takes 0.9 us, so a NAK behind two more is late."""


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    erring_nic.install(monkeypatch)


def figures_of(found: Recovery) -> Figures:
    """Those that say something."""
    figures = Figures()
    responder, requester = found.responder, found.requester
    tests: list[tuple[Any, tuple[Any, ...]]] = [
        (suite.test_each_gap_is_answered_by_a_nak, (responder, found)),
        (suite.test_a_gap_has_one_nak_with_its_psn, (responder,)),
        (suite.test_packets_behind_a_gap_are_not_acknowledged, (responder,)),
        (suite.test_the_nak_comes_in_time, (responder, found)),
        (suite.test_each_nak_is_answered_by_its_packet, (requester,)),
        (suite.test_all_packets_from_the_lost_one_on_are_resent, (requester,)),
        (suite.test_nothing_is_resent_without_a_cause, (requester,)),
        (suite.test_the_packet_comes_in_time, (requester, found)),
        (suite.test_what_is_not_answered_is_resent_after_the_timeout, (found,)),
    ]
    for one, arguments in tests:
        try:
            one(*arguments, figures)
        except pytest.skip.Exception:
            assert figures.missed, one
    return figures


def tried(stated: GoBackN = STATED, **drawn: Any) -> tuple[Recovery, Figures]:
    """A NIC in both parts, and its figures."""
    packets = simulated_packets(suite.plan_of(stated, **drawn))
    found = suite.judged(packets, stated, 0, "simulated")
    return found, figures_of(found)


def drawn_losses(rng: random.Random) -> dict[str, Any]:
    """Two packets that are lost and one that is late, a window and more apart."""
    first = rng.randrange(10, 30)
    second = first + rng.randrange(2 * WINDOW, 3 * WINDOW)
    return {"lost": (first, second), "late": second + rng.randrange(2 * WINDOW, 3 * WINDOW)}


@pytest.mark.parametrize("seed", range(6))
def test_our_nic_passes_wherever_packets_are_lost(seed: int) -> None:
    """Its responder has a gap for each, its requester a NAK; what it resends is what was sent
    behind the lost packet, a window at the most."""
    found, figures = tried(**drawn_losses(random.Random(seed)))
    assert figures.missed == set(), figures.why
    assert set(figures.kept) == ALL
    assert len(found.responder.gaps) >= 3
    assert len(found.requester.times) >= 3
    assert len(found.requester.timeouts) == 1
    assert PACKETS < found.responder.packets <= PACKETS + 6 * WINDOW


@pytest.mark.parametrize("timeout", [7, 9])
def test_the_timeout_is_the_exponent_that_is_stated(timeout: int) -> None:
    found, figures = tried(GoBackN(timeout=timeout))
    assert figures.missed == set(), figures.why
    assert found.requester.timeouts[0] == pytest.approx(4.096e6 * 2**timeout, rel=0.02)


RESPONDERS: dict[int, tuple[str, str]] = {
    erring_nic.NAKS_ALL: (WRONG_NAK, "is the second one for it"),
    erring_nic.NAKS_NONE: (SAYS_NO, "and the NIC sends no NAK"),
    erring_nic.NAKS_LATE: (SAYS_NO, "us later"),
    erring_nic.NAKS_BEFORE: (WRONG_NAK, "is missing"),
    erring_nic.TAKES_ALL: (EARLY_ACK, "has not come"),
    erring_nic.NAKS_COPIES: (WRONG_NAK, "where nothing is missing before PSN"),
}
REQUESTERS: dict[int, tuple[str, str]] = {
    erring_nic.LOST_ALONE: (NOT_ALL, "; go-back-N resends "),
    erring_nic.BUT_LOST: (CAUSELESS, "which no NAK asks for"),
    erring_nic.TOO_FAR: (CAUSELESS, "which no NAK asks for"),
    erring_nic.IGNORES: (IGNORED, "us behind its NAK"),
    erring_nic.TWO_TIMES: (NOT_ALL, "; go-back-N resends "),
    erring_nic.HALF: (NOT_ALL, "; go-back-N resends "),
}
"""Fault -> the figure that misses it, and what its reason says."""
TIMEOUTS = ("a quarter", "five times")


def erring(number: int) -> tuple[dict[str, Any], str, str]:
    """Settings of the NIC that errs in a way, the figure that misses it, and its words."""
    ways = [*RESPONDERS, *REQUESTERS]
    if number < len(ways):
        fault = ways[number]
        role, (figure, words) = (
            ("into", RESPONDERS[fault]) if fault in RESPONDERS else ("out", REQUESTERS[fault])
        )
        return {role: erring_nic.connection(fault)}, figure, words
    times = STATED.timeout_ps // 4 if number == len(ways) else 5 * STATED.timeout_ps
    return {"out": {"timeout": f"{times}ps"}}, OFF_TIME, ""


KINDS = len(RESPONDERS) + len(REQUESTERS) + len(TIMEOUTS)


@pytest.mark.parametrize("seed", range(2 * KINDS))
def test_a_nic_that_errs_misses(seed: int) -> None:
    """By the figure that is named for it; the other part of the NIC, which is right, by none."""
    settings, figure, words = erring(seed % KINDS)
    _, figures = tried(**settings, **drawn_losses(random.Random(seed)))
    assert figure in figures.missed, (settings, figures.why)
    assert words in figures.why[figure], figures.why[figure]
    of_responders = {SAYS_NO, WRONG_NAK, EARLY_ACK, NAK_TIME}
    mine = of_responders if "into" in settings else ALL - of_responders
    assert figures.missed <= mine, (settings, figures.missed, figures.why)


def test_a_reason_is_one_that_an_engineer_would_give() -> None:
    _, figures = tried(out=erring_nic.connection(erring_nic.LOST_ALONE))
    first = (suite.FIRST_PSN["out"] + 19) % (1 << 24)
    assert figures.why[NOT_ALL].startswith(
        f"queue pair 0x800000 goes back to PSN {first} and then sends {first + WINDOW} in place of "
        f"{first + 1}; go-back-N resends {first} to {first + WINDOW - 1}; "
    )


def renumbered(octets: np.ndarray) -> np.ndarray:
    """The same frames with other queue pair numbers, as those that a driver gives."""
    found = octets.copy()
    found[:, 52] = np.where(found[:, 51] == 0x80, 0x12, 0x0A)
    found[:, 51] = 0
    return found


def test_a_capture_of_another_nic_is_judged(tmp_path: Path) -> None:
    """Of one address: the NIC's own, by which the queue pairs to it are known."""
    plan = suite.plan_of(STATED, into=erring_nic.connection(erring_nic.NAKS_ALL))
    does = 'does = ["go_back_n"]\n[go_back_n]\nnak_time = "1us"\ntimeout = 8\n'
    device = captured_device(tmp_path, plan, renumbered, does)
    found = suite.measured(Lab("software", device=device))
    assert found.responder.packets > 20
    assert len(found.responder.gaps) == 1
    assert found.responder.gaps[0].pair == 0x1202
    assert WRONG_NAK in figures_of(found).missed
