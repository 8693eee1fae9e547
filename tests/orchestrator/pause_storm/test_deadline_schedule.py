"""Deadlines: when the next frame is due, who goes first, and what a lateness leaves of a hold.

The rules are driven by a clock of the test's own, frame by frame, so that every figure is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.pause_storm import deadline_schedule, hold_accounting
from orchestrator.pause_storm.deadline_schedule import HOLD, begin
from orchestrator.pause_storm.hold_accounting import OWN, account, close, new_ledger, new_notes

Row = tuple[int, int]


def holds_of(*rows: Row, on: int = 0, off: int = 0) -> np.ndarray:
    """Holds of (hold, margin), beginning at 1."""
    holds = np.zeros(len(rows), HOLD)
    for row, (hold, margin) in enumerate(rows):
        holds[row]["hold_ns"], holds[row]["margin_ns"] = hold, margin
        holds[row]["on_ns"], holds[row]["off_ns"] = on, off
    begin(holds, 1)
    return holds


def run(
    holds: np.ndarray,
    until: int,
    takes: int = 1,
    late: Callable[[int], int] = lambda frame: 0,
    picks: Callable[[np.ndarray, int], int] = deadline_schedule.most_urgent,
) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    """A core that takes so long for a frame, and is `late` before the n-th one: what was held, and
    (row, whether it let go, when) of every frame."""
    books, notes, sent = new_ledger(len(holds)), new_notes(), []
    now = 1
    while now < until:
        row = int(picks(holds, now))
        if row < 0:
            now = max(now + 1, int(deadline_schedule.next_due(holds)))
            continue
        if not deadline_schedule.skip_past(holds, row, now):
            continue
        now += late(len(sent))
        lets = bool(deadline_schedule.is_release(holds, row, now))
        deadline_schedule.reschedule_hold(holds, row, lets, now)
        hold = int(holds[row]["hold_ns"])
        account(books, row, 0 if lets else 1, now, now + takes, hold, OWN, notes)
        sent.append((row, int(lets), now))
        now += takes
    for row in range(len(holds)):
        close(books, row)
    return books, sent


def in_row_order(holds: np.ndarray, now: int) -> int:
    """What a plain loop over the ports would send next."""
    due = np.flatnonzero(holds["due_ns"] <= now)
    return int(due[0]) if len(due) else -1


def test_the_next_frame_leaves_a_margin_before_the_quanta_have_run() -> None:
    books, sent = run(holds_of((1000, 300)), 3500)
    assert [at for _, _, at in sent] == [1, 701, 1401, 2101, 2801]
    assert (int(books[0]["lapses"]), int(books[0]["worst_ns"])) == (0, 299)


@given(hold=st.integers(10, 5000), share=st.floats(0.05, 0.95), data=st.data())
def test_who_is_late_by_less_than_the_margin_leaves_no_lapse(
    hold: int, share: float, data: st.DataObject
) -> None:
    margin = max(1, int(hold * share))
    lates = data.draw(st.lists(st.integers(0, margin - 1), min_size=1, max_size=20))
    books, sent = run(holds_of((hold, margin)), 20 * hold, 1, lambda n: lates[n % len(lates)])
    assert int(books[0]["lapses"]) == 0
    assert int(books[0]["worst_ns"]) == margin - 1 - max(
        lates[n % len(lates)] for n in range(1, len(sent))
    )
    assert int(books[0]["span_ns"]) == sent[-1][2] + hold - sent[0][2]


@given(hold=st.integers(10, 5000), share=st.floats(0.05, 0.95), beyond=st.integers(1, 9000))
def test_a_lateness_beyond_the_margin_is_one_lapse_as_long_as_that(
    hold: int, share: float, beyond: int
) -> None:
    margin = max(1, int(hold * share))
    late = {3: margin - 1 + beyond}
    books, _ = run(holds_of((hold, margin)), 30 * hold + 9000, 1, lambda n: late.get(n, 0))
    assert (int(books[0]["lapses"]), int(books[0]["longest_ns"])) == (1, beyond)
    assert (int(books[0]["lapsed_ns"]), int(books[0]["worst_ns"])) == (beyond, -beyond)


def test_of_all_that_are_due_the_earliest_deadline_goes_first() -> None:
    holds = holds_of((1000, 900), (400, 300), (700, 600))
    begin(holds, 1)
    for row in range(3):
        deadline_schedule.reschedule_hold(holds, row, False, 1)
    assert int(deadline_schedule.most_urgent(holds, 100)) == -1, "none is due"
    assert int(deadline_schedule.most_urgent(holds, 101)) == 1
    deadline_schedule.reschedule_hold(holds, 1, False, 650)
    assert int(deadline_schedule.most_urgent(holds, 651)) == 2, "its quanta run until 701"


def test_a_core_that_is_full_keeps_by_that_order_what_row_order_does_not() -> None:
    rows = [(4000, 3900)] * 6 + [(600, 200)]
    kept, _ = run(holds_of(*rows), 40_000, 90)
    lost, _ = run(holds_of(*rows), 40_000, 90, picks=in_row_order)
    assert int(kept["lapses"].sum()) == 0
    assert (kept["frames"] > 5).all()
    assert (lost["frames"] == 0).any(), "the first rows are due again before it comes to the last"


@given(
    rows=st.lists(st.tuples(st.integers(200, 3000), st.floats(0.5, 0.95)), min_size=1, max_size=8),
    takes=st.integers(1, 40),
)
def test_no_deadline_is_missed_where_the_core_has_the_time(
    rows: list[tuple[int, float]], takes: int
) -> None:
    """Of frames that take as long each, with margins above what a core may do before them."""
    holds = holds_of(*[(hold, int(hold * share)) for hold, share in rows])
    apart = holds["hold_ns"] - holds["margin_ns"]
    fits = (takes / apart).sum() <= 1 and (holds["margin_ns"] > takes * (len(rows) + 1)).all()
    books, _ = run(holds, 20_000, takes)
    if fits:
        assert int(books["lapses"].sum()) == 0


def test_a_pattern_holds_and_lets_go_to_the_instant() -> None:
    books, sent = run(holds_of((100, 75), on=60, off=200), 700)
    assert sent == [
        (0, 0, 1),
        *((0, 0, 26), (0, 0, 51)),
        (0, 1, 61),
        *((0, 0, 261), (0, 0, 286), (0, 0, 311)),
        (0, 1, 321),
        *((0, 0, 521), (0, 0, 546), (0, 0, 571)),
        (0, 1, 581),
    ]
    assert (int(books[0]["span_ns"]), int(books[0]["lapses"])) == (3 * 61, 0)


def test_holds_that_were_slept_through_are_counted_as_missed() -> None:
    holds = holds_of((100, 75), on=60, off=40)
    books, sent = run(holds, 361, late=lambda n: 250 * (n == 3))
    assert sent[3:5] == [(0, 1, 311), (0, 0, 312)], "let go 250 late; the hold of 301 to 361 begins"
    assert int(holds[0]["missed"]) == 2, "those of 101 and 201"
    assert (int(books[0]["lapses"]), int(books[0]["lapsed_ns"])) == (1, 312 - 151)
    begin(holds, 1)
    assert not deadline_schedule.skip_past(holds, 0, 365), "between two holds"
    assert (int(holds[0]["missed"]), int(holds[0]["due_ns"])) == (4, 401)


@given(
    times=st.lists(st.tuples(st.integers(1, 300), st.booleans()), min_size=1, max_size=30),
    hold=st.integers(1, 200),
)
def test_the_ledger_is_the_union_of_the_holds(times: list[tuple[int, bool]], hold: int) -> None:
    books, notes = new_ledger(1), new_notes()
    instants = np.cumsum([gap for gap, _ in times]).astype(np.int64)
    kinds = np.array([int(holds) for _, holds in times], np.int64)
    hold_accounting.account_all(books, 0, kinds, instants, hold, hold_accounting.FAR_END, notes)
    close(books, 0)
    held, until, open_lapse, lapses, lapsed = 0, 0, False, 0, 0
    for at, kind in zip(instants.tolist(), kinds.tolist(), strict=True):
        if until and at > until and open_lapse:
            lapses, lapsed = lapses + 1, lapsed + at - until
        if kind:
            held += at + hold - max(at, until if open_lapse else 0)
            until, open_lapse = at + hold, True
        else:
            held -= max(until - at, 0) if open_lapse else 0
            open_lapse = False
    assert int(books[0]["lapses"]) == lapses
    assert int(books[0]["lapsed_ns"]) == lapsed
    assert int(books[0]["span_ns"]) - int(books[0]["lapsed_ns"]) == held
    assert int(notes[-1, 0]) == lapses
