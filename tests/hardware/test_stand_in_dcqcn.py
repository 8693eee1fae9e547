"""The DCQCN figures held to simulated NICs whose parameters are those stated, and to others."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.hardware import test_nic_dcqcn as suite
from tests.hardware.dcqcn_reaction import windows
from tests.hardware.nic_port import simulated_packets
from tests.hardware.stand_in import Figures
from tests.hardware.test_nic_dcqcn import FIRST, OFF, RATE, Reaction
from traces.pytest_plugin.nic_description import ReactionPoint


def tried(stated: ReactionPoint, nic: dict[str, Any]) -> tuple[Reaction, Figures]:
    """A NIC of some settings, and its figures."""
    packets = simulated_packets(suite.plan_of(nic))
    found, figures = suite.judged(packets, stated, RATE, 0, "simulated"), Figures()
    suite.test_the_rate_behind_the_first_cnp_is_cut_by_the_rule(found, figures)
    suite.test_the_rate_follows_the_rule(found, figures)
    return found, figures


RIGHT: list[dict[str, int]] = [
    {},
    {"rpg_ai_rate": 40, "rpg_hai_rate": 200, "rpg_threshold": 5},
    {"rpg_time_reset": 55, "dce_tcp_g": 1000, "rpg_gd": 10, "rpg_min_dec_fac": 30},
    {"dce_tcp_rtt": 5, "clamp_tgt_rate": 1, "rpg_time_reset": 50},
    {"initial_alpha_value": 512, "rate_reduce_monitor_period": 20, "rpg_min_rate": 500},
]


@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_a_nic_that_follows_what_is_stated_passes(number: int) -> None:
    stated = ReactionPoint(**RIGHT[number])
    found, figures = tried(stated, suite.point(**stated.model_dump()))
    assert figures.missed == set(), figures.why
    assert set(figures.kept) == {FIRST, OFF}
    assert len(found.windows) > 2


WRONG: dict[str, tuple[int, int]] = {
    "rpg_gd": (10, 10),
    "rpg_min_dec_fac": (70, 90),
    "dce_tcp_g": (980, 1005),
    "dce_tcp_rtt": (4, 10),
    "rpg_time_reset": (40, 90),
    "rpg_byte_reset": (6000, 12_000),
    "rpg_ai_rate": (300, 800),
    "rpg_hai_rate": (1000, 3000),
    "rpg_threshold": (4, 8),
    "rate_reduce_monitor_period": (40, 90),
    "clamp_tgt_rate": (1, 1),
    "initial_alpha_value": (100, 400),
    "rpg_min_rate": (1500, 3000),
}
"""A parameter of NICs that err, and the values it is drawn from; what is stated is the default."""
CUTS_OTHERWISE = {"rpg_min_dec_fac", "initial_alpha_value", "rpg_byte_reset"}
"""Those that change the rate directly behind the first CNP."""


@pytest.mark.parametrize("seed", range(2 * len(WRONG)))
def test_a_nic_with_another_parameter_misses(seed: int) -> None:
    name = list(WRONG)[seed % len(WRONG)]
    value = random.Random(seed).randint(*WRONG[name])
    _, figures = tried(ReactionPoint(), suite.point(**{name: value}))
    assert OFF in figures.missed, (name, value, figures.why)
    assert (FIRST in figures.missed) == (name in CUTS_OTHERWISE), (name, value, figures.why)
    assert "Gb/s of the rule (alpha is " in figures.why[OFF]


def test_a_nic_that_ignores_cnps_misses_both() -> None:
    _, figures = tried(ReactionPoint(), {})
    assert figures.missed == {FIRST, OFF}
    assert figures.why[OFF].startswith("from 20")
    assert "sends 10 Gb/s, more than the 5 Gb/s" in figures.why[OFF]


def test_without_a_cnp_nothing_is_judged() -> None:
    packets = simulated_packets(suite.plan_of(suite.point()))
    assert windows(packets, ReactionPoint(), RATE, 0)
    early = packets.where(packets.times_ps < suite.MARKS_US[0][0] * 10**6)
    assert windows(early, ReactionPoint(), RATE, 0) == []
