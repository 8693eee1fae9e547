"""Frames of each kind are balanced, their contents are theirs, and delays are judged by kind."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from orchestrator.run.fidelity_thresholds import worst_findings
from orchestrator.run.guarded_link import GuardedLink, KindCounts, read
from orchestrator.run.link_conservation import LinkCounts, link_findings

US, REACTION = 10**6, 100 * 10**6
DATA = KindCounts(sent=10_000, received=9_998, timed=9_998, extra_ps=9_998 * 2 * US)
CNM = KindCounts(sent=100, received=100, timed=100, extra_ps=100 * 2 * US)
SOUND = GuardedLink(kinds={"data": DATA, "CNM": CNM}, marks_sent=50, marks_received=49, windows=128)


def judged(link: GuardedLink) -> list[tuple[str, str]]:
    found = worst_findings(link.findings("a>b", REACTION))
    return [(grade, reason) for grade, reason in found if grade != "valid"]


def with_cnm(**more: int) -> GuardedLink:
    return replace(SOUND, kinds={"data": DATA, "CNM": replace(CNM, **more)})


def test_a_sound_link_has_no_reasons() -> None:
    assert judged(SOUND) == []
    assert judged(GuardedLink()) == []


@pytest.mark.parametrize(
    ("link", "grade", "says"),
    [
        (with_cnm(changed=1), "invalid", "a>b changed the contents of 1 CNM frames: that is 0.01"),
        (with_cnm(missing=3), "invalid", "a>b did not deliver 3 CNM frames: that is 0.03 of"),
        (with_cnm(delayed=2), "degraded", "a>b delivered 2 CNM frames later than the loop's"),
        (with_cnm(delayed=50), "invalid", "a>b delivered 50 CNM frames later than the loop's"),
        (with_cnm(delayed=1), "", ""),  # one late frame of few is no share
        (with_cnm(extra_ps=100 * 700 * US), "invalid", "a>b kept CNM frames back by 350 us"),
        (
            replace(SOUND, marks_received=40),
            "invalid",
            "a>b delivered 8 frames without the CE mark they were sent with: that is 0.16",
        ),
        (
            replace(SOUND, marks_received=53),
            "invalid",
            "a>b delivered 3 CE marks that no congestion point set: that is 0.06 of",
        ),
        (
            replace(SOUND, stalled_windows=2, extra_max_ps=2000 * US, worst_window_ps=10**12),
            "degraded",
            "a>b delayed frames by more than 30 us on the mean in 2 of 128 windows of time (by up "
            "to 2e+03 us, at 1 s): that is 0.0156 of",
        ),
        (replace(SOUND, stalled_windows=1), "", ""),
        (replace(SOUND, stalled_windows=4), "invalid", "in 4 of 128 windows of time"),
    ],
)
def test_what_a_link_did_to_frames_has_kind_place_and_count(
    link: GuardedLink, grade: str, says: str
) -> None:
    reasons = judged(link)
    if not grade:
        assert reasons == []
        return
    ((found, reason),) = reasons
    assert found == grade
    assert says in reason


def test_a_single_changed_frame_of_millions_is_invalid() -> None:
    many = replace(DATA, sent=10**7, received=10**7, timed=10**7, extra_ps=0, changed=1)
    ((grade, _),) = judged(replace(SOUND, kinds={"data": many}, marks_received=50))
    assert grade == "invalid"


@pytest.mark.parametrize(
    ("repeated", "reordered", "says"),
    [
        (3, 0, "a>b brought 3 frames that were not sent (3 CNM), which"),
        (0, 2, "a>b brought 2 frames out of order (2 CNM), which"),
    ],
)
def test_copies_and_disorder_name_their_kinds(repeated: int, reordered: int, says: str) -> None:
    link = with_cnm(repeated=repeated, reordered=reordered, received=100 + repeated)
    counts = LinkCounts(
        "a>b", 10_100, 10_098 + repeated, repeated=repeated, reordered=reordered, guarded=link
    )
    reasons = [reason for grade, reason in link_findings([counts], REACTION) if grade != "valid"]
    assert len(reasons) == 1
    assert reasons[0].startswith(f"invalid: {says}")
    assert counts.table()["kinds"]["CNM"]["repeated"] == repeated


def test_words_of_a_file_come_back() -> None:
    assert read({"a>b": asdict(SOUND)}) == {"a>b": SOUND}
    assert read({}) == {}


@pytest.mark.parametrize(
    "words",
    [[], {"a>b": 1}, {"a>b": {"kinds": {"CNM": {"sent": "many"}}}}, {"a>b": {"marks_sent": 0.5}}],
)
def test_words_that_are_no_counts_are_refused(words: object) -> None:
    with pytest.raises(ValueError, match="validation error"):
        read(words)
