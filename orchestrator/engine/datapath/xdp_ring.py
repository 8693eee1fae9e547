"""AF_XDP ring shared with the kernel: a producer and a consumer of entries.

A ring is a row of int64 words. Its entries are a power of two; indices grow for ever, in 32 bits
where the kernel sees them, in 64 here, and an entry's place is its index modulo the size. We are
the consumer of some rings and the producer of others: AT is our own index, SEEN the other's as last
looked at, which never runs ahead of the truth.
"""

from __future__ import annotations

import ctypes

import numpy as np

from orchestrator.engine.jit import DISABLED, inlined
from orchestrator.engine.lazy_imports import LazyIntrinsic

# Atomic loads and stores (acquire, release) of words shared with the kernel.
#
# Both sides of a ring keep one rule (Linux, `net/xdp/xsk_queue.h`): an index of the other side is
# loaded with acquire, our own is stored with release. What a ring's entry holds is then seen before
# the index that hands it over, and is no longer read once the index that gives it back is stored.
# These are LLVM's atomic loads and stores with those orderings, which neither the compiler may move
# other accesses across nor (on machines that reorder more than x86-64 does) the processor.
# Uncompiled
# (NUMBA_DISABLE_JIT=1) they are plain accesses by ctypes: the interpreter does not reorder them,
# and x86-64 (total store order) needs nothing more; `orchestrator.targets.software.xdp.xdp_probe`
# refuses others.

_acquire = LazyIntrinsic("orchestrator.engine.intrinsics.atomic_intrinsics:acquire")
_release = LazyIntrinsic("orchestrator.engine.intrinsics.atomic_intrinsics:release")
_load = LazyIntrinsic("orchestrator.engine.intrinsics.atomic_intrinsics:load")
_store = LazyIntrinsic("orchestrator.engine.intrinsics.atomic_intrinsics:store")

if DISABLED:

    def load_index(address: int) -> int:
        """The index (0 to 2^32 - 1) at an address, before anything that is loaded after it."""
        return ctypes.c_uint32.from_address(int(address)).value

    def store_index(address: int, value: int) -> None:
        """Store the low 32 bits of an index, after all that was loaded or stored before it."""
        ctypes.c_uint32.from_address(int(address)).value = int(value) & 0xFFFFFFFF

    def load_entry(address: int) -> int:
        """The int64 at an address: part of a ring's entry that is ours at the time."""
        return ctypes.c_int64.from_address(int(address)).value

    def store_entry(address: int, value: int) -> None:
        """Store an int64 at an address: part of a ring's entry that is ours at the time."""
        ctypes.c_int64.from_address(int(address)).value = int(value)

else:

    @inlined
    def load_index(address: int) -> int:
        """The index (0 to 2^32 - 1) at an address, before anything that is loaded after it."""
        return _acquire(address)

    @inlined
    def store_index(address: int, value: int) -> None:
        """Store the low 32 bits of an index, after all that was loaded or stored before it."""
        _release(address, value)

    @inlined
    def load_entry(address: int) -> int:
        """The int64 at an address: part of a ring's entry that is ours at the time."""
        return _load(address)

    @inlined
    def store_entry(address: int, value: int) -> None:
        """Store an int64 at an address: part of a ring's entry that is ours at the time."""
        _store(address, value)


PRODUCER, CONSUMER, FLAGS, ENTRIES, SIZE, AT, SEEN = range(7)
"""Words of a ring: the addresses of both indices, of the flags (0: none) and of the entries; how
many entries there are; our own index; the other's."""
WORDS = 8
NEED_WAKEUP = 1
"""Of a ring's flags: the kernel does nothing before it is called."""


@inlined
def index_distance(theirs: int, ours: int) -> int:
    """`theirs`, an index in 32 bits, less `ours` in 64: they are never 2^31 apart."""
    return ((theirs - ours + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@inlined
def filled_entries(ring: np.ndarray) -> int:
    """Number of entries that wait to be taken, of a ring that we consume."""
    ring[SEEN] = ring[AT] + index_distance(load_index(ring[PRODUCER]), ring[AT])
    return ring[SEEN] - ring[AT]


@inlined
def release_until(ring: np.ndarray, index: int) -> None:
    """Give the entries before `index` back to the kernel, of a ring that we consume."""
    ring[AT] = index
    store_index(ring[CONSUMER], index)


@inlined
def free_entries(ring: np.ndarray) -> int:
    """Number of free entries of a ring that we produce; reads the ring again only if it is full."""
    left = ring[SIZE] - (ring[AT] - ring[SEEN])
    if left == 0:
        left = ring[SIZE] - unconsumed(ring)
    return left


@inlined
def unconsumed(ring: np.ndarray) -> int:
    """Number of submitted entries that the kernel has not taken yet."""
    ring[SEEN] = ring[AT] + index_distance(load_index(ring[CONSUMER]), ring[AT])
    return ring[AT] - ring[SEEN]


@inlined
def submit_until(ring: np.ndarray, index: int) -> None:
    """Submit the entries before `index` to the kernel, of a ring that we produce."""
    ring[AT] = index
    store_index(ring[PRODUCER], index)


@inlined
def entry_address(ring: np.ndarray, index: int, octets: int) -> int:
    """The address of an entry of `octets` octets."""
    return ring[ENTRIES] + (index & (ring[SIZE] - 1)) * octets


@inlined
def needs_wakeup(ring: np.ndarray) -> bool:
    """True if the kernel waits to be called before it goes on with this ring."""
    return ring[FLAGS] != 0 and load_index(ring[FLAGS]) & NEED_WAKEUP != 0
