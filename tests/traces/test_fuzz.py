"""A short portion of tests/trials/fuzz_captures.py, which does a million files."""

from __future__ import annotations

from tests.trials.fuzz_captures import fuzz, sound


def test_mutated_files_do_no_harm() -> None:
    found = fuzz(3_000, seed=7)
    assert sound(found), found
    assert found["behaviours"] > 100
