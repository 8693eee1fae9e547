"""Words that the kernel writes and reads while we do: loads and stores in an order that is kept.

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

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from orchestrator.engine.jit import DISABLED, inlined

INDEX_OCTETS = 4


@intrinsic
def _acquire(typing_context, address):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        place = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        found = builder.load_atomic(place, "acquire", INDEX_OCTETS)
        return builder.zext(found, ir.IntType(64))

    return types.int64(types.int64), generate


@intrinsic
def _release(typing_context, address, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        place = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        word = builder.trunc(arguments[1], ir.IntType(32))
        builder.store_atomic(word, place, "release", INDEX_OCTETS)
        return arguments[1]

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _load(typing_context, address):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), generate


@intrinsic
def _store(typing_context, address, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[1], place)
        return arguments[1]

    return types.int64(types.int64, types.int64), generate


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
        return _acquire(address)  # type: ignore[call-arg]

    @inlined
    def store_index(address, value):  # type: ignore[no-untyped-def]
        """Store the low 32 bits of an index, after all that was loaded or stored before it."""
        _release(address, value)  # type: ignore[call-arg]

    @inlined
    def load_entry(address):  # type: ignore[no-untyped-def]
        """The int64 at an address: part of a ring's entry that is ours at the time."""
        return _load(address)  # type: ignore[call-arg]

    @inlined
    def store_entry(address, value):  # type: ignore[no-untyped-def]
        """Store an int64 at an address: part of a ring's entry that is ours at the time."""
        _store(address, value)  # type: ignore[call-arg]
