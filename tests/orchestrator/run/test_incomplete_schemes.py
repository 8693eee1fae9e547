"""Schemes that lack a part are named in a note and are not met; whole ones are neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.incomplete_schemes import find_incomplete_schemes
from orchestrator.run.run_result import judge_recording
from orchestrator.run.verdict import INCOMPLETE, MET, MISSED
from orchestrator.targets.simulated import Simulated

Parts = dict[str, dict[str, Any]]
RP, CP, NP = "reaction_point", "congestion_point", "notification_point"
PACED, ACKED, SELECTIVE = {"plugin": "cbr", "rate": "10Gb/s"}, {"plugin": "go-back-n"}, "selective"
BUCKET = {"depth": "20KB"}
RED = {"plugin": "red", "low": "20KB", "high": "60KB"}
SCHEMES: dict[str, Parts] = {
    "dcqcn": {CP: RED, RP: {"plugin": "dcqcn-rp"}, NP: {"plugin": "notification-point"}},
    "qcn": {CP: {"plugin": "qcn-cp"}, RP: {"plugin": "qcn-rp"}},
    "qcn, three points": {
        CP: {"plugin": "qcn-cp", "tell": "destination"},
        RP: {"plugin": "qcn-rp"},
        NP: {"plugin": "notification-point", "preset": "qcn"},
    },
    "af-qcn": {CP: {"plugin": "af-qcn"}, RP: {"plugin": "qcn-rp"}},
    "bcn": {CP: {"plugin": "bcn-cp"}, RP: {"plugin": "bcn-rp"}},
    "p4qcn": {CP: {"plugin": "p4qcn-cp"}, RP: {"plugin": "p4qcn-rp"}},
    "p4qcn, three points": {
        CP: {"plugin": "p4qcn-cp", "points": "three"},
        RP: {"plugin": "p4qcn-rp"},
        NP: {"plugin": "notification-point", "preset": "p4qcn"},
    },
    "fecn": {
        CP: {"plugin": "fecn-cp"},
        RP: {"plugin": "fecn-rp"},
        NP: {"plugin": "fecn-reflector"},
    },
    "dctcp": {CP: RED, RP: {"plugin": "dctcp"}, "transport": ACKED},
    "nscc": {CP: RED, RP: {"plugin": "nscc"}, "transport": {"plugin": SELECTIVE}},
    "cubic with ECN": {
        CP: RED,
        RP: {"plugin": "cubic", "ecn": True},
        "transport": {"plugin": SELECTIVE},
    },
    "hpcc": {CP: {"plugin": "int"}, RP: {"plugin": "hpcc"}, "transport": ACKED},
}
"""Shipped schemes of several parts."""
TRANSPORTS: dict[str, Parts] = {
    "tcp with ECN": {CP: RED, "transport": {"plugin": "tcp", "ecn": True}},
    "tcp with ECN, newreno": {
        CP: RED,
        "transport": {"plugin": "tcp", "ecn": True, "congestion_control": "newreno"},
    },
    "tcp with ECN, codel": {
        CP: {"plugin": "codel", "ecn": True, "target": "20us", "interval": "200us"},
        "transport": {"plugin": "tcp", "ecn": True},
    },
}
"""Schemes whose transport answers marks itself."""
CREDITS: Parts = {
    CP: {"plugin": "trim"},
    "receiver": {"plugin": "receiver-credits"},
    "transport": {"plugin": "credit"},
}
REMOVED = [
    (name, part) for name, parts in SCHEMES.items() for part in (CP, RP, NP) if part in parts
]
ALL_ACT = ("dctcp", "nscc", "cubic with ECN", "hpcc", "fecn")
"""Schemes whose reaction points act, or send probes, in a network without a congestion point."""
ALONE = {"cubic": "selective", "newreno": "selective", "swift": "go-back-n", "timely": "go-back-n"}
"""Reaction points that need no other part than a transport."""


def table(parts: Parts, **more: Any) -> dict[str, Any]:
    """Incast of three hosts over one switch, with one expectation that holds without any scheme."""
    parts = dict(parts)
    transport = parts.pop("transport", None)
    kinds: dict[str, dict[str, Any]] = {RP: {}, CP: {}, NP: {}, "receiver": {}}
    kinds |= {kind: {kind: use} for kind, use in parts.items()}
    entry = {"plugin": "bulk", "transport": transport} if transport else dict(PACED)
    return {
        "name": "incast",
        "duration": "3ms",
        "sample_interval": "50us",
        "nodes": {
            **{f"h{i}": {"kind": "nic", "limiter": BUCKET, **kinds[RP]} for i in (1, 2, 3)},
            "s": {"kind": "switch", "buffer": "300KB", **kinds[CP]},
            "d": {"kind": "sink", **kinds[NP], **kinds["receiver"]},
        },
        "links": {
            **{f"l{i}": {"ends": [f"h{i}", "s"], "rate": "10Gb/s"} for i in (1, 2, 3)},
            "down": {"ends": ["s", "d"], "rate": "10Gb/s"},
        },
        "traffic": {"t": {**entry, "from": ["h1", "h2", "h3"], "to": "d"}},
        "expect": [{"metric": "utilization", "of": "s.d", "min": 0.01}],
        **more,
    }


def ran(parts: Parts, **more: Any) -> tuple[list[str], dict[str, Any]]:
    """Sentences about the scheme, idle reaction points included, and the result of the run."""
    registry = Registry.load()
    resolved = Plan(**table(parts, **more)).check(registry)
    recording = Simulated().run(resolved, silent)
    found = find_incomplete_schemes(resolved, recording)
    return found.incomplete + found.idle, judge_recording(registry, resolved, recording)


@pytest.mark.parametrize("name", TRANSPORTS)
def test_a_transport_that_answers_marks_is_a_whole_scheme(name: str) -> None:
    problems, result = ran(TRANSPORTS[name], duration="10ms")
    assert problems == []
    assert result["verdict"] == MET
    assert result["metrics"]["run"]["s.d"]["frames.marked"] > 0


def test_marks_that_tcp_without_ecn_never_gets_are_named() -> None:
    problems, result = ran({CP: RED, "transport": {"plugin": "tcp"}})
    assert "no flow is ECN-capable" in problems[0]
    assert result["verdict"] == MISSED


def test_stamps_beside_tcp_with_ecn_are_named() -> None:
    problems, _ = ran({CP: {"plugin": "int"}, "transport": {"plugin": "tcp", "ecn": True}})
    assert "works with its stamps" in problems[0]


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        ((CP, "receiver", "transport"), ""),
        (("receiver", "transport"), ""),
        (("receiver",), "receiver-credits at d: no flow that ends there waits for credits"),
        ((CP,), "frames were trimmed, and no transport of its flows sends their payload again"),
    ],
)
def test_credits_and_trimming_without_a_transport_are_named(
    kept: tuple[str, ...], sentence: str
) -> None:
    problems, result = ran({part: CREDITS[part] for part in kept})
    if sentence:
        assert sentence in " ".join(problems)
        assert result["verdict"] == MISSED
    else:
        assert problems == []
        assert result["verdict"] == MET


@pytest.mark.parametrize("name", SCHEMES)
def test_a_whole_scheme_has_no_problem_and_is_met(name: str) -> None:
    problems, result = ran(SCHEMES[name])
    assert problems == []
    assert result["verdict"] == MET
    assert "incomplete" not in result


@pytest.mark.parametrize(("name", "part"), REMOVED)
def test_a_scheme_without_one_of_its_parts_is_named_and_not_met(name: str, part: str) -> None:
    parts = {kind: use for kind, use in SCHEMES[name].items() if kind != part}
    problems, result = ran(parts)
    assert problems
    if part == CP and name not in ALL_ACT:
        assert result["verdict"] == MET
        assert "incomplete" not in result
        assert set(problems) <= set(result["notes"])
    else:
        assert result["verdict"] == MISSED
        assert result["incomplete"] == problems
        assert {f"{INCOMPLETE}: {one}" for one in problems} <= set(result["notes"])
    text = " ".join(problems)
    assert any(one["plugin"] in text for kind, one in parts.items() if kind != "transport")


def test_marks_that_nothing_answers_are_counted_and_the_remedy_is_named() -> None:
    parts = {kind: use for kind, use in SCHEMES["dcqcn"].items() if kind != NP}
    (problem,), result = ran(parts)
    marked = result["metrics"]["run"]["s.d"]["frames.marked"]
    assert marked > 100
    assert f"{marked} frames were marked at s.d" in problem
    assert "dcqcn-rp at h1, h2, h3" in problem
    assert "set a notification_point at d" in problem


@pytest.mark.parametrize("point", ["codel", "pie", "trim", "int", "csig", "red"])
@pytest.mark.parametrize("reaction", ["qcn-rp", "dcqcn-rp", "p4qcn-rp", "bcn-rp", "fecn-rp"])
def test_a_pair_that_shares_no_signal_is_named(point: str, reaction: str) -> None:
    problems, result = ran({CP: {"plugin": point}, RP: {"plugin": reaction}})
    assert any(one.startswith(f"{reaction} at h1, h2, h3: ") for one in problems)
    assert result["verdict"] == MISSED


def test_a_congested_queue_whose_marks_no_flow_can_carry_is_named() -> None:
    deaf = {CP: RED, RP: {"plugin": "qcn-rp"}, NP: {"plugin": "notification-point"}}
    (problem,), result = ran(deaf)
    assert problem == (
        "qcn-rp at h1, h2, h3: it was sent no message, though the queue of s.d was congested"
    )
    assert result["verdict"] == MISSED


def test_a_long_queue_is_congested_before_it_drops() -> None:
    nodes = table({CP: RED})["nodes"]
    nodes["s"]["buffer"] = "50MB"
    (problem,), result = ran({CP: RED}, nodes=nodes)
    assert result["metrics"]["run"]["s.d"]["frames.dropped"] == 0
    assert problem.startswith("red at s.d: its queue was congested, and no frame was marked")


@pytest.mark.parametrize("reaction", ALONE)
def test_reaction_points_that_need_no_other_part_have_no_problem(reaction: str) -> None:
    parts = {RP: {"plugin": reaction}, "transport": {"plugin": ALONE[reaction]}}
    assert ran(parts)[0] == []


@pytest.mark.parametrize(
    "name", [name for name, parts in SCHEMES.items() if "transport" not in parts]
)
def test_a_whole_scheme_whose_queue_stays_short_has_no_problem(name: str) -> None:
    light = {"t": {"plugin": "cbr", "rate": "1Gb/s", "from": ["h1", "h2", "h3"], "to": "d"}}
    assert ran(SCHEMES[name], traffic=light)[0] == []


def test_flows_that_send_nothing_need_no_scheme() -> None:
    ends = {"from": ["h1", "h2", "h3"], "to": "d"}
    idle = {"t": {"plugin": "cbr", "rate": "10kb/s", "start": "2999us", **ends}}
    problems, result = ran({RP: {"plugin": "dcqcn-rp"}}, traffic=idle, expect=[])
    assert result["metrics"]["run"]["t.1"]["frames.sent"] == 0
    assert problems == []


def test_without_an_expectation_the_note_is_there_and_the_verdict_stays() -> None:
    problems, result = ran({RP: {"plugin": "qcn-rp"}}, expect=[])
    assert len(problems) == 1
    assert result["verdict"] == "unjudged"


def test_the_report_says_so(tmp_path: Path) -> None:
    parts = {kind: use for kind, use in SCHEMES["dcqcn"].items() if kind != NP}
    folder = run(Plan(**table(parts)), out=tmp_path).folder
    assert folder is not None
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert f"<p>{INCOMPLETE}: dcqcn-rp at h1, h2, h3" in page
