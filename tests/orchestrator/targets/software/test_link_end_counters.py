"""From the counts of ports to those of links: which end is whose, delays, sums that wrapped."""

from __future__ import annotations

import pytest

from orchestrator.engine.datapath.link_counters import (
    RECEIVED,
    RECEIVED_LATE,
    RECEIVED_PS,
    RECEIVED_REPEATED,
    SENT,
    SENT_LATE,
    SENT_PS,
    SENT_REPEATED,
)
from orchestrator.plan import Plan
from orchestrator.run.link_conservation import LinkCounts
from orchestrator.targets.software.link_end_counters import (
    CAME,
    DEPARTED,
    DROPPED,
    END_WORDS,
    LEFT,
    crossings_of,
    given_up,
)
from tests.orchestrator.targets.software import short_plans

US, SECOND = 10**6, 10**12
PLAN = Plan.load(short_plans.QCN)


def ends() -> dict[str, list[int]]:
    return {port.entity: [0] * END_WORDS for port in PLAN.ports()}


def crossed(*parts: dict[str, list[int]]) -> dict[str, LinkCounts]:
    return {one.entity: one for one in crossings_of(PLAN, parts, SECOND)}


def sent_and_received(counts: dict[str, list[int]], due: list[int], got: list[int]) -> None:
    here, there = counts["nic.switch"], counts["switch.nic"]
    here[SENT], there[RECEIVED] = len(due), len(got)
    here[SENT_PS], there[RECEIVED_PS] = (
        (sum(times) + 2**63) % 2**64 - 2**63 for times in (due, got)
    )


def test_each_direction_has_the_counts_of_its_two_ends() -> None:
    counts = ends()
    counts["nic.switch"][SENT], counts["nic.switch"][LEFT] = 7, 8
    counts["nic.switch"][DEPARTED] = 9
    counts["switch.nic"][RECEIVED], counts["switch.nic"][CAME] = 5, 6
    counts["switch.nic"][RECEIVED_LATE], counts["nic.switch"][SENT_LATE] = 4, 1
    counts["switch.nic"][RECEIVED_REPEATED], counts["nic.switch"][SENT_REPEATED] = 2, 2
    found = crossed(counts)
    assert len(found) == 4
    one = found["nic>switch"]
    assert (one.sent, one.left, one.came, one.received, one.departed) == (7, 8, 6, 5, 9)
    assert (one.reordered, one.repeated, one.delay_ps) == (3, 0, 50 * US)
    assert found["switch>nic"].sent == found["switch>sink"].sent == 0


def test_the_delay_is_from_when_frames_were_due_to_when_they_came() -> None:
    counts = ends()
    due = [k * 12 * US for k in range(1000)]
    sent_and_received(counts, due, [time + 30 * US for time in due])
    assert crossed(counts)["nic>switch"].mean_extra_ps == 30 * US


def test_sums_may_wrap_around() -> None:
    counts = ends()
    due = [79 * SECOND + k * US for k in range(200_000)]
    assert sum(due) > 2**63
    sent_and_received(counts, due, [time + 30 * US for time in due])
    assert crossed(counts)["nic>switch"].mean_extra_ps == 30 * US
    almost = [2**61 - 1] * 4  # only one of the two sums wraps
    sent_and_received(counts, almost, [time + 30 * US for time in almost])
    assert counts["switch.nic"][RECEIVED_PS] < 0 < counts["nic.switch"][SENT_PS]
    assert crossed(counts)["nic>switch"].mean_extra_ps == 30 * US


def test_what_never_came_was_under_way_until_the_end() -> None:
    counts = ends()
    sent_and_received(counts, [SECOND // 2] * 4, [SECOND // 2 + US] * 3)
    assert crossed(counts)["nic>switch"].extra_ps == 3 * US + SECOND // 2


def test_clocks_of_two_machines_are_not_compared() -> None:
    counts = ends()
    sent_and_received(counts, [1], [2])
    mine = {port: row for port, row in counts.items() if port.startswith("nic")}
    theirs = {port: row for port, row in counts.items() if port not in mine}
    found = crossed(mine, theirs)
    assert found["nic>switch"].extra_ps is None
    assert found["nic>switch"].received == 1
    assert found["switch>sink"].extra_ps == 0


def test_more_than_was_sent_has_no_delay() -> None:
    counts = ends()
    sent_and_received(counts, [1, 2], [2, 3, 3])
    one = crossed(counts)["nic>switch"]
    assert one.extra_ps is None
    assert one.surplus == 3  # its interfaces saw none


@pytest.mark.parametrize(
    ("sent", "left", "dropped", "unsent", "link", "run"),
    [
        (100, 100, 0, 0, 0, 0),
        (100, 97, 3, 0, 3, 3),  # dropped without a word
        (100, 97, 30_003, 3, 3, 0),  # refused, tried ten thousand times each, and given up
        (100, 100, 5_000, 0, 0, 0),  # refused for a while: each of them left in the end
        (100, 90, 70_004, 7, 10, 3),  # some of both
        (100, 90, 2, 7, 2, 2),  # no more than the interface says
        (100, 120, 8, 0, 0, 0),  # frames that are not ours left, too
    ],
)
def test_no_more_frames_are_lost_than_did_not_leave(
    sent: int, left: int, dropped: int, unsent: int, link: int, run: int
) -> None:
    counts = ends()
    row = counts["nic.switch"]
    row[SENT], row[LEFT], row[DROPPED] = sent, left, dropped
    assert crossed(counts)["nic>switch"].dropped == link
    assert given_up(counts.values(), dropped, unsent) == run
    row[LEFT] = -1  # a NIC that an agent lent: it has counters of its own
    assert given_up(counts.values(), dropped, unsent, left) == run
