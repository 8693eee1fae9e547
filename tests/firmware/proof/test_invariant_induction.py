"""Invariants of the core are kept by steps of the engine, and not by faulty ones."""

from __future__ import annotations

import pytest

from firmware.proof.invariant_induction import prove_step
from firmware.proof.overflow_proof import OPEN, PROVED
from orchestrator.engine.node.rate_limiter import refill_tokens, tokens_per_tick
from orchestrator.run.world_invariants import INVARIANTS, TOKENS

pytest.importorskip("z3")


def test_refills_of_a_limiter_keep_its_tokens_within_its_bucket():
    assert TOKENS in INVARIANTS
    proof = prove_step(TOKENS, refill_tokens, 10)
    assert proof.verdict == PROVED, proof.findings
    assert proof.paths > 4


def without_depth(limiter, now):
    if now - limiter.tick < limiter.period:
        return
    ticks = (now - limiter.tick) // limiter.period
    limiter.tick += ticks * limiter.period
    gain = tokens_per_tick(limiter)
    room = limiter.depth - limiter.tokens
    if ticks > 1 and gain > 0 and ticks > room // gain:
        limiter.tokens = limiter.depth
    else:
        limiter.tokens += ticks * gain


def one_tick_more(limiter, now):
    room = limiter.depth - limiter.tokens
    gain = tokens_per_tick(limiter)
    if gain > room + 1:
        limiter.tokens = limiter.depth
    else:
        limiter.tokens += gain


def too_wide(limiter, now):
    limiter.tokens = min(limiter.tokens + (now - limiter.tick) * limiter.rate, limiter.depth)


@pytest.mark.parametrize("step", [without_depth, one_tick_more, too_wide])
def test_a_faulty_step_is_not_proved(step):
    assert prove_step(TOKENS, step, 2).verdict == OPEN
