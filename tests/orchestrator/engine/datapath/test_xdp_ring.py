"""Rings between us and the kernel: empty, full, wrapped, and in what order memory is written."""

from __future__ import annotations

import threading
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.compile_options import OPTIONS
from orchestrator.engine.datapath import xdp_ring as of
from orchestrator.engine.datapath.xdp_ring import load_entry, load_index, store_entry, store_index
from orchestrator.engine.jit import DISABLED, compiled
from tests.orchestrator.engine.datapath.played import Ring

SIZE = 4
BEGINS = [0, 2**32 - 3, 2**31 - 2, 5 * 2**32 + 1]
"""Where indices begin: ordinary, about to wrap in 32 bits, to change their sign, wrapped before."""


@compiled
def filled(ring):
    return of.filled_entries(ring)


@compiled
def room(ring):
    return of.free_entries(ring)


@compiled
def push(ring, value):
    store_entry(of.entry_address(ring, ring[of.AT], 8), value)
    of.submit_until(ring, ring[of.AT] + 1)


@compiled
def pop(ring):
    value = load_entry(of.entry_address(ring, ring[of.AT], 8))
    of.release_until(ring, ring[of.AT] + 1)
    return value


@pytest.mark.parametrize("begins", BEGINS)
def test_an_empty_ring_has_nothing_and_room_for_all(begins):
    ring = Ring(SIZE, begins=begins)
    assert filled(ring.words) == 0
    assert room(ring.words) == SIZE


@pytest.mark.parametrize("begins", BEGINS)
def test_a_full_ring_has_no_room_until_the_kernel_takes_one(begins):
    ring = Ring(SIZE, begins=begins)
    for value in range(SIZE):
        assert room(ring.words) == SIZE - value
        push(ring.words, value)
    assert room(ring.words) == 0
    assert ring.get() == [0]
    assert room(ring.words) == 1
    push(ring.words, SIZE)
    assert [ring.get()[0] for _ in range(SIZE)] == [1, 2, 3, 4]


@pytest.mark.parametrize("begins", BEGINS)
def test_what_the_kernel_puts_is_found_until_it_is_taken(begins):
    ring = Ring(SIZE, begins=begins)
    for value in range(SIZE):
        ring.put(value)
    assert filled(ring.words) == SIZE
    assert [pop(ring.words) for _ in range(SIZE)] == list(range(SIZE))
    assert (filled(ring.words), ring.waiting()) == (0, 0)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(BEGINS), st.lists(st.tuples(st.booleans(), st.integers(0, 2**63 - 1))))
def test_a_ring_that_we_fill_is_a_bounded_queue(begins, steps):
    ring, model = Ring(SIZE, begins=begins), deque[int]()
    for ours, value in steps:
        if ours and len(model) < SIZE:
            assert room(ring.words) > 0
            push(ring.words, value)
            model.append(value)
        elif not ours and model:
            assert ring.get() == [model.popleft()]
        assert ring.waiting() == len(model)
        assert room(ring.words) <= SIZE - len(model)  # it may not have looked again
        assert (room(ring.words) == 0) == (len(model) == SIZE)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(BEGINS), st.lists(st.tuples(st.booleans(), st.integers(0, 2**63 - 1))))
def test_a_ring_that_we_empty_is_a_queue(begins, steps):
    ring, model = Ring(SIZE, begins=begins), deque[int]()
    for ours, value in steps:
        if not ours and len(model) < SIZE:
            ring.put(value)
            model.append(value)
        elif ours and model:
            assert pop(ring.words) == model.popleft()
        assert filled(ring.words) == len(model)


def test_a_ring_wakes_nobody_unless_its_flag_says_so():
    ring = Ring(SIZE)
    assert not of.needs_wakeup(ring.words)
    ring.flags[0] = of.NEED_WAKEUP
    assert of.needs_wakeup(ring.words)
    ring.words[of.FLAGS] = 0
    assert not of.needs_wakeup(ring.words)


@pytest.mark.skipif(DISABLED, reason="uncompiled code has no LLVM")
def test_indices_are_loaded_with_acquire_and_stored_with_release():
    import numba

    options = {key: value for key, value in OPTIONS.items() if key != "cache"}

    @numba.njit("int64(int64, int64)", **options)
    def turn(address, value):
        store_index(address, value)
        return load_index(address + 8)

    text = next(iter(turn.inspect_llvm().values()))
    loads = [line for line in text.splitlines() if "load atomic i32" in line]
    stores = [line for line in text.splitlines() if "store atomic i32" in line]
    assert len(loads) == 1
    assert "acquire" in loads[0]
    assert len(stores) == 1
    assert "release" in stores[0]


@compiled
def produce(ring, count):
    for value in range(count):
        while of.free_entries(ring) == 0:
            pass
        push(ring, value)
    return count


@compiled
def consume(ring, count):
    wrong = 0
    for value in range(count):
        while of.filled_entries(ring) == 0:
            pass
        if pop(ring) != value:
            wrong += 1
    return wrong


@pytest.mark.skipif(DISABLED, reason="two threads of the interpreter take turns")
def test_two_threads_see_every_entry_whole_and_in_order():
    ring = Ring(8)
    ours, theirs = ring.words.copy(), ring.words.copy()
    count = 300_000
    produce(ring.words.copy(), 0)
    consume(ring.words.copy(), 0)
    wrong: list[int] = []
    threads = [
        threading.Thread(target=lambda: produce(ours, count)),
        threading.Thread(target=lambda: wrong.append(consume(theirs, count))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [0]
    assert np.array_equal(ring.indices, [count, count])
