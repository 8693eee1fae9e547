"""Whatever an invariant says: a hunt tells a world that breaks it, and a run's samples."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engine.records import NONE
from orchestrator.fuzz import invariant_check
from orchestrator.fuzz.invariant_check import check_table
from orchestrator.recording import Recording
from orchestrator.run import world_invariants
from tests.orchestrator.fuzz.spoiling import PLANS, Spoil, changed, finding_of

HELD = 5_000
"""Octets in a buffer, so that one more or less breaks nothing else."""

IN_WORLDS: dict[str, tuple[str, Spoil]] = {
    world_invariants.FRAMES.name: (
        "crowded",
        changed("queues", lambda q: q.frames, frames_in=lambda q: q["frames_in"] + 1),
    ),
    world_invariants.LEAST_OCTETS.name: (
        "crowded",
        changed("queues", lambda q: q.frames, bytes=lambda q: 14 * q["frames"] - 1),
    ),
    world_invariants.MOST_OCTETS.name: (
        "line",
        changed("queues", lambda q: not q.frames and q.bytes_max, bytes=lambda q: 1),
    ),
    world_invariants.HIGHEST.name: (
        "crowded",
        changed("queues", lambda q: q.bytes > HELD, bytes_max=lambda q: q["bytes"] - 1),
    ),
    world_invariants.CAPACITY.name: (
        "crowded",
        changed("queues", lambda q: q.bytes > HELD, bytes_max=lambda q: q["capacity"] + 1),
    ),
    world_invariants.LOSSLESS.name: (
        "roomy",
        changed(
            "queues",
            lambda q: q.input != NONE and q.frames_in,
            frames_dropped=lambda q: 1,
            frames_in=lambda q: q["frames_in"] + 1,
        ),
    ),
    world_invariants.TOKENS.name: (
        "crowded",
        changed("limiters", lambda one: one.active, tokens=lambda one: one["depth"] + 1),
    ),
    world_invariants.RATE.name: (
        "crowded",
        changed("limiters", lambda one: one.active, rate=lambda one: 0),
    ),
    world_invariants.LINK_RATE.name: (
        "crowded",
        changed("limiters", lambda one: one.active, rate=lambda one: one["link_rate"] + 1),
    ),
    world_invariants.LINE.name: (
        "crowded",
        changed("ports", lambda p: p.line_bytes, line_capacity=lambda p: p["line_bytes"] - 1),
    ),
    world_invariants.EMPTY_LINE.name: (
        "crowded",
        changed("ports", lambda p: not p.line_bytes, line_bytes=lambda p: -1),
    ),
    world_invariants.RECEIVED.name: (
        "crowded",
        changed("flows", lambda f: f.on, frames_received=lambda f: f["frames_sent"] + 1),
    ),
    world_invariants.RECEIVED_OCTETS.name: (
        "crowded",
        changed("flows", lambda f: f.on, bytes_received=lambda f: f["bytes_sent"] + 1),
    ),
}


def test_every_invariant_is_broken_here() -> None:
    assert set(IN_WORLDS) == {one.name for one in world_invariants.INVARIANTS}


@pytest.mark.parametrize("name", sorted(IN_WORLDS))
def test_a_world_that_breaks_an_invariant_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, spoil = IN_WORLDS[name]
    finding = finding_of(plan, spoil, monkeypatch)
    assert finding is not None
    assert finding.what == f"invariant: {name}"


MOST = ("queue_bytes", "queue_max_bytes")
IN_SAMPLES: dict[str, tuple[str, str, dict[str, int]]] = {
    "frames of a buffer": ("crowded", "s.d", {"frames_out": 10**6}),
    world_invariants.LEAST_OCTETS.name: ("crowded", "s.d", {"queue_bytes": 13}),
    world_invariants.MOST_OCTETS.name: ("crowded", "s.d", dict.fromkeys(MOST, 10**7)),
    world_invariants.HIGHEST.name: ("crowded", "s.d", {"queue_max_bytes": 13}),
    world_invariants.CAPACITY.name: ("crowded", "s.d", {"queue_max_bytes": 30_001}),
    world_invariants.RECEIVED.name: ("crowded", "t1", {"frames_received": 10**6}),
    world_invariants.RECEIVED_OCTETS.name: ("crowded", "t1", {"bytes_received": 10**9}),
    world_invariants.RATE.name: ("crowded", "h1.rp0", {"current_rate": 0}),
    "rate of a link": ("crowded", "s>d", {"bytes_out": 10**8}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(IN_SAMPLES))
def test_samples_that_break_an_invariant_are_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, entity, values = IN_SAMPLES[name]
    recorded = invariant_check._recorded

    def spoiled(assembly: Any) -> Recording:
        recording = recorded(assembly)
        for quantity, value in values.items():
            recording.column(entity, quantity)[-1] = value
        return recording

    monkeypatch.setattr(invariant_check, "_recorded", spoiled)
    finding = check_table(PLANS[plan]()).finding
    assert finding is not None
    assert finding.what == f"invariant: {name}"


@pytest.mark.parametrize("name", sorted(PLANS))
def test_what_is_spoiled_is_sound_before(name: str) -> None:
    looked = check_table(PLANS[name]())
    assert looked.finding is None
    assert looked.recording is not None
    assert looked.frames > 10
