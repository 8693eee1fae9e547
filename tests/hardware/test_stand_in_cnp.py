"""The CNP figures held to simulated NICs: paces drawn by a seed, right and wrong."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.hardware import erring_nic
from tests.hardware import test_nic_cnp as suite
from tests.hardware.cnp_pacing import described, marked_pairs
from tests.hardware.nic_port import captured_device, simulated_packets
from tests.hardware.stand_in import Figures
from tests.hardware.test_nic_cnp import CAUSELESS, CLOSE, FIRST_MARKS, INTERVAL, MISSING, Paced
from traces.pytest_plugin.nic_description import PORT, QUEUE_PAIR, CnpPacing
from traces.pytest_plugin.roce_packets import ACK_OPCODE, RocePackets, other_ends
from traces.pytest_plugin.target_runner import Lab

ALL = {CLOSE, MISSING, CAUSELESS, FIRST_MARKS, INTERVAL}
US = 10**6


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    erring_nic.install(monkeypatch)


def packets_of(stated: CnpPacing, nic: dict[str, Any]) -> RocePackets:
    """Packets at the port of a NIC of some settings, with the marks of the suite."""
    return simulated_packets(suite.plan_of(stated, nic))


def judged(stated: CnpPacing, nic: dict[str, Any]) -> tuple[Paced, Figures]:
    """A NIC of some settings, and its figures."""
    found = Paced(marked_pairs(packets_of(stated, nic)), stated, 0, "simulated")
    return found, figures_of(found)


def figures_of(found: Paced) -> Figures:
    """The five figures."""
    figures, stated = Figures(), found.stated
    suite.test_cnps_of_one_pace_keep_their_distance(found, figures)
    suite.test_a_mark_that_is_due_a_cnp_gets_one(found, figures)
    suite.test_each_cnp_has_a_mark_that_caused_it(found, figures)
    for one in (
        suite.test_the_first_cnp_follows_the_mark_that_is_stated,
        suite.test_the_interval_is_that_which_is_stated,
    ):
        try:
            one(found, figures)
        except pytest.skip.Exception:
            assert figures.missed or not stated.min_time_between_cnps
    return figures


def stated_of(seed: int) -> CnpPacing:
    """A drawn description."""
    rng = random.Random(seed)
    return CnpPacing(
        min_time_between_cnps=rng.choice([4, 8, 20, 50]),
        per=rng.choice([QUEUE_PAIR, PORT]),
        marks=rng.choice([1, 1, 2]),
        response=rng.choice([US, 2 * US]),
    )


def nic_of(per: str, interval_us: float, marks: int, **more: int) -> dict[str, Any]:
    """Settings of a NIC with such a pace."""
    name = "erring-pair" if per == QUEUE_PAIR else "erring-port"
    interval = f"{int(interval_us * 1000)}ns"
    return {
        "notification_point": {"plugin": name, "interval": interval, "least_marks": marks, **more}
    }


@pytest.mark.parametrize("seed", range(8))
def test_a_nic_that_paces_as_stated_passes(seed: int) -> None:
    one = stated_of(seed)
    if one.per == PORT:
        one = one.model_copy(update={"marks": 1})  # a port counts marks of all its pairs
    found, figures = judged(one, nic_of(one.per, one.min_time_between_cnps, one.marks))
    assert figures.missed == set(), figures.why
    assert set(figures.kept) == ALL
    assert sum(len(pair.cnps) for pair in found.pairs) > 20


@pytest.mark.parametrize("interval", [0, 4, 50])
def test_our_nic_passes(interval: int) -> None:
    one = CnpPacing(min_time_between_cnps=interval)
    _, figures = judged(one, suite.point(one))
    assert figures.missed == set(), figures.why


WAYS: dict[str, set[str]] = {
    "paces by port": {MISSING},
    "paces by queue pair": {CLOSE},
    "longer": {MISSING, INTERVAL},
    "shorter": {CLOSE},
    "not at all": {CLOSE},
    "more marks": {MISSING, FIRST_MARKS},
    "skips": {MISSING},
    "twice": {CLOSE},
    "once": {MISSING},
    "unmarked packets": {CAUSELESS},
    "late": {MISSING},
}
"""How a NIC errs, and the figures that miss it for every drawn description."""


def erring(way: str, stated: CnpPacing, rng: random.Random) -> dict[str, Any]:
    """Settings of a NIC that errs in one of WAYS."""
    per, interval, marks = stated.per, float(stated.min_time_between_cnps), stated.marks
    more: dict[str, int] = {}
    if way == "paces by port":
        per = PORT
    elif way == "paces by queue pair":
        per = QUEUE_PAIR
    elif way == "longer":
        interval = interval * rng.uniform(2.2, 4) + 2
    elif way == "shorter":
        interval = max(interval / rng.uniform(2, 4), 0) - 1
    elif way == "not at all":
        interval = 0
    elif way == "more marks":
        marks += rng.randint(1, 3)
    elif way in ("skips", "twice"):
        more["every"] = rng.randint(3, 6)
    faults = {
        "skips": erring_nic.SKIPS,
        "twice": erring_nic.TWICE,
        "once": erring_nic.ONCE,
        "unmarked packets": erring_nic.UNMARKED,
        "late": erring_nic.LATE,
    }
    return nic_of(per, max(interval, 0), marks, fault=faults.get(way, erring_nic.RIGHT), **more)


@pytest.mark.parametrize("seed", range(22))
def test_a_nic_that_errs_misses(seed: int) -> None:
    way, rng = list(WAYS)[seed % len(WAYS)], random.Random(seed)
    per = {"paces by port": QUEUE_PAIR, "paces by queue pair": PORT}.get(way)
    update = {"per": per or QUEUE_PAIR}
    if way != "more marks":
        update["marks"] = 1
    one = stated_of(100 + seed).model_copy(update=update)
    _, figures = judged(one, erring(way, one, rng))
    assert WAYS[way] <= figures.missed, (way, one, figures.missed, figures.why)


def test_a_reason_is_one_that_an_engineer_would_give() -> None:
    one = CnpPacing(min_time_between_cnps=8)
    _, figures = judged(one, nic_of(PORT, 8, 1))
    said = "gets no CNP within 1 us, while the last CNP to any was 1.783 us before: the NIC does "
    assert said + "not pace per queue pair; " in figures.why[MISSING]
    _, figures = judged(one, nic_of(QUEUE_PAIR, 3, 1))
    first = figures.why[CLOSE].partition(";")[0]
    assert first == (
        "a CNP to queue pair 0x800000 of 10.0.0.0 follows another one by 3 us (at 23.2393 us)"
    )


def renumbered(octets: np.ndarray) -> np.ndarray:
    """The same frames with other queue pair numbers, as those that a driver gives."""
    found = octets.copy()
    flow = found[:, 53].astype(np.int64)
    to_nic = found[:, 51] == 0x80
    found[:, 51] = 0
    found[:, 52] = np.where(to_nic, 0x12, 0x0A)
    found[:, 53] = np.where(to_nic, 0x40 + 5 * flow, 0xC0 + 3 * flow)
    return found


@pytest.mark.parametrize(("interval", "expected"), [(8, set()), (3, {CLOSE, INTERVAL})])
def test_a_capture_of_another_nic_is_judged(
    tmp_path: Path, interval: float, expected: set[str]
) -> None:
    """Its queue pairs have any numbers; acknowledgements tell which end belongs to which."""
    one = CnpPacing(min_time_between_cnps=8)
    plan = suite.plan_of(one, nic_of(QUEUE_PAIR, interval, 1))
    does = 'does = ["cnp"]\n[cnp]\nmin_time_between_cnps = 8\n'
    device = captured_device(tmp_path, plan, renumbered, does)
    found = suite.measured(Lab("software", device=device))
    assert [str(pair) for pair in found.pairs] == [
        f"queue pair {0x1240 + 5 * flow:#x}" for flow in range(3)
    ]
    assert [pair.back for pair in found.pairs] == [0x0AC0 + 3 * flow for flow in range(3)]
    figures = figures_of(found)
    assert figures.missed == expected, figures.why


def test_queue_pairs_without_acknowledgements_are_left_out() -> None:
    """Nothing tells where their CNPs go."""
    one = CnpPacing()
    packets = packets_of(one, suite.point(one))
    assert len(other_ends(packets)) == 3
    silent = packets.where((packets.opcode != ACK_OPCODE) | (packets.pair != 0x400001))
    assert [number for _, number in other_ends(silent)] == [0x800000, 0x800002]
    assert described(marked_pairs(silent)).startswith(
        "58 CNPs for 152 marked packets of 2 queue pairs"
    )
