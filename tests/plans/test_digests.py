"""However the shipped plans are written: what they resolve to stays, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.registry import Registry
from tests.plans.digests import digest

KEPT = Path(__file__).with_name("digests.txt")
LINES = [line.split() for line in KEPT.read_text(encoding="utf-8").splitlines()]
LONGEST = 200
PLANS = Path(__file__).parents[2] / "plugins" / "plans"


def test_every_shipped_plan_has_one() -> None:
    assert sorted(Registry.load().plans()) == [name for _, name in LINES]


@pytest.mark.parametrize(("kept", "name"), LINES, ids=[name for _, name in LINES])
def test_it_resolves_to_what_it_did(kept: str, name: str) -> None:
    text = "renew them if that was meant: python -m tests.plans.digests > tests/plans/digests.txt"
    assert digest(name) == kept, text


@pytest.mark.parametrize("path", sorted(PLANS.rglob("*.toml")), ids=lambda path: path.stem)
def test_it_fits_a_reader(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST
