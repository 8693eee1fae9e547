"""Ranges of record fields: a proof knows each field that a kernel can read."""

from __future__ import annotations

import pytest

from firmware.proof.field_ranges import RECORDS


@pytest.mark.parametrize("kind", RECORDS)
def test_each_field_of_a_record_has_its_range(kind: str) -> None:
    record, ranges = RECORDS[kind]
    assert set(record.names or ()) == set(ranges)
    assert all(one.bounds[0] <= one.bounds[1] for one in ranges.values())
