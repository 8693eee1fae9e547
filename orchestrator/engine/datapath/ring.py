"""AF_XDP ring shared with the kernel: a producer and a consumer of entries.

A ring is a row of int64 words. Its entries are a power of two; indices grow for ever, in 32 bits
where the kernel sees them, in 64 here, and an entry's place is its index modulo the size. We are
the consumer of some rings and the producer of others: AT is our own index, SEEN the other's as last
looked at, which never runs ahead of the truth.
"""

from __future__ import annotations

from orchestrator.engine.datapath.shared_words import load_index, store_index
from orchestrator.engine.jit import inlined

PRODUCER, CONSUMER, FLAGS, ENTRIES, SIZE, AT, SEEN = range(7)
"""Words of a ring: the addresses of both indices, of the flags (0: none) and of the entries; how
many entries there are; our own index; the other's."""
WORDS = 8
NEED_WAKEUP = 1
"""Of a ring's flags: the kernel does nothing before it is called."""


@inlined
def ahead(theirs, ours):  # type: ignore[no-untyped-def]
    """`theirs`, an index in 32 bits, less `ours` in 64: they are never 2^31 apart."""
    return ((theirs - ours + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@inlined
def filled(ring):  # type: ignore[no-untyped-def]
    """Number of entries that wait to be taken, of a ring that we consume."""
    ring[SEEN] = ring[AT] + ahead(load_index(ring[PRODUCER]), ring[AT])
    return ring[SEEN] - ring[AT]


@inlined
def taken_until(ring, index):  # type: ignore[no-untyped-def]
    """Give the entries before `index` back to the kernel, of a ring that we consume."""
    ring[AT] = index
    store_index(ring[CONSUMER], index)


@inlined
def room(ring):  # type: ignore[no-untyped-def]
    """Number of free entries of a ring that we produce; reads the ring again only if it is full."""
    left = ring[SIZE] - (ring[AT] - ring[SEEN])
    if left == 0:
        left = ring[SIZE] - unconsumed(ring)
    return left


@inlined
def unconsumed(ring):  # type: ignore[no-untyped-def]
    """Number of submitted entries that the kernel has not taken yet."""
    ring[SEEN] = ring[AT] + ahead(load_index(ring[CONSUMER]), ring[AT])
    return ring[AT] - ring[SEEN]


@inlined
def hand_over(ring, index):  # type: ignore[no-untyped-def]
    """Submit the entries before `index` to the kernel, of a ring that we produce."""
    ring[AT] = index
    store_index(ring[PRODUCER], index)


@inlined
def place(ring, index, octets):  # type: ignore[no-untyped-def]
    """The address of an entry of `octets` octets."""
    return ring[ENTRIES] + (index & (ring[SIZE] - 1)) * octets


@inlined
def wants_waking(ring):  # type: ignore[no-untyped-def]
    """True if the kernel waits to be called before it goes on with this ring."""
    return ring[FLAGS] != 0 and load_index(ring[FLAGS]) & NEED_WAKEUP != 0
