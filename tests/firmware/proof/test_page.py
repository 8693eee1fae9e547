"""docs/proofs.md names exactly the algorithms with kernels and the modules that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from firmware.proof.ranges import MOST_NOW, MOST_RATE, RECORDS
from firmware.proof.subjects import chosen, subjects
from orchestrator.errors import BadInput
from orchestrator.plan.fields import Instant, LineRate
from orchestrator.registry import Registry

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"


def test_the_page_leaves_nothing_out_and_names_nothing_else():
    text = PAGE.read_text()
    tables = text.split("## What is refuted or open")[0]
    named = set(re.findall(r"^\| `([\w-]+)` \|", tables, re.M))
    unclaimed = re.search(r"Nothing is claimed yet of (.*?);", tables)
    assert unclaimed is not None
    named |= set(re.findall(r"`([\w-]+)`", unclaimed[1]))
    ours = {
        one.name
        for one in subjects(Registry.load())
        if one.kind == "module" or one.name in {a.name for a in Registry.load().algorithms}
    }
    assert named == ours


def test_every_field_of_a_record_has_a_range():
    for dtype, ranges in RECORDS.values():
        assert set(ranges) == set(dtype.names or ())


def test_the_ranges_are_those_of_plans():
    def most(kind):
        marks = [mark for one in kind.__metadata__ for mark in getattr(one, "metadata", ())]
        return next(mark.le for mark in marks if hasattr(mark, "le"))

    assert most(LineRate) == MOST_RATE
    assert most(Instant) == MOST_NOW


def test_an_unknown_name_is_bad_input():
    with pytest.raises(BadInput, match="nothing-of-that-name"):
        chosen(Registry.load(), ["nothing-of-that-name"])
