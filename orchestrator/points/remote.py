"""Point runner on a worker of a cluster: one point at a time, with the engine loaded."""

from __future__ import annotations

import threading
from typing import Any

from orchestrator.points.answers import FAILED, Answer
from orchestrator.points.worker import Bench
from orchestrator.registry import Registry
from orchestrator.run.sources import digest_of

INVALID = 3
_one_at_a_time = threading.Lock()
"""Serialises the threads of a worker, which share one engine."""
_bench = Bench()
_subject = ""


def answer(table: dict[str, Any], subject: str, sources: str, seed: int) -> Answer:
    """Run a point; the plan of an experiment is read once. Refused if the worker's sources
    differ."""
    global _subject
    with _one_at_a_time:
        ours = digest_of(Registry.load())
        if ours != sources:
            text = "a worker has another tailback, other plugins or libraries; install the same"
            return FAILED, (INVALID, f"{text} ({ours[:12]} there, {sources[:12]} here)")
        new, _subject = subject != _subject, subject
        return _bench.answer(table if new else None, seed)
