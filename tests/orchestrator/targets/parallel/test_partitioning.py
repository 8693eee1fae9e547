"""Where a run is cut for several cores."""

from __future__ import annotations

import pytest

from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from orchestrator.targets.parallel.partitioning import (
    Load,
    cuts,
    least_delay,
    partition,
    split,
    units,
)

LINE = """
name = "line"
duration = "3ms"

[nodes]
one = { kind = "nic" }
left = { kind = "switch" }
right = { kind = "switch" }
two = { kind = "nic" }
sink = { kind = "sink" }

[links]
a = { ends = ["one", "left"], rate = "1Gb/s", delay = "5us" }
b = { ends = ["left", "right"], rate = "10Gb/s", delay = "20us", delay_back = "3us" }
c = { ends = ["right", "two"], rate = "1Gb/s", delay = "5us" }
d = { ends = ["right", "sink"], rate = "1Gb/s", delay = "5us" }

[traffic.there]
plugin = "cbr"
from = "one"
to = "two"
rate = "1Gb/s"

[traffic.back]
plugin = "cbr"
from = "two"
to = "one"
rate = "1Gb/s"
"""


def resolved(text: str = LINE) -> ResolvedPlan:
    return Plan.load(text).check(Registry.load())


def test_a_sink_stays_with_whom_it_hangs_on() -> None:
    assert units(resolved()) == [["one"], ["left"], ["right", "sink"], ["two"]]


@pytest.mark.parametrize(
    "change",
    [
        ('delay_back = "3us"', 'delay_back = "0us"'),
        ('delay_back = "3us"', 'delay_line = { plugin = "jittered-delay", jitter = "1us" }'),
        (
            "[traffic.back]",
            '[[timeline]]\nat = "1ms"\nset = "links.b.delay"\nto = "0us"\n[traffic.back]',
        ),
        (
            "[traffic.back]",
            '[[timeline]]\nat = "1ms"\ndrop = "there"\nport = "left.right"\n[traffic.back]',
        ),
    ],
)
def test_a_link_that_may_have_no_delay_or_whose_frames_overtake_is_not_cut(
    change: tuple[str, str],
) -> None:
    assert ["left", "right", "sink"] in units(resolved(LINE.replace(*change)))


def test_a_window_is_as_long_as_the_least_delay_between_parts_at_any_time() -> None:
    between = cuts(resolved(), [["one", "left"], ["right", "two", "sink"]])
    assert between.window == 3_000_000
    assert between.table[:, 1:].tolist() in ([[0, 1], [1, 0]], [[1, 0], [0, 1]])
    assert between.room == 3_000_000 // 48_000 + 2  # of 60 octets at 10 Gb/s
    step = '[[timeline]]\nat = "1ms"\nset = "links.b.delay"\nto = "2us"\n[traffic.back]'
    later = resolved(LINE.replace("[traffic.back]", step))
    there, back = (way for way in later.plan.directions() if way.link == "b")
    assert (least_delay(later, there), least_delay(later, back)) == (2_000_000, 3_000_000)
    assert cuts(later, [["one", "left"], ["right", "two", "sink"]]).window == 2_000_000


def test_neighbours_are_kept_together_and_both_halves_have_as_much_to_do() -> None:
    assert split(resolved(), 2) == [["one", "left"], ["right", "two", "sink"]]
    assert split(resolved(), 1) == [["one", "left", "right", "two", "sink"]]
    assert split(resolved(), 9) == [["one", "left"], ["right", "two", "sink"]], "leaves stay"


def test_a_plan_that_cannot_be_cut_is_one_part() -> None:
    text = LINE.replace('"5us"', '"0us"').replace('"20us"', '"0us"')
    assert len(split(resolved(text), 2)) == 1


def test_a_run_is_cut_where_it_pays() -> None:
    """All that hosts of one switch send would be handed over; in a tree hardly anything is."""
    star = resolved(Registry.load().plans()["netfpga-fig11"])
    assert len(split(star, 2)) == 2
    assert partition(star, 2) == [list(star.plan.nodes)]
    tree = resolved(TREE)
    assert partition(tree, 2) == split(tree, 2)
    assert len(partition(tree, 2)) == 2
    assert partition(tree, 1) == [list(tree.plan.nodes)]


TREE = """
name = "tree"
duration = "1ms"
fabric = { kind = "fat-tree", k = 4, rate = "10Gb/s", delay = "1us" }

[traffic.all]
plugin = "cbr"
from = "{hosts}"
to = "{hosts}"
pairing = "ring"
rate = "1Gb/s"
"""


def test_every_host_of_a_fat_tree_is_beside_its_switch() -> None:
    plan = resolved(TREE)
    found = split(plan, 2)
    assert len(found) == 2
    of = {node: number for number, part in enumerate(found) for node in part}
    hosts = [name for name, node in plan.plan.nodes.items() if node.kind == "nic"]
    for way in plan.plan.directions():
        if way.sender.node in hosts:
            assert of[way.sender.node] == of[way.receiver.node]
    work = [sum(Load(plan).work[node] for node in part) for part in found]
    assert max(work) < 1.2 * min(work)
