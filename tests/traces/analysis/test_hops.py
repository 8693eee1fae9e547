"""What is told of matched frames and of spells: percentiles, names, causes with their times."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from traces.analysis.analysis_result import Cause
from traces.analysis.flow_records import FLOW, WORDS
from traces.analysis.hops_and_cascades import capture_points_of, causes, latencies
from traces.analysis.latency_matching import Matcher, bin_of, record_latency
from traces.analysis.pause_cascade import IN, OUT, CapturePoint
from traces.analysis.pause_spells import SPELL, PauseLink

NAMES = ["leaf.nic", "leaf.spine"]
BEFORE, AFTER = 1, 2
"""Rows of a flow at its two points."""


def collected(*passed: int, kept: int = 8) -> Any:
    """A pass in which the frames of one flow took so many ns."""
    matcher = Matcher()
    matcher.hops = np.zeros(3, matcher.hops.dtype)
    matcher.histogram = matcher.histogram[:kept]
    for time in passed:
        record_latency(matcher.hops[AFTER], AFTER, BEFORE, time, matcher.histogram)
    flows = np.zeros(3, FLOW)
    flows["point"] = [0, 0, 1]
    flows["number"] = [0, 6, 6]
    keys = np.zeros((3, WORDS), np.int64)
    flows["source"] = 0x0254_4200_0007
    return SimpleNamespace(
        matcher=matcher,
        flows=SimpleNamespace(flows=flows, keys=keys),
        corrections={},
        point_clocks=lambda: np.zeros(2, np.int64),
    )


def test_a_hop_is_told_with_its_ends_and_its_flow() -> None:
    seen = collected(*range(1, 101))
    seen.matcher.hops[AFTER]["other_paths"] = 4
    (hop,) = latencies(seen, NAMES, [])
    assert (hop.before, hop.after, hop.source) == (*NAMES, "02:54:42:00:00:07")
    assert (hop.flow, hop.frames, hop.other_paths) == (6, 100, 4)


@pytest.mark.parametrize(
    ("passed", "p50", "p99"),
    [
        ([10] * 50 + [20] * 49 + [31], 10, 20),
        ([10] * 49 + [20] * 49 + [31] * 2, 20, 31),
        ([10] * 50 + [20] * 51, 20, 20),  # the 50.5th is the 51st
        ([7], 7, 7),
        ([0, 0, 9], 0, 9),
    ],
)
def test_percentiles_are_what_so_many_frames_do_not_exceed(
    passed: list[int], p50: int, p99: int
) -> None:
    (hop,) = latencies(collected(*passed), NAMES, [])
    assert hop.latency_s == {
        "min": pytest.approx(min(passed) / 1e9),
        "mean": pytest.approx(sum(passed) / len(passed) / 1e9),
        "max": pytest.approx(max(passed) / 1e9),
        "p50": pytest.approx(p50 / 1e9),
        "p99": pytest.approx(p99 / 1e9),
    }


def test_a_percentile_is_the_top_of_its_bin_and_never_above_the_most() -> None:
    """1000 lies in the bin from 992 to 1007, 1000 and 2000 in different ones."""
    assert bin_of(992) == bin_of(1007) == bin_of(991) + 1 == bin_of(1008) - 1
    (hop,) = latencies(collected(1000, 2000), NAMES, [])
    assert hop.latency_s["p50"] == pytest.approx(1007e-9)
    assert hop.latency_s["p99"] == pytest.approx(2000e-9)


def test_without_a_histogram_there_are_no_percentiles() -> None:
    (hop,) = latencies(collected(1, 2, kept=AFTER), NAMES, [])
    assert set(hop.latency_s) == {"min", "mean", "max"}
    (hop,) = latencies(collected(1, 2, kept=AFTER + 1), NAMES, [])
    assert hop.latency_s["p99"] == pytest.approx(2e-9)


def test_a_flow_that_was_seen_once_has_no_latency() -> None:
    assert latencies(collected(), NAMES, []) == []


def paused(*links: PauseLink, known: bool = True) -> Any:
    pausing = SimpleNamespace(links=list(links), has_link_rate=lambda link: known and link == 1)
    return SimpleNamespace(pausing=pausing)


SUFFERED, SENT = PauseLink(0, 5, IN), PauseLink(1, 6, OUT)
SPELLS = np.array([(0, 8, 100, 900, 1), (1, 8, 400, 800, 1), (1, 8, 950, 990, 1)], SPELL)


def test_a_cause_is_told_with_its_node_and_times_from_the_first_spell() -> None:
    found, note_ = causes(paused(SUFFERED, SENT), SPELLS, NAMES)
    assert note_ is None
    assert found == [
        Cause(
            node="leaf",
            cause_link=0,
            cause_begin_s=0.0,
            effect_link=1,
            effect_begin_s=pytest.approx(300e-9),
            cause=0,
            effect=1,
        )
    ]
    later = SPELLS.copy()
    later["begin_ns"][0], later["begin_ns"][2] = 200, 50
    (one,), _ = causes(paused(SUFFERED, SENT), later, NAMES)
    assert (one.cause_begin_s, one.effect_begin_s) == (
        *(pytest.approx(150e-9), pytest.approx(350e-9)),
    )


def test_why_no_cause_can_be_told() -> None:
    assert causes(paused(), SPELLS[:0], NAMES) == ([], None)
    found, note_ = causes(paused(SUFFERED, SENT, known=False), SPELLS[:0], NAMES)
    assert found == []
    assert "rate is not known" in str(note_)
    found, note_ = causes(paused(SUFFERED, SENT), SPELLS, ["leaf.nic", "eth0"])
    assert found == []
    assert "not called node.port" in str(note_)
    assert causes(paused(SUFFERED, SENT), SPELLS[:0], NAMES) == ([], None)
    assert causes(paused(SUFFERED, SENT), SPELLS[:0], ["leaf.nic", "eth0"])[1] is not None


def test_links_of_too_many_senders_have_no_place() -> None:
    seen = paused(SUFFERED, PauseLink(-1, -1, 0), PauseLink(0, 5, 0))
    assert capture_points_of(seen, NAMES) == [CapturePoint("leaf", "nic", IN), None, None]
