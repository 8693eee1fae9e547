"""The trial of distorted and quiet runs is red when fidelity sees less than it does."""

from __future__ import annotations

import functools
import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.ipv4_header import checksum
from orchestrator.engine.records import ACK, CNM, DATA
from orchestrator.run.fidelity_thresholds import ORDER
from orchestrator.targets.software.namespace_probe import probe
from tests.orchestrator.engine.datapath.test_frame_guard import Ends
from tests.planting import exchanged
from tests.trials import drawn_integrity, frame_changes, integrity, plans, rules
from tests.trials.blinded import BLIND
from tests.trials.distortions import KINDS
from tests.trials.integrity_table import FAILED, page, red
from tests.trials.planted import environment

ROOT = Path(__file__).parents[4]
TAKES_S = 600
SLOW = 0.3
"""Seconds of the run per second: what is judged is what is counted, on a busy machine as well."""
LEFT_ALONE: dict[str, Any] = {
    "run": 3,
    "kind": "lost",
    "strength": 1,
    "link": "up",
    "plan": "loop",
    "distorted": False,
    "verdict": "valid",
    "named": None,
    "reasons": [],
    "took_s": 3.0,
}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, ""),
        ({"verdict": "degraded"}, ""),
        ({"verdict": "invalid"}, "left alone, and invalid"),
        ({"verdict": FAILED}, "left alone, and failed"),
        ({"distorted": True, "named": False}, "distorted, and valid"),
        ({"distorted": True, "named": True}, "distorted, and valid"),
        ({"distorted": True, "verdict": "invalid", "named": True}, ""),
        ({"distorted": True, "verdict": "degraded", "named": True}, ""),
        ({"distorted": True, "verdict": FAILED, "named": True}, ""),
        (
            {"distorted": True, "verdict": "invalid", "named": False},
            "found for another reason alone",
        ),
    ],
)
def test_which_runs_are_not_judged_as_they_should_be(row: dict[str, Any], why: str) -> None:
    assert red(LEFT_ALONE | row) == why


def test_the_table_counts_both_halves_and_names_what_is_wrong() -> None:
    found = {"distorted": True, "verdict": "invalid", "named": True, "reasons": ["invalid: 1 lost"]}
    rows = [LEFT_ALONE, LEFT_ALONE | {"verdict": "invalid"}, LEFT_ALONE | found]
    text = page(rows, [*ORDER, FAILED], "seed 1")
    assert "| 1 distorted | 0 | 0 | 1 | 0 | 0 |" in text
    assert "| 2 quiet | 1 | 0 | 1 | 0 | 1 |" in text
    assert "| lost | 1 frames | 0 | 0 | 1 | 0 | 1 of 1 |" in text
    assert text.count("left alone, and invalid") == 1
    assert "All are judged" in page(rows[::2], [*ORDER, FAILED], "seed 1")


def test_every_strength_of_every_kind_is_tried_and_every_plan_and_link() -> None:
    tried = [integrity.chosen(number, list(KINDS)) for number in range(integrity.ALL)]
    assert len({(one["kind"], one["strength"]) for one in tried}) == integrity.ALL >= 60
    assert len({(one["kind"], one["link"]) for one in tried}) == 2 * len(KINDS)
    assert len({(one["kind"], one["plan"]) for one in tried}) == 3 * len(KINDS)


@pytest.mark.parametrize("make", [rules.lost, rules.doubled, rules.swapped, rules.exchanged])
@pytest.mark.parametrize("count", [1, 20, 100])
def test_a_rule_hits_as_many_frames_as_it_says(make: Any, count: int) -> None:
    rule = make(count)
    sent = [number.to_bytes(2, "big") for number in range(1200)]
    came = [made for number, frame in enumerate(sent) for _, made in rule(number, frame)]
    more = {rules.lost: -count, rules.doubled: count}.get(make, 0)
    assert len(came) == len(sent) + more
    late = sum(one < before for before, one in itertools.pairwise(came))
    assert late == (count if make is rules.swapped else 0)
    assert len(sent) - len(set(came)) == (count if make in (rules.lost, rules.exchanged) else 0)


@pytest.mark.parametrize("name", BLIND)
def test_the_check_that_is_switched_off_is_there(name: str) -> None:
    for module, old, new in BLIND[name].changes:
        source = ROOT / (module.replace(".", "/") + ".py")
        exchanged(old, new)(source.read_text(encoding="utf-8"))


@functools.cache
def prepared() -> None:
    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))
    plans.compile_once()


def run_of(kind: str) -> dict[str, Any]:
    return {"run": 0, "kind": kind, "strength": KINDS[kind].strengths[1]} | {
        "link": "up",
        "plan": "steady",
    }


@pytest.mark.software
@pytest.mark.trials
@pytest.mark.timeout(TAKES_S)
@pytest.mark.parametrize("name", BLIND)
def test_a_check_that_is_switched_off_turns_the_table_red(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared()
    what = run_of(BLIND[name].kind)
    sees = integrity.one(what, True, 1, SLOW)
    assert red(sees) == "", sees
    for key, value in environment(BLIND[name].changes, tmp_path).items():
        monkeypatch.setenv(key, value)
    blind = integrity.one(what, True, 1, SLOW)
    assert red(blind), blind


def drawn_run(**more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"run": 1, "plan": "loop", "link": "up", "kind": "frames", "hits": 9}
    row |= {"frames": "data", "action": "drop", "value": 0.001, "pattern": "some", "way": "back"}
    row |= {"distorted": True, "relayed": True, "verdict": "valid", "reasons": [], "bars": {}}
    return (
        row | {"metrics": {"switch.sink": {"queue_bytes.mean": 30e3, "frames.sent": 4000}}} | more
    )


def quiet_runs() -> list[dict[str, Any]]:
    return [
        drawn_run(
            distorted=False,
            metrics={"switch.sink": {"queue_bytes.mean": mean, "frames.sent": 4000}},
            bars={"switch.sink": {"queue_bytes.mean": 1e3, "frames.sent": 0.0}},
        )
        for mean in (29.5e3, 30.5e3)
    ]


@pytest.mark.parametrize(
    ("metric", "value", "bar", "is_moved"),
    [
        ("queue_bytes.mean", 33e3, 0.0, False),  # bar 1e3, twice the spread 2e3
        ("queue_bytes.mean", 90e3, 0.0, True),
        ("queue_bytes.mean", 90e3, 70e3, False),  # its own error bar covers it
        ("frames.sent", 4150, 0.0, False),  # less than 5 %
        ("frames.sent", 3000, 0.0, True),
    ],
)
def test_which_metrics_a_distortion_moved(
    metric: str, value: float, bar: float, is_moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawn_integrity, "deviations", lambda plan: {})
    row = drawn_run(bars={"switch.sink": {metric: bar}})
    row["metrics"]["switch.sink"][metric] = value
    names = [name for name, *_ in drawn_integrity.moved(row, quiet_runs())]
    assert names == ([f"switch.sink {metric}"] if is_moved else [])
    assert drawn_integrity.moved(row | {"hits": 0}, quiet_runs()) == []
    monkeypatch.setattr(
        drawn_integrity, "deviations", lambda plan: {("switch.sink", metric): value}
    )
    assert drawn_integrity.moved(row, quiet_runs()) == []


def test_a_moved_run_survives_unless_a_reason_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn_integrity, "deviations", lambda plan: {})
    quiet = quiet_runs()
    row = drawn_run(metrics={"switch.sink": {"queue_bytes.mean": 90e3}})
    assert drawn_integrity.judged(row, quiet, quiet)["survived"]
    slow = "invalid: a frame takes 93 us instead of 50 us over nic>switch"
    found = row | {"verdict": "invalid", "reasons": [slow]}
    assert not drawn_integrity.judged(found, quiet, quiet)["survived"]
    relays = [one | {"reasons": [slow.replace("93", "1.2e+03")]} for one in quiet]
    assert drawn_integrity.judged(found, quiet, relays)["survived"]
    assert not drawn_integrity.judged(row | {"verdict": FAILED}, quiet, relays)["survived"]
    rows = [drawn_integrity.judged(one, quiet, relays) for one in (row, found)]
    rows += [drawn_integrity.judged(one, [], []) for one in quiet]
    rows.append(rows[-1] | {"relayed": False, "verdict": "invalid"})
    text = drawn_integrity.page(rows, "seed 1")
    assert "Moved and not found: 2 of 2. Quiet and invalid: 1 of 1." in text
    assert text.count("survived") == 2


def test_a_draw_is_the_same_for_its_seed_and_number_and_others_for_others() -> None:
    drawn = [drawn_integrity.drawn(3, number) for number in range(200)]
    assert drawn == [drawn_integrity.drawn(3, number) for number in range(200)]
    assert drawn != [drawn_integrity.drawn(4, number) for number in range(200)]
    frames = [one for one in drawn if one["kind"] == "frames"]
    assert {one["action"] for one in frames} == {*frame_changes.CHANGES, *frame_changes.MOVES}
    assert {one["plan"] for one in drawn} == set(plans.DRAWN)
    for one in drawn:
        assert drawn_integrity.text_of(one | {"distorted": True})


@pytest.mark.parametrize("action", ["rewrite", "later", "mark", "unmark"])
def test_a_rewritten_frame_has_right_checksums_and_is_another_one(action: str) -> None:
    ends = Ends()
    draw = random.Random(1)
    for kind in (DATA, ACK, CNM):
        before = ends.plain(kind)
        for codepoint in (2, 3):
            octets = np.frombuffer(before, np.uint8).copy()
            seen = frame_changes.Seen(np.pad(octets, (0, 128)), kind)
            if kind != CNM:
                seen.octets[frame_layout.IP + 1] = codepoint
                frame_changes.with_checksum(seen.octets, kind)
            was = seen.octets.copy()
            frame_changes.CHANGES[action](seen, draw)
            changed = (was != seen.octets).any()
            assert changed == (
                action in ("rewrite", "later")
                or (kind != CNM and codepoint == {"mark": 2, "unmark": 3}[action])
            )
            header = frame_changes.HEADER_AT[kind == CNM]
            assert checksum(seen.octets, header) == 0


def test_the_score_counts_runs_that_moved_a_figure() -> None:
    moved = [("queue_bytes.mean", 1.0, 2.0)]
    rows = [
        drawn_run(distorted=True, moved=found, survived=survived)
        for found, survived in ((moved, True), (moved, False), ([], False))
    ]
    score = drawn_integrity.score_of(rows, "DRAW=3 SEED=4", 4)
    assert (score.tried, score.found, len(score.survivors)) == (2, 1, 1)
    assert "queue_bytes.mean" in score.survivors[0].reason
