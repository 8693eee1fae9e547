"""Functions that the proofs take from their contracts keep them."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware.proof.function_contracts import CONTRACTS
from firmware.proof.kernel_source import python_function
from orchestrator.engine.frames.telemetry_header import (
    FIRST,
    MOST_STAMPS,
    ROOM,
    STAMPED,
    WORDS,
    get_stamps,
    write_stamp,
)

READ = ("word_at", "stamp_of", "stamps_of")
CALLED = [key for key in CONTRACTS if key[1] not in READ]


@pytest.mark.parametrize(("module", "name"), CALLED)
def test_a_function_keeps_its_contract(module, name):
    contract = CONTRACTS[module, name]
    function = python_function(getattr(importlib.import_module(module), name))

    @settings(max_examples=60, deadline=None)
    @given(st.tuples(*(st.integers(*bounds) for bounds in contract.arguments)))
    def holds(given_):
        low, high = contract.returns(*((one, one) for one in given_))
        assert low <= function(*given_) <= high

    holds()
    for ends in zip(*contract.arguments, strict=True):
        low, high = contract.returns(*((one, one) for one in ends))
        assert low <= function(*ends) <= high


@given(st.binary(min_size=0, max_size=400), st.integers(0, 40))
def test_a_row_of_stamps_holds_what_the_contracts_say(octets, begin):
    """Rows are written by two functions alone: from a frame's octets, and by a port."""
    row = np.zeros(FIRST + WORDS * MOST_STAMPS, np.int64)
    get_stamps(begin, np.frombuffer(octets, np.uint8), len(octets), row)
    python_function(write_stamp)(row, 1 << 50, 1 << 62, 1 << 61, 10**13, 1 << 40)
    returns = CONTRACTS["orchestrator.engine.frames.telemetry_header", "stamp_of"].returns
    for place, word in enumerate(row[FIRST:].tolist()):
        low, high = returns((0, 0), (place % WORDS, place % WORDS))
        assert low <= word <= high
    assert 0 <= min(row[ROOM], row[STAMPED]) <= MOST_STAMPS
