"""Schedules of messages: loads, sizes, rounds, pairs; the same for a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.engine.workload import Connections
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from tests.plugins.described import check_page
from traffic.message_sources import Incast, Repeated, incast, repeated
from traffic.poisson_flows import (
    ALI_STORAGE,
    DATA_MINING,
    FB_HADOOP,
    PUBLISHED,
    WEB_SEARCH,
    Poisson,
    arrivals,
    draw,
    mean,
)

MS, S = 10**9, 10**12


def connections(count: int = 4, **changes: Any) -> Connections:
    fields: dict[str, Any] = {
        "name": "t",
        "seed": 1,
        "pairs": tuple((f"h{n % 2}", f"x{n}") for n in range(count)),
        "line_rates": np.full(count, 10**10),
        "frame": 1500,
        "start": 10 * MS,
        "stop": 510 * MS,
    }
    return Connections(**(fields | changes))


def test_published_distributions_have_their_known_means() -> None:
    assert mean(WEB_SEARCH) == pytest.approx(1.71e6, rel=0.01)
    assert mean(DATA_MINING) == pytest.approx(12.8e6, rel=0.02)
    assert draw(WEB_SEARCH, np.array([0.53, 0.97, 0.9999999]))[:2].tolist() == [80_000, 10_000_000]
    assert draw(DATA_MINING, np.array([0.0]))[0] == 1
    assert mean(FB_HADOOP) == pytest.approx(120_420.75, rel=1e-9)
    assert mean(ALI_STORAGE) == pytest.approx(40_869.8, rel=1e-9)
    assert draw(FB_HADOOP, np.array([0.5, 0.72, 0.975])).tolist() == [700, 30_000, 1_000_000]
    assert draw(ALI_STORAGE, np.array([0.2293, 0.9753])).tolist() == [4_000, 256_000]


@pytest.mark.parametrize("sizes", PUBLISHED)
def test_poisson_has_each_published_distribution(sizes: Any) -> None:
    cdf = PUBLISHED[sizes]
    octets, shares = zip(*cdf, strict=True)
    assert sorted(octets) == list(octets)
    assert sorted(shares) == list(shares)
    assert (cdf[0], shares[-1]) == ((0, 0.0), 1.0)
    made = arrivals(Poisson(load="2", sizes=sizes), connections(stop=2 * S)).size
    middle = octets[len(octets) // 2]
    assert (made <= middle).mean() == pytest.approx(dict(cdf)[middle], abs=0.06)


def test_poisson_offers_its_load_on_every_source() -> None:
    ends = connections()
    made = arrivals(Poisson(load="0.4", sizes="fixed", size=14_300), ends)
    assert (made.start >= ends.start).all()
    assert (made.start < ends.stop).all()
    for source in (0, 1):
        mine = np.isin(made.connection, [source, source + 2])
        octets = mine.sum() * 15_000
        assert octets * 8 / 0.5 == pytest.approx(0.4 * 10**10, rel=0.03)
    gaps = np.diff(made.start[np.isin(made.connection, [0, 2])])
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)  # as of an exponential distribution
    counts = np.bincount(made.connection)
    assert counts.max() / counts.min() < 1.1


def test_poisson_draws_the_sizes_of_its_distribution() -> None:
    sizes = arrivals(Poisson(load="2"), connections(stop=12 * S)).size
    for octets, share in WEB_SEARCH[1:-1]:
        assert (sizes <= octets).mean() == pytest.approx(share, abs=0.02)
    own = connections(cdf=((1000, 0.25), (2000, 1.0)))
    sizes = arrivals(Poisson(load="0.01", sizes="cdf"), own).size
    assert (sizes == 1000).mean() == pytest.approx(0.25, abs=0.02)
    assert sizes.max() <= 2000


def test_the_same_seed_gives_the_same_schedule_and_names_differ() -> None:
    one, again, other, named = (
        arrivals(Poisson(), connections(**changes))
        for changes in ({}, {}, {"seed": 2}, {"name": "u"})
    )
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    assert not np.array_equal(one.start[:5], other.start[:5])
    assert not np.array_equal(one.start[:5], named.start[:5])


def test_incast_rounds_begin_together() -> None:
    made = incast(Incast(interval=100 * MS, size=5), connections())
    assert made.start.tolist() == [t * MS for t in (10, 110, 210, 310, 410) for _ in range(4)]
    some = incast(Incast(interval=100 * MS, rounds=3, fan_in=2, jitter=MS), connections(50))
    assert len(some.size) == 6
    for number in range(3):
        mine = slice(2 * number, 2 * number + 2)
        assert len(set(some.connection[mine].tolist())) == 2
        late = some.start[mine] - (10 + 100 * number) * MS
        assert (late >= 0).all()
        assert (late < MS).all()
    assert len(set(some.connection.tolist())) > 2


def test_poisson_incast_has_rounds_at_random_times() -> None:
    ends = connections(40, start=0, stop=4 * S)
    made = incast(Incast(interval=4 * MS, fan_in=5, arrivals="poisson"), ends)
    begins = np.unique(made.start)
    gaps = np.diff(begins)
    assert len(begins) == pytest.approx(1000, rel=0.1)
    assert len(made.size) == 5 * len(begins)
    assert gaps.mean() == pytest.approx(4 * MS, rel=0.1)
    assert gaps.std() == pytest.approx(4 * MS, rel=0.15)  # as of an exponential distribution
    few = incast(Incast(interval=4 * MS, rounds=7, arrivals="poisson"), ends)
    assert len(np.unique(few.start)) == 7
    again = incast(Incast(interval=4 * MS, fan_in=5, arrivals="poisson"), ends)
    assert np.array_equal(made.start, again.start)


@pytest.mark.parametrize("fan_in", [0, 3])
def test_each_round_of_an_incast_may_go_to_one_node(fan_in: int) -> None:
    pairs = tuple((f"h{a}", f"h{b}") for a in range(6) for b in range(6) if a != b)
    ends = connections(30, pairs=pairs, stop=10 * S)
    made = incast(Incast(interval=10 * MS, fan_in=fan_in, receiver="one"), ends)
    targets = set()
    for begin in np.unique(made.start):
        mine = [pairs[c] for c in made.connection[made.start == begin].tolist()]
        assert len({target for _, target in mine}) == 1
        assert len({source for source, _ in mine}) == len(mine) == (fan_in or 5)
        targets.add(mine[0][1])
    assert len(targets) == 6
    with pytest.raises(ValueError, match="'fan_in' 6 is more than the 5 connections to h1"):
        incast(Incast(fan_in=6, receiver="one"), ends)


def test_repeated_messages_end_with_the_traffic() -> None:
    made = repeated(Repeated(count=0, interval=200 * MS, stagger=150 * MS), connections(2))
    assert made.start.tolist() == [t * MS for t in (10, 210, 410, 160, 360)]
    assert made.connection.tolist() == [0, 0, 0, 1, 1]


def plan(**traffic: Any) -> Plan:
    names = [f"h{n}" for n in range(5)]
    return Plan(
        name="p",
        duration=MS,
        nodes={name: {"kind": "nic"} for name in names} | {"s": {"kind": "switch"}},
        links={name: {"ends": [name, "s"], "rate": 10**9} for name in names},
        seed=traffic.pop("seed", 1),
        traffic={"t": {"plugin": "cbr", "from": names, "to": names} | traffic},
    )


def test_pairs_are_drawn_by_the_seed_and_nobody_sends_to_itself() -> None:
    drawn = {}
    for seed in range(20):
        pairs = plan(pairing="permutation", seed=seed).traffic["t"].pairs
        assert len({a for a, _ in pairs}) == len({b for _, b in pairs}) == 5
        assert all(a != b for a, b in pairs)
        drawn[seed] = tuple(pairs)
    assert len(set(drawn.values())) > 5
    assert plan(pairing="permutation", seed=3).traffic["t"].pairs == list(drawn[3])
    assert len(plan(pairing="all").traffic["t"].pairs) == 20
    some = plan(pairing="random").traffic["t"].pairs
    assert [a for a, _ in some] == [f"h{n}" for n in range(5)]
    assert all(a != b for a, b in some)


def test_pairs_stay_when_a_plan_is_written_and_read_or_set() -> None:
    first = plan(pairing="permutation", seed=4)
    again = Plan.load(first.to_toml())
    assert again.traffic["t"].pairs == first.traffic["t"].pairs
    other = first.with_settings(["seed=5"])
    assert other.traffic["t"].pairs == plan(pairing="permutation", seed=5).traffic["t"].pairs


def test_both_ways_adds_every_pair_reversed() -> None:
    pairs = plan(to=["h1", "h2"], **{"from": ["h0", "h3"]}, bidirectional=True).traffic["t"].pairs
    assert pairs == [("h0", "h1"), ("h3", "h2"), ("h1", "h0"), ("h2", "h3")]


@pytest.mark.parametrize(
    "points",
    [[["1KB", 0.5], ["1KB", 1]], [["1KB", 0.5]], [["1KB", 0.9], ["2KB", 0.5], ["3KB", 1]], []],
)
def test_points_that_are_no_distribution_are_refused(points: list[Any]) -> None:
    with pytest.raises(BadInput, match=r"traffic\.t\.cdf: sizes and shares that rise"):
        plan(pairing="all", cdf=points)


def test_a_pairing_that_leaves_nobody_is_refused() -> None:
    with pytest.raises(BadInput, match="no pair of different ends is left"):
        plan(pairing="all", **{"from": "h1", "to": "h1"})


@pytest.mark.parametrize("module", ["traffic.message_sources", "traffic.poisson_flows"])
def test_the_page_has_the_parameters_of(module: str) -> None:
    assert check_page(module) > 0
