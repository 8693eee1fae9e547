"""Compiled kernels and the same functions as ordinary Python do the same, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SEQUENCES = 100_000
SHARDS = 2


def start(seed: int, *, plain: bool) -> subprocess.Popen[str]:
    """One shard in a process of its own: whether numba compiles is decided when it is imported."""
    command = [sys.executable, "-m", "tests.plugins.kernel_events", str(seed)]
    return subprocess.Popen(
        [*command, str(SEQUENCES // SHARDS)],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1" if plain else "0"},
        stdout=subprocess.PIPE,
        text=True,
    )


def outcomes(*, plain: bool) -> list[dict[str, Any]]:
    """What the shards report; they run side by side."""
    shards = [start(seed, plain=plain) for seed in range(SHARDS)]
    try:
        texts = [shard.communicate(timeout=240)[0] for shard in shards]
    finally:
        for shard in shards:
            shard.kill()
            shard.wait()
    assert [shard.returncode for shard in shards] == [0] * SHARDS
    return [json.loads(text) for text in texts]


@pytest.mark.slow
def test_compiled_kernels_equal_plain_python_on_100_k_random_sequences() -> None:
    compiled, plain = outcomes(plain=False), outcomes(plain=True)
    for ours, theirs in zip(compiled, plain, strict=True):
        assert ours["compiled"]
        assert not theirs["compiled"]
        assert ours["digest"] == theirs["digest"]
        counts = ours["counts"]
        assert counts["events"] == 8 * SEQUENCES // SHARDS
        rare = ("activated", "released", "decreased", "increased", "messages")
        assert {name: counts[name] for name in rare if counts[name] < 1000} == {}
