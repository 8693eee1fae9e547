"""Atomic loads and stores (acquire, release) of words shared with the kernel.

Both sides of a ring keep one rule (Linux, `net/xdp/xsk_queue.h`): an index of the other side is
loaded with acquire, our own is stored with release. What a ring's entry holds is then seen before
the index that hands it over, and is no longer read once the index that gives it back is stored.
These are LLVM's atomic loads and stores with those orderings, which neither the compiler may move
other accesses across nor (on machines that reorder more than x86-64 does) the processor. Uncompiled
(NUMBA_DISABLE_JIT=1) they are plain accesses by ctypes: the interpreter does not reorder them, and
x86-64 (total store order) needs nothing more; `orchestrator.targets.software.xdp.able` refuses
others.
"""

from __future__ import annotations

import ctypes

from orchestrator.engine.jit import DISABLED, inlined
from orchestrator.engine.later import Later

_acquire = Later("orchestrator.engine.lowered.shared_words:acquire")
_release = Later("orchestrator.engine.lowered.shared_words:release")
_load = Later("orchestrator.engine.lowered.shared_words:load")
_store = Later("orchestrator.engine.lowered.shared_words:store")

if DISABLED:

    def load_index(address):  # type: ignore[no-untyped-def]
        """The index (0 to 2^32 - 1) at an address, before anything that is loaded after it."""
        return ctypes.c_uint32.from_address(int(address)).value

    def store_index(address, value):  # type: ignore[no-untyped-def]
        """Store the low 32 bits of an index, after all that was loaded or stored before it."""
        ctypes.c_uint32.from_address(int(address)).value = int(value) & 0xFFFFFFFF

    def load_entry(address):  # type: ignore[no-untyped-def]
        """The int64 at an address: part of a ring's entry that is ours at the time."""
        return ctypes.c_int64.from_address(int(address)).value

    def store_entry(address, value):  # type: ignore[no-untyped-def]
        """Store an int64 at an address: part of a ring's entry that is ours at the time."""
        ctypes.c_int64.from_address(int(address)).value = int(value)

else:

    @inlined
    def load_index(address):  # type: ignore[no-untyped-def]
        """The index (0 to 2^32 - 1) at an address, before anything that is loaded after it."""
        return _acquire(address)

    @inlined
    def store_index(address, value):  # type: ignore[no-untyped-def]
        """Store the low 32 bits of an index, after all that was loaded or stored before it."""
        _release(address, value)

    @inlined
    def load_entry(address):  # type: ignore[no-untyped-def]
        """The int64 at an address: part of a ring's entry that is ours at the time."""
        return _load(address)

    @inlined
    def store_entry(address, value):  # type: ignore[no-untyped-def]
        """Store an int64 at an address: part of a ring's entry that is ours at the time."""
        _store(address, value)
