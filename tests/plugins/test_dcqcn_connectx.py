"""DCQCN as adapters do it: the kernels against the documented rule in floating point, and the names
and units of its parameters."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from orchestrator.engine.records import NEVER
from orchestrator.errors import BadInput
from plugins.connectx_parameters import DOCUMENTED
from plugins.dcqcn_rp import ALPHA_BITS, DCQCN_RP, DcqcnReactionPoint
from plugins.notification_point import NotificationPoint
from tests.plugins.scheme_driver import Driver

US = 10**6
LINK = 100 * 10**9
DEFAULTS = {
    "rpg_time_reset": 300,
    "rpg_byte_reset": 32_767,
    "rpg_threshold": 1,
    "rpg_ai_rate": 5,
    "rpg_hai_rate": 50,
    "rpg_gd": 11,
    "rpg_min_dec_fac": 50,
    "rpg_min_rate": 1,
    "rate_reduce_monitor_period": 4,
    "dce_tcp_g": 1019,
    "dce_tcp_rtt": 1,
    "clamp_tgt_rate": 0,
    "clamp_tgt_rate_after_time_inc": 1,
    "initial_alpha_value": 1023,
}
"""As the adapters' configuration tool lists them."""


@dataclass
class Rule:
    """The documented rule: rates in Mb/s, times in us, alpha as a share, all in floating point."""

    p: dict[str, int]
    link: float = LINK / 1e6
    rate: float = 0.0
    target: float = 0.0
    alpha: float = 0.0
    active: bool = False
    seen: bool = False
    waits: bool = False
    rise: str = ""
    cut_at: float = -1e18
    alpha_at: float = 1e18
    timer_at: float = 1e18
    octets: float = 0.0
    stages: dict[str, int] = field(default_factory=dict)

    def cnp(self, now: float) -> None:
        self.advance(now)
        if not self.active:
            self.active = True
            self.rate = self.target = self.link
            self.alpha = self.p["initial_alpha_value"] / 1024
            self.alpha_at = now + self.p["dce_tcp_rtt"]
        self.seen = True
        if now >= self.cut_at + self.p["rate_reduce_monitor_period"]:
            self.cut(now)
        else:
            self.waits = True

    def cut(self, now: float) -> None:
        after_time = self.rise == "time" and self.p["clamp_tgt_rate_after_time_inc"]
        if self.p["clamp_tgt_rate"] or self.rise == "bytes" or after_time:
            self.target = self.rate
        left = self.rate * (1 - self.alpha * 1024 / 2 ** self.p["rpg_gd"])
        least = self.rate * self.p["rpg_min_dec_fac"] / 100
        self.rate = min(max(left, least, self.p["rpg_min_rate"]), self.link)
        self.cut_at, self.waits, self.rise = now, False, ""
        self.stages = {"time": 0, "bytes": 0}
        self.octets = self.p["rpg_byte_reset"]
        self.timer_at = now + self.p["rpg_time_reset"]

    def advance(self, now: float) -> None:
        """Do what is due by now: a cut that waited, then alpha, then the timer."""
        while self.active:
            cut_at = self.cut_at + self.p["rate_reduce_monitor_period"] if self.waits else 1e18
            due = min(cut_at, self.alpha_at, self.timer_at)
            if due > now:
                return
            if cut_at <= due:
                self.cut(due)
            if self.alpha_at <= due:
                keep = self.p["dce_tcp_g"] / 1024
                self.alpha = keep * self.alpha + (1 - keep) * self.seen
                self.seen, self.alpha_at = False, due + self.p["dce_tcp_rtt"]
            if self.timer_at <= due:
                self.timer_at = due + self.p["rpg_time_reset"]
                self.increase("time")

    def sent(self, now: float, octets: int) -> None:
        self.advance(now)
        self.octets -= octets
        if self.octets <= 0:
            self.octets += self.p["rpg_byte_reset"]
            self.increase("bytes")

    def increase(self, by: str) -> None:
        self.rise = by
        self.stages[by] += 1
        if min(self.stages.values()) > self.p["rpg_threshold"]:
            self.target += self.p["rpg_hai_rate"]
        elif max(self.stages.values()) >= self.p["rpg_threshold"]:
            self.target += self.p["rpg_ai_rate"]
        self.rate = min((self.target + self.rate) / 2, self.link)
        self.target = min(self.target, self.link)


def drawn(rng: random.Random) -> dict[str, int]:
    """Parameters by NVIDIA's names, within what is documented."""
    return DEFAULTS | {
        "rpg_time_reset": rng.choice([20, 60, 300]),
        "rpg_byte_reset": rng.choice([6000, 32_767]),
        "rpg_threshold": rng.choice([1, 3, 5]),
        "rpg_ai_rate": rng.choice([5, 40, 1000]),
        "rpg_hai_rate": rng.choice([50, 5000]),
        "rpg_gd": rng.choice([10, 11]),
        "rpg_min_dec_fac": rng.choice([0, 25, 50, 95]),
        "rpg_min_rate": rng.choice([1, 2000]),
        "rate_reduce_monitor_period": rng.choice([1, 4, 50]),
        "dce_tcp_g": rng.choice([64, 960, 1019]),
        "dce_tcp_rtt": rng.choice([1, 7, 55]),
        "clamp_tgt_rate": rng.choice([0, 1]),
        "clamp_tgt_rate_after_time_inc": rng.choice([0, 1]),
        "initial_alpha_value": rng.choice([1, 512, 1023]),
    }


class Kernels:
    """The reaction point, with its timer fired when it is due."""

    def __init__(self, values: dict[str, Any]) -> None:
        params = DcqcnReactionPoint.from_table({"preset": "connectx", **values})
        self.rp = Driver(DCQCN_RP, params, rate=LINK, link_rate=LINK, backlog=9000, timer=NEVER)

    def advance(self, now: int) -> None:
        fired = 0
        while self.rp.timer <= now:
            self.rp.come("timer", int(self.rp.timer))
            fired += 1
            assert fired < 10_000, "the timer stays due"

    def come(self, event: str, now: int, **values: int) -> None:
        self.advance(now)
        self.rp.come(event, now, **values)

    @property
    def state(self) -> tuple[float, float, float]:
        """Rate and target (Mb/s), alpha."""
        alpha = int(self.rp.state["alpha"][0]) / (1 << ALPHA_BITS)
        return self.rp.rate / 1e6, self.rp.target / 1e6, alpha


@pytest.mark.parametrize("seed", range(12))
def test_the_kernels_follow_the_documented_rule(seed: int) -> None:
    """Bursts of CNPs and quiet times: each event, with what is due before it, takes rate, target
    and alpha to where the rule takes them, but for what integers round off. Where alpha is close to
    1 and a cut takes that share, 2^-20 of alpha are 1e-3 of the rate."""
    rng = random.Random(seed)
    values = drawn(rng)
    kernels, rule, now, cuts = Kernels(values), Rule(values), 0, set[float]()
    for _ in range(600):
        now += rng.choice([1, 1, 3, 20, 100 if rng.random() < 0.2 else 2]) * US + 1
        if rng.random() < 0.35 or not rule.active:
            kernels.come("feedback", now)
            rule.cnp(now / US)
        else:
            kernels.come("sent", now, length=1500)
            rule.sent(now / US, 1500)
        rate, target, alpha = kernels.state
        assert alpha == pytest.approx(rule.alpha, abs=2e-4)
        assert rate == pytest.approx(rule.rate, rel=3e-3)
        assert target == pytest.approx(rule.target, rel=3e-3)
        rule.rate, rule.target, rule.alpha = rate, target, alpha
        cuts.add(rule.cut_at)
    assert len(cuts) > 20


@pytest.mark.parametrize("clamp", [0, 1])
@pytest.mark.parametrize("after_time", [0, 1])
@pytest.mark.parametrize("rise", ["", "timer", "octets"])
def test_the_target_follows_the_rate_at_a_cut_only_after_a_rise(
    clamp: int, after_time: int, rise: str
) -> None:
    kernels = Kernels({"clamp_tgt_rate": clamp, "clamp_tgt_rate_after_time_inc": after_time})
    kernels.come("feedback", 0)
    if rise == "timer":
        kernels.advance(300 * US)
    elif rise == "octets":
        kernels.come("sent", US, length=32_767)
    before = int(kernels.rp.rate)
    kernels.come("feedback", 301 * US if rise == "timer" else 100 * US)
    follows = bool(clamp) or rise == "octets" or (rise == "timer" and bool(after_time))
    assert (kernels.rp.target == before) == follows
    assert follows or kernels.rp.target == LINK


def test_cnps_within_the_monitor_period_make_one_more_cut_when_it_is_over() -> None:
    kernels = Kernels({})
    kernels.come("feedback", 0)
    first = int(kernels.rp.rate)
    for now in (US, 2 * US, 3 * US):
        kernels.come("feedback", now)
        assert kernels.rp.rate == first
    kernels.advance(4 * US - 1)
    assert kernels.rp.rate == first
    kernels.advance(4 * US)
    second = int(kernels.rp.rate)
    assert second < first
    kernels.advance(20 * US)
    assert kernels.rp.rate == second


@pytest.mark.parametrize("least", [0, 25, 50, 95, 100])
def test_one_cut_leaves_the_least_share(least: int) -> None:
    kernels = Kernels({"rpg_min_dec_fac": least, "rpg_gd": 10})
    kernels.come("feedback", 0)
    assert kernels.rp.rate == pytest.approx(max(LINK * least / 100, LINK / 1024), rel=1e-4)


def test_the_preset_is_what_the_adapters_list() -> None:
    assert set(DEFAULTS) == set(DOCUMENTED)
    named = DcqcnReactionPoint.from_table({"alpha_update": "period", **DEFAULTS})
    assert named == DcqcnReactionPoint.from_table({"preset": "connectx"})
    interval = NotificationPoint.from_table({"message": "cnp", "min_time_between_cnps": 4})
    assert interval == NotificationPoint.from_table({"preset": "connectx"})


def test_the_preset_of_the_paper_differs_in_the_timer_alone() -> None:
    paper = DcqcnReactionPoint.from_table({"preset": "dcqcn-paper"}).to_table()
    usual = DcqcnReactionPoint().to_table()
    assert {key: value for key, value in paper.items() if usual[key] != value} == {
        "increase_time": "55us"
    }


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"rpg_gd": 12}, r"at\.rpg_gd: 12 .*from 10 to 11"),
        ({"rpg_time_reset": "300us"}, r"at\.rpg_time_reset: '300us' .*131071 \(us\)"),
        ({"rpg_min_dec_fac": 101}, r"at\.rpg_min_dec_fac: 101 .*0 to 100 \(%\)"),
        ({"rpg_byte_reset": 0}, r"at\.rpg_byte_reset: 0 .*from 64"),
        ({"rpg_ai_rate": 5, "ai_rate": "5Mb/s"}, r"at\.rpg_ai_rate: .*'ai_rate' is the same"),
        ({"rpg_ai_rates": 5}, r"at\.rpg_ai_rates: unknown"),
    ],
)
def test_values_out_of_what_is_documented_are_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        DcqcnReactionPoint.from_table(values, "at")


def test_the_command_line_gives_numbers_as_text() -> None:
    found = DcqcnReactionPoint.from_table({"rpg_time_reset": "55", "clamp_tgt_rate": True})
    assert (found.increase_time, found.clamp_target) == (55 * US, True)
