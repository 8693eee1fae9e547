"""Frames that were seen at several points, matched one by one."""

from __future__ import annotations

import numpy as np
import pytest

from traces.analysis.flow_records import WORDS
from traces.analysis.latency_matching import (
    BINS,
    HOP,
    MOST_ROWS,
    NO_LINKS,
    Matcher,
    bin_of,
    identities,
    largest,
    lower_edges,
    match,
)

A, B, C, OTHER = 1, 2, 3, 4
"""Rows of one flow at three points, and one of another flow."""
SAME = np.array([0, 77, 77, 77, 99])
Seen = tuple[int, int, int]
"""Time, row, sequence."""


class Matched:
    """What sightings come to, with room for `sets` times four frames that wait."""

    def __init__(self, *rows: Seen, sets: int = 1, kept: int = 5) -> None:
        self.hops = np.zeros(len(SAME), HOP)
        self.histogram = np.zeros((kept, BINS), np.int32)
        self.waiting = np.zeros((sets, 4, 4), np.int64)
        match(np.array(rows, np.int64), SAME, self.waiting, self.hops, self.histogram, NO_LINKS)

    def hop(self, row: int) -> dict[str, int]:
        """Of what arrived there."""
        return {name: int(self.hops[row][name]) for name in HOP.names or ()}

    def times(self, row: int) -> tuple[int, int, int]:
        """The row before, and the least and the most that it took from there."""
        return tuple(int(self.hops[row][name]) for name in ("before", "low_ns", "high_ns"))  # type: ignore[return-value]


def test_what_lies_between_two_sightings() -> None:
    found = Matched((10, A, 5), (12, A, 6), (25, B, 5), (47, B, 6), sets=8)
    assert found.hop(B) == {
        "before": A,
        "frames": 2,
        "sum_ns": 50,
        "low_ns": 15,
        "high_ns": 35,
        "other_paths": 0,
    }
    assert found.hop(A)["frames"] == 0
    places = np.flatnonzero(found.histogram[B])
    assert places.tolist() == [bin_of(15), bin_of(35)]
    assert found.histogram[B].sum() == 2


def test_from_hop_to_hop() -> None:
    found = Matched((10, A, 5), (25, B, 5), (32, C, 5))
    assert found.times(B) == (A, 15, 15)
    assert found.times(C) == (B, 7, 7)


def test_another_frame_or_another_flow_is_no_sighting() -> None:
    found = Matched((10, A, 5), (25, B, 6), (30, OTHER, 5))
    assert found.hops["frames"].tolist() == [0] * 5


def test_a_frame_twice_at_a_point_counts_from_the_last_time() -> None:
    assert Matched((10, A, 5), (14, A, 5), (25, B, 5)).times(B) == (A, 11, 11)


def test_sightings_out_of_order_are_turned_round() -> None:
    """It stays where it was seen last, whatever comes in late."""
    found = Matched((25, B, 5), (10, A, 5), (32, C, 5))
    assert found.times(B) == (A, 15, 15)
    assert found.times(C) == (B, 7, 7)
    assert found.hop(A)["frames"] == 0


def test_a_sighting_that_is_the_least_too_early_is_turned_round() -> None:
    assert Matched((11, B, 5), (10, A, 5)).times(B) == (A, 1, 1)


def test_an_empty_place_is_no_sighting() -> None:
    """Whatever a flow and a number come to: here to what an empty place holds."""
    hops, histogram = np.zeros(2, HOP), np.zeros((2, BINS), np.int32)
    waiting = np.zeros((1, 4, 4), np.int64)
    match(np.array([(10, 1, 0)]), np.zeros(2, np.int64), waiting, hops, histogram, NO_LINKS)
    assert (hops["frames"].sum(), waiting[0, 0].tolist()) == (0, [0, 0, 1, 10])


def test_two_sightings_at_once_took_no_time() -> None:
    assert Matched((10, A, 5), (10, B, 5)).times(B) == (A, 0, 0)


def test_a_flow_has_one_way_and_frames_of_another_are_told() -> None:
    found = Matched((10, A, 5), (25, C, 5), (30, B, 6), (39, C, 6), (40, A, 7), (46, C, 7), sets=8)
    assert found.hop(C) == {
        "before": A,
        "frames": 2,
        "sum_ns": 21,
        "low_ns": 6,
        "high_ns": 15,
        "other_paths": 1,
    }


def test_of_flows_beyond_the_most_there_is_no_histogram() -> None:
    found = Matched((10, A, 5), (25, B, 5), kept=B)
    assert found.times(B) == (A, 15, 15)
    assert found.histogram.sum() == 0
    assert Matched((10, A, 5), (25, B, 5), kept=B + 1).histogram.sum() == 1


def test_the_oldest_gives_way() -> None:
    five = [(time, A, time) for time in (3, 1, 2, 5, 4)]
    found = Matched(*five, *((50 + n, B, n) for n in (2, 3, 4, 5)))
    assert found.hop(B)["frames"] == 4
    assert Matched(*five, (51, B, 1)).hop(B)["frames"] == 0


def test_a_set_has_the_places_that_it_was_given() -> None:
    hops, histogram = np.zeros(len(SAME), HOP), np.zeros((5, BINS), np.int32)
    waiting = np.zeros((1, 2, 4), np.int64)
    seen = [(1, A, 1), (2, A, 2), (3, A, 3), (51, B, 3), (52, B, 2), (53, B, 1)]
    match(np.array(seen, np.int64), SAME, waiting, hops, histogram, NO_LINKS)
    assert hops["frames"].tolist() == [0, 0, 2, 0, 0], "the last two waited until then"


def test_frames_wait_in_sets_of_their_own() -> None:
    """A hundred frames of which the last of sixteen sets times four wait, at most."""
    found = Matched(*((n, A, n) for n in range(1, 101)), sets=16)
    assert (found.waiting[:, :, 2] == A).sum() > 50
    kept = {int(number) for number in found.waiting[:, :, 1].ravel()} - {0}
    again = Matched(
        *((n, A, n) for n in range(1, 101)), *((200, B, n) for n in sorted(kept)), sets=16
    )
    assert again.hop(B)["frames"] == len(kept)


def rows(*seen: Seen) -> np.ndarray:
    return np.array(seen, np.int64)


def keys(*points: int, flow: int = 5) -> np.ndarray:
    """Keys of a flow at points; row 0 is that of what has no place."""
    found = np.full((len(points) + 1, WORDS), flow, np.int64)
    found[1:, WORDS - 1] = [point << 32 | 7 for point in points]
    return found


def test_a_flow_is_the_same_at_all_points_and_no_other() -> None:
    first = identities(keys(0, 1, 9))
    assert first[1] == first[2] == first[3]
    others = [identities(keys(0, flow=flow))[1] for flow in range(50)]
    assert len({int(other) for other in others}) == 50
    near = keys(0, 0)
    near[2, WORDS - 1] ^= 1
    assert identities(near)[1] != identities(near)[2], "one bit is another flow"
    swapped = keys(0, 0)
    swapped[1, :2], swapped[2, :2] = (3, 4), (4, 3)
    assert len(set(identities(swapped).tolist())) == 3, "there and back are two flows"


def test_sightings_wait_until_all_files_are_as_far() -> None:
    matcher = Matcher()
    matcher.flush(100, keys(0), 2)
    assert len(matcher.hops) == 0, "there was nothing"
    matcher.add(rows((30, 2, 5), (60, 2, 6)))
    matcher.add(rows((10, 1, 5), (40, 1, 6)))
    matcher.flush(30, keys(0, 1), 3)
    assert matcher.hops["frames"].tolist() == [0, 0, 1]
    matcher.flush(59, keys(0, 1), 3)
    assert matcher.hops["frames"].tolist() == [0, 0, 1]
    matcher.flush(60, keys(0, 1), 3)
    assert matcher.hops["frames"].tolist() == [0, 0, 2]
    assert matcher.hops["sum_ns"].tolist() == [0, 0, 40]
    matcher.flush(999, keys(0, 1), 3)
    assert matcher.hops["frames"].tolist() == [0, 0, 2], "each was matched once"


def test_sightings_of_several_files_are_matched_in_the_order_of_their_times() -> None:
    """A frame goes from point 3 by way of point 1 to point 2; of the last one it is heard first."""
    matcher = Matcher()
    for seen in ((32, 2, 5), (10, 3, 5), (25, 1, 5)):
        matcher.add(rows(seen))
    matcher.flush(99, keys(0, 1, 2), 4)
    assert matcher.hops["before"].tolist() == [0, 3, 1, 0]
    assert matcher.hops["sum_ns"].tolist() == [0, 15, 7, 0]


def test_rows_of_a_batch_are_kept_when_the_batch_is_used_again() -> None:
    matcher, batch = Matcher(), rows((10, 1, 5))
    matcher.add(batch)
    batch[:] = 0
    matcher.add(batch[:0])
    matcher.add(rows((17, 2, 5)))
    matcher.flush(99, keys(0, 1), 3)
    assert matcher.hops["sum_ns"].tolist() == [0, 0, 7]


def test_flows_that_come_later_have_their_hops_too() -> None:
    matcher = Matcher()
    matcher.add(rows((10, 1, 5), (12, 2, 5)))
    matcher.flush(20, keys(0, 1), 3)
    matcher.add(rows((30, 2, 6), (35, 3, 6)))
    matcher.flush(40, keys(0, 1, 2), 4)
    assert matcher.hops["sum_ns"].tolist() == [0, 0, 2, 5]


@pytest.mark.parametrize("value", [0, 1, 31, 32, 33, 63, 64, 65, 66, 127, 128, 2**40, 2**63 - 1])
def test_bins_by_definition(value: int) -> None:
    """The leading bit and the five behind it; below 32 the number itself."""
    exponent = max(value.bit_length() - 6, 0)
    wanted = value if value < 32 else (exponent + 1) * 32 + (value >> exponent) - 32
    assert bin_of(np.int64(value)) == wanted


def test_bins_reach_from_edge_to_edge_up_to_the_largest_number() -> None:
    low, high = lower_edges(), largest()
    assert len(low) == len(high) == BINS == 59 * 32
    assert (low[1:] == high[:-1] + 1).all()
    assert low[:34].tolist() == high[:34].tolist() == list(range(34))
    assert low[62:67].tolist() == [62, 63, 64, 66, 68]
    assert (high[64] - low[64], high[96] - low[96]) == (1, 3)
    assert high[-1] == 2**63 - 1


def test_a_thousand_flows_have_a_histogram_and_many_frames_may_wait() -> None:
    matcher = Matcher()
    assert matcher.histogram.shape == (MOST_ROWS, BINS)
    assert matcher._waiting.nbytes == 1 << 23, "262 144 frames of 32 octets each"
