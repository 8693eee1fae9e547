"""Spells of pause, frame by frame: when they begin, go on and end. A quantum is 1 us here."""

from __future__ import annotations

import numpy as np
import pytest

from traces.analysis import pause_spells
from traces.analysis.pause_spells import OTHERS, PLAIN, PauseLink, PauseTracker
from traces.dissect import PAUSE_RECORD

RATE = 512 * 10**6
US = 1000
END = {0: 10**9, 1: 10**9}
Spell = tuple[int, int, int, int, int]


def frames(*rows: dict[str, int | dict[int, int]]) -> np.ndarray:
    """PAUSE or, with `pfc` (priority -> quanta), PFC frames; times in us."""
    found = np.zeros(len(rows), PAUSE_RECORD)
    for record, row in zip(found, rows, strict=True):
        record["time_ns"] = row["at"] * US
        for name in ("interface", "source", "direction"):
            record[name] = row.get(name, 0)
        classes = row.get("pfc")
        record["pfc"] = classes is not None
        if isinstance(classes, dict):
            record["enabled"] = sum(1 << priority for priority in classes)
            for priority, quanta in classes.items():
                record["quanta"][priority] = quanta
        else:
            record["enabled"], record["quanta"] = 0xFF, row["quanta"]
    return found


def seen(*rows: dict[str, int | dict[int, int]], storm_us: int = 10**6) -> PauseTracker:
    """What is known after these frames, each in a batch of its own."""
    found = PauseTracker(storm_us * US)
    for row in rows:
        found.add(frames(row), {0: RATE, 1: RATE})
    return found


def spells(found: PauseTracker, ends: dict[int, int] = END) -> list[Spell]:
    """Link, priority, beginning and end in us, frames."""
    rows = [tuple(map(int, row)) for row in found.finish(ends).tolist()]
    return [
        (link, priority, begin // US, end // US, held) for link, priority, begin, end, held in rows
    ]


def sums(found: PauseTracker, priority: int = PLAIN, link: int = 0) -> dict[str, int]:
    """What is summed up of a class."""
    state = found.states[link, priority]
    names = ("frames", "resumes", "quanta", "paused_ns", "spells", "longest_ns", "storms")
    return {name: int(state[name]) for name in names}


def test_a_pause_lasts_its_quanta() -> None:
    found = seen({"at": 100, "quanta": 10})
    assert spells(found) == [(0, PLAIN, 100, 110, 1)]
    assert sums(found) == {
        "frames": 1,
        "resumes": 0,
        "quanta": 10,
        "paused_ns": 10 * US,
        "spells": 1,
        "longest_ns": 10 * US,
        "storms": 0,
    }
    assert int(found.states["frames"].sum()) == 1, "no priority has it besides"


def test_a_later_pause_replaces_what_is_left() -> None:
    longer = seen({"at": 100, "quanta": 10}, {"at": 105, "quanta": 10})
    assert spells(longer) == [(0, PLAIN, 100, 115, 2)]
    shorter = seen({"at": 100, "quanta": 10}, {"at": 105, "quanta": 2})
    assert spells(shorter) == [(0, PLAIN, 100, 107, 2)]


def test_a_pause_that_comes_when_the_last_one_ends_goes_on_with_it() -> None:
    assert spells(seen({"at": 100, "quanta": 10}, {"at": 110, "quanta": 5})) == [
        (0, PLAIN, 100, 115, 2)
    ]
    apart = seen({"at": 100, "quanta": 10}, {"at": 111, "quanta": 5})
    assert spells(apart) == [(0, PLAIN, 100, 110, 1), (0, PLAIN, 111, 116, 1)]
    assert (sums(apart)["paused_ns"], sums(apart)["longest_ns"]) == (15 * US, 10 * US)


def test_none_ends_it_and_is_no_pause() -> None:
    found = seen({"at": 100, "quanta": 10}, {"at": 104, "quanta": 0})
    assert spells(found) == [(0, PLAIN, 100, 104, 1)]
    assert (sums(found)["frames"], sums(found)["resumes"]) == (2, 1)
    late = seen({"at": 100, "quanta": 10}, {"at": 150, "quanta": 0})
    assert spells(late) == [(0, PLAIN, 100, 110, 1)]
    alone = seen({"at": 100, "quanta": 0})
    assert (spells(alone), sums(alone)["resumes"]) == ([], 1)


def test_a_resume_from_before_the_pause_ends_it_at_once() -> None:
    """The file is not in order of time."""
    found = seen({"at": 100, "quanta": 10}, {"at": 90, "quanta": 0})
    assert spells(found) == [(0, PLAIN, 100, 100, 1)]


def test_priorities_are_paused_each_on_its_own() -> None:
    found = seen(
        {"at": 100, "pfc": {0: 5, 7: 9}}, {"at": 102, "pfc": {7: 0}}, {"at": 103, "quanta": 1}
    )
    assert spells(found) == [(0, 0, 100, 105, 1), (0, 7, 100, 102, 1), (0, PLAIN, 103, 104, 1)]
    assert sums(found, 3)["frames"] == 0, "it was not enabled"
    assert (sums(found, 7)["frames"], sums(found, 7)["quanta"]) == (2, 9)


def test_a_storm_is_as_long_as_that_or_longer() -> None:
    for quanta, storms in ((49, 0), (50, 1), (51, 1)):
        found = seen({"at": 100, "quanta": quanta}, {"at": 999, "quanta": 0}, storm_us=50)
        assert sums(found)["storms"] == storms


def test_links_are_told_apart_by_point_sender_and_direction() -> None:
    found = seen(
        {"at": 1, "quanta": 10},
        {"at": 2, "quanta": 10, "source": 7},
        {"at": 3, "quanta": 10, "interface": 1},
        {"at": 4, "quanta": 10, "direction": 2},
        {"at": 5, "quanta": 10, "source": 7},
    )
    assert found.links == [
        PauseLink(0, 0, 0),
        PauseLink(0, 7, 0),
        PauseLink(1, 0, 0),
        PauseLink(0, 0, 2),
    ]
    assert [row[0] for row in spells(found)] == [0, 1, 2, 3]
    assert found.others == 0


def test_without_a_rate_pauses_are_counted_and_not_measured() -> None:
    found = PauseTracker(10**9)
    found.add(frames({"at": 1, "quanta": 10}, {"at": 5, "quanta": 0}), {1: RATE})
    found.add(frames({"at": 1, "quanta": 10, "interface": 1}), {1: RATE})
    assert (found.has_link_rate(0), found.has_link_rate(1)) == (False, True)
    assert (sums(found)["frames"], sums(found)["resumes"], sums(found)["quanta"]) == (2, 1, 10)
    assert spells(found) == [(1, PLAIN, 1, 11, 1)]


def test_without_a_rate_every_priority_is_counted() -> None:
    found = PauseTracker(US)
    found.add(frames({"at": 1, "pfc": {1: 5, 3: 6}}), {})
    assert [sums(found, priority)["quanta"] for priority in (1, 2, 3)] == [5, 0, 6]


def test_a_batch_may_end_eight_spells_with_every_frame() -> None:
    every = dict.fromkeys(range(8), 1)
    found = PauseTracker(US)
    found.add(frames(*({"at": 10 * at, "pfc": every} for at in range(140))), {0: RATE})
    assert [row[:4] for row in spells(found)] == [
        (0, priority, 10 * at, 10 * at + 1) for at in range(140) for priority in range(8)
    ]


def test_more_may_be_open_at_the_end_than_have_ended() -> None:
    found = PauseTracker(US)
    for source in range(1100):
        found.add(frames({"at": source, "quanta": 5, "source": source}), {0: RATE})
    assert spells(found) == [(at, PLAIN, at, at + 5, 1) for at in range(1100)]


def test_a_quantum_is_512_bits_of_the_link() -> None:
    for rate, quanta, ns in ((10**9, 1000, 512_000), (10**10, 1, 51), (4 * 10**11, 1000, 1280)):
        found = PauseTracker(10**9)
        found.add(frames({"at": 0, "quanta": quanta}), {0: rate})
        assert found.finish(END)["end_ns"].tolist() == [ns]


def test_what_is_open_ends_with_its_points_capture() -> None:
    two = ({"at": 100, "quanta": 50}, {"at": 100, "quanta": 50, "interface": 1})
    assert spells(seen(*two), {0: 120 * US, 1: 999 * US}) == [
        (0, PLAIN, 100, 120, 1),
        (1, PLAIN, 100, 150, 1),
    ]
    before = seen({"at": 100, "quanta": 50})
    assert spells(before, {0: 90 * US}) == [(0, PLAIN, 100, 100, 1)], "never before it began"


def test_spells_are_told_in_order_of_time_then_link_then_priority() -> None:
    found = seen(
        {"at": 9, "pfc": {3: 1}},
        {"at": 5, "pfc": {4: 1, 2: 1}, "source": 1},
        {"at": 5, "pfc": {1: 1}, "source": 2},
    )
    assert [row[:3] for row in spells(found)] == [(1, 2, 5), (1, 4, 5), (2, 1, 5), (0, 3, 9)]


def many(count: int, storm_us: int = 10**6) -> PauseTracker:
    """So many spells of 1 us, 10 us apart; the last one is open."""
    found = PauseTracker(storm_us * US)
    rows = [{"at": 10 * n, "quanta": 1} for n in range(count)]
    for first in range(0, count, 100):
        found.add(frames(*rows[first : first + 100]), {0: RATE})
    return found


def test_the_table_of_spells_grows() -> None:
    found = many(2500)
    assert [row[2] for row in spells(found)] == [10 * n for n in range(2500)]


def test_of_too_many_spells_the_first_are_kept_and_all_are_summed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pause_spells, "MOST_SPELLS", 1500)
    found = many(2500)
    kept = spells(found)
    assert [row[2] for row in kept[:1500]] == [10 * n for n in range(1500)]
    assert (sums(found)["spells"], sums(found)["paused_ns"]) == (2500, 2500 * US)
    assert kept[1500:] == [(0, PLAIN, 24_990, 24_991, 1)], "what is open at the end is kept too"


def test_senders_beyond_the_most_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause_spells, "MOST_LINKS", 2)
    found = seen(*({"at": n, "quanta": 1, "source": n} for n in (1, 2, 3, 4, 1, 3)))
    assert found.links == [PauseLink(0, 1, 0), PauseLink(0, 2, 0), OTHERS]
    assert found.others == 3
    assert not found.has_link_rate(2), "their pauses have no time"
    assert sums(found)["frames"] == 2


def lapses(found: PauseTracker, priority: int = PLAIN) -> tuple[int, int, int]:
    """How many, us in all, the longest in us."""
    state = found.states[0, priority]
    return tuple(int(state[name]) for name in ("lapses",)) + tuple(  # type: ignore[return-value]
        int(state[name]) // US for name in ("lapsed_ns", "longest_lapse_ns")
    )


def test_quanta_that_had_run_before_the_next_pause_leave_a_lapse() -> None:
    none = seen({"at": 100, "quanta": 10}, {"at": 110, "quanta": 10}, {"at": 120, "quanta": 10})
    assert lapses(none) == (0, 0, 0)
    found = seen({"at": 100, "quanta": 10}, {"at": 113, "quanta": 10}, {"at": 130, "quanta": 10})
    assert lapses(found) == (2, 10, 7)
    spells(found)
    assert lapses(found) == (2, 10, 7), "the end of the capture is none"


def test_who_was_let_go_has_not_lapsed() -> None:
    rows = ({"at": 100, "quanta": 10}, {"at": 105, "quanta": 0}, {"at": 150, "quanta": 10})
    assert lapses(seen(*rows)) == (0, 0, 0)
    late = ({"at": 100, "quanta": 10}, {"at": 115, "quanta": 0}, {"at": 150, "quanta": 10})
    assert lapses(seen(*late)) == (0, 0, 0), "nobody was held again before that"


def test_each_priority_lapses_on_its_own() -> None:
    found = seen(
        {"at": 100, "pfc": {3: 10, 4: 20}},
        {"at": 115, "pfc": {3: 10, 4: 20}},
        {"at": 140, "pfc": {4: 9}},
    )
    assert (lapses(found, 3), lapses(found, 4)) == ((1, 5, 5), (1, 5, 5))
    assert lapses(found, 5) == (0, 0, 0)
