"""Functions that the proofs take from their contracts keep them."""

from __future__ import annotations

import importlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware.proof.contracts import CONTRACTS
from firmware.proof.sources import plain

CALLED = [key for key in CONTRACTS if key[1] != "word_at"]


@pytest.mark.parametrize(("module", "name"), CALLED)
def test_a_function_keeps_its_contract(module, name):
    contract = CONTRACTS[module, name]
    function = plain(getattr(importlib.import_module(module), name))

    @settings(max_examples=60, deadline=None)
    @given(st.tuples(*(st.integers(*bounds) for bounds in contract.arguments)))
    def holds(given_):
        low, high = contract.returns(*((one, one) for one in given_))
        assert low <= function(*given_) <= high

    holds()
    for ends in zip(*contract.arguments, strict=True):
        low, high = contract.returns(*((one, one) for one in ends))
        assert low <= function(*ends) <= high
