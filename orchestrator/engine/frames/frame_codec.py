"""Frame codec: descriptor to octets and back, for every type by its row in the table of types.

`types` is FRAME_TYPE[n] by kind (`engine.frames.frametype`), `frame` a FRAME record.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.address_index import (
    UNKNOWN,
    index_of_ip,
    index_of_mac,
    ip_of,
    mac_of,
)
from orchestrator.engine.frames.big_endian import put16
from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.frames.frame_field import (
    AT,
    CHECKED,
    CHECKSUM,
    FILL_FF,
    FLAGS,
    ICRC,
    IP,
    LAST_ICRC,
    LEAST,
    LOW,
    MAC,
    MASK,
    MOST,
    NEAR,
    NUMBER,
    OCTETS,
    OP,
    PLUS,
    READ,
    RELATIVE,
    SAME,
    SAMPLED,
    SIGN,
    SKIP,
    UDP_CHECKSUM,
    UNCHECKED,
    UNIT,
    WORD,
    WRITTEN,
)
from orchestrator.engine.frames.frame_type import TypeRow
from orchestrator.engine.frames.ipv4_header import checksum
from orchestrator.engine.frames.ipv6_header import put_udp_checksum
from orchestrator.engine.frames.roce_icrc import ICRC_OCTETS, is_icrc, put_icrc, put_last_icrc
from orchestrator.engine.index_types import Rows, int64
from orchestrator.engine.jit import DISABLED, compiled, inlined
from orchestrator.engine.lazy_imports import LazyIntrinsic
from orchestrator.engine.records import FRAME, NONE, Frame

NAMES = FRAME.names or ()


def _read_plain(frame: Any, word: int) -> Any:
    return frame[NAMES[word]]


def _write_plain(frame: Any, word: int, value: int) -> None:
    frame[NAMES[word]] = value


read_word: Any = (
    _read_plain
    if DISABLED
    else LazyIntrinsic("orchestrator.engine.intrinsics.memory_intrinsics:read")
)
"""(FRAME record, number of a field) -> its value."""
write_word: Any = (
    _write_plain
    if DISABLED
    else LazyIntrinsic("orchestrator.engine.intrinsics.memory_intrinsics:write")
)
"""(FRAME record, number of a field, value): set it."""


FOREIGN = -1
"""Result of `decode` for a frame of no known type."""


@inlined
def number_at(octets: np.ndarray, place: int, size: int) -> int:
    """The big-endian number of `size` octets at `place`; eight are two's complement."""
    value = int64(0)
    for k in range(size):
        value = (value << 8) | int64(octets[place + k])
    return value


@inlined
def join(octets: np.ndarray, place: int, size: int, value: int) -> None:
    """Write the bits of a big-endian number to those that are there."""
    for k in range(size):
        octets[place + k] |= (value >> (8 * (size - 1 - k))) & 0xFF


@compiled
def on_wire(t: TypeRow, k: int, value: int) -> int:
    """Encoded number of field `k` of a type for a value of the descriptor."""
    if t.fields[k, OP] == MAC:
        return mac_of(value)
    if t.fields[k, OP] == IP:
        return ip_of(value)
    if t.fields[k, FLAGS] & FILL_FF != 0 and value == NONE:
        return t.fields[k, MASK] << t.fields[k, LOW]
    value >>= t.fields[k, SKIP]
    if t.fields[k, UNIT] != 1:
        value //= t.fields[k, UNIT]
    value = min(max(value + t.fields[k, PLUS], t.fields[k, LEAST]), t.fields[k, MOST])
    return (value & t.fields[k, MASK]) << t.fields[k, LOW]


@compiled
def off_wire(t: TypeRow, k: int, wire: int) -> int:
    """The value that the octets of field `k` of a type say."""
    if t.fields[k, OP] == MAC:
        return index_of_mac(wire)
    if t.fields[k, OP] == IP:
        return index_of_ip(wire)
    value = (wire >> t.fields[k, LOW]) & t.fields[k, MASK]
    if t.fields[k, FLAGS] & FILL_FF != 0 and value == t.fields[k, MASK]:
        return NONE
    sign = t.fields[k, SIGN]
    value = (value ^ sign) - sign
    return (value - t.fields[k, PLUS]) * t.fields[k, UNIT] << t.fields[k, SKIP]


@inlined
def near_wire(t: TypeRow, k: int, frame: Frame) -> int:
    """Encoded number of a field that is relative to another word."""
    beyond = read_word(frame, t.fields[k, WORD]) + 1
    return (read_word(frame, t.fields[k, RELATIVE]) + beyond) & t.fields[k, MASK]


@inlined
def off_near(t: TypeRow, k: int, wire: int, frame: Frame) -> int:
    """The value of such a field, of a frame whose other word is known."""
    return ((wire - read_word(frame, t.fields[k, RELATIVE])) & t.fields[k, MASK]) - 1


@compiled
def sampled_length(mark: int) -> int:
    """Length of a message about a tagged frame of `mark` octets, whose beginning it repeats."""
    msdu = min(max(mark - at.MSDU, 0), at.CNM_MSDU_OCTETS)
    return max(at.CNM_MSDU + msdu, at.MINIMUM)


@inlined
def sample_end(t: TypeRow, mark: int) -> int:
    """Length of a message of type `t` about a frame of `mark` octets, with the tags of `t`."""
    msdu = min(max(mark - t.msdu, 0), at.CNM_MSDU_OCTETS)
    return max(t.sample + msdu, at.MINIMUM)


@compiled
def encode(types: Rows[int, TypeRow], frame: Frame, octets: np.ndarray) -> int:
    """Write the known octets of the frame that a descriptor stands for.

    Returns how many were written; the rest up to the frame's length is zeros, which the caller
    supplies. 0 means that the descriptor has no frame: a kind without a description or whose octets
    are its own, or a length that is too short for it. `octets` is uint8[>= 128].
    """
    if frame.kind < 0 or frame.kind >= types.shape[0]:
        return 0
    return encode_by(types[frame.kind], frame, octets)


@compiled
def encode_by(t: TypeRow, frame: Frame, octets: np.ndarray) -> int:
    """The same by a row of the table of types: that of the frame's kind, or another layout of it.

    A frame whose last octets are an ICRC is written whole, where `octets` has room for it.
    """
    known = t.known
    if t.sample != 0:
        known = min(known, sample_end(t, frame.mark))
        if frame.mark < t.msdu + at.DATA_HEADER - at.MSDU or frame.length < known:
            return 0
    if known == 0 or frame.length < t.least:
        return 0
    for k in range(known):
        octets[k] = t.template[k]
    for k in range(t.fields_used):
        op, place = t.fields[k, OP], t.fields[k, AT]
        if op == LAST_ICRC:
            known = put_last_icrc(octets, known, frame.length, t.fields[k, WORD])
            continue
        if t.fields[k, FLAGS] & WRITTEN == 0:
            continue
        if op == CHECKSUM:
            put16(octets, place, checksum(octets, t.fields[k, WORD]))
        elif op == ICRC:
            put_icrc(octets, place, t.fields[k, WORD])
        elif op == UDP_CHECKSUM:
            put_udp_checksum(octets, t.fields[k, WORD], known)
        elif op == NEAR:
            join(octets, place, t.fields[k, OCTETS], near_wire(t, k, frame))
        else:
            wire = on_wire(t, k, read_word(frame, t.fields[k, WORD]))
            join(octets, place, t.fields[k, OCTETS], wire)
    return known


@inlined
def looks_like(t: TypeRow, octets: np.ndarray, begin: int, end: int) -> bool:
    """True if the fixed octets from `begin` to before `end` are those of a type."""
    for k in range(t.telling_used):
        place = t.telling[k]
        if begin <= place < end and (octets[place] ^ t.template[place]) & t.mask[place] != 0:
            return False
    return True


@inlined
def has_invalid_values(t: TypeRow, k: int) -> bool:
    """True if field `k` of a type has invalid encodings: most numbers have none."""
    return t.fields[k, FLAGS] & CHECKED != 0 or t.fields[k, OP] not in (NUMBER, NEAR)


@compiled
def is_field_valid(t: TypeRow, k: int, octets: np.ndarray, length: int) -> bool:
    """True if the octets of field `k` are valid for a frame of this type, of `length` octets."""
    op, place, flags = t.fields[k, OP], t.fields[k, AT], t.fields[k, FLAGS]
    if op == CHECKSUM:
        return checksum(octets, t.fields[k, WORD]) == 0
    if op == ICRC:
        return is_icrc(octets, place, t.fields[k, WORD])
    if op == LAST_ICRC:  # a frame of which only the beginning is held has none to check
        whole = length <= octets.size
        return not whole or is_icrc(octets, length - ICRC_OCTETS, t.fields[k, WORD])
    if op == UDP_CHECKSUM:  # octets behind those that are held count as well
        return True
    wire = number_at(octets, place, t.fields[k, OCTETS])
    if op == SAME:
        return index_of_ip(wire) == number_at(octets, t.fields[k, WORD], t.fields[k, OCTETS])
    if op in (NUMBER, NEAR):
        return flags & CHECKED == 0 or wire == on_wire(t, k, length)
    return flags & UNCHECKED != 0 or off_wire(t, k, wire) != UNKNOWN


@compiled
def matches_type(t: TypeRow, octets: np.ndarray, length: int, held: int) -> bool:
    """True if a frame, of which `held` octets are there, is of a type."""
    if held < t.needs or length < t.least or not looks_like(t, octets, 0, t.needs):
        return False
    for k in range(t.fields_used):
        flags = t.fields[k, FLAGS]
        if (
            flags & SAMPLED == 0
            and has_invalid_values(t, k)
            and not is_field_valid(t, k, octets, length)
        ):
            return False
    return True


@compiled
def has_sample(t: TypeRow, octets: np.ndarray, length: int, held: int) -> bool:
    """True if the frame that a message is about has a known type and a complete header."""
    end = t.sample + at.DATA_HEADER - at.MSDU
    if t.sample == 0 or held < end or not looks_like(t, octets, t.sample, end):
        return False
    for k in range(t.fields_used):
        if t.fields[k, OP] == CHECKSUM and not is_field_valid(t, k, octets, length):
            return False
    return True


@compiled
def decode(types: Rows[int, TypeRow], octets: np.ndarray, length: int, frame: Frame) -> int:
    """Fill `frame` from a received frame of `length` octets; returns its kind, or FOREIGN.

    `octets` may hold only the beginning of the frame (a snapped row). Every field is set; for a
    foreign frame none is. A message about a foreign frame is decoded; its flow is NONE.
    """
    held = min(length, octets.shape[0])
    if held < at.MINIMUM:
        return FOREIGN
    for row in range(types.shape[0]):
        kind = types[row].turn
        if kind == NONE:
            return FOREIGN
        t = types[kind]
        if matches_type(t, octets, length, held):
            fill(t, octets, length, held, t.read_as, frame)
            return t.read_as
    return FOREIGN


@compiled
def fill(t: TypeRow, octets: np.ndarray, length: int, held: int, kind: int, frame: Frame) -> None:
    """Set every field of a descriptor from the octets of a frame that is of a type."""
    reset_descriptor(frame, kind, length, 0, NONE, NONE, NONE)
    with_sample = has_sample(t, octets, length, held)
    for k in range(t.fields_used):
        flags = t.fields[k, FLAGS]
        if flags & READ == 0 or (flags & SAMPLED != 0 and not with_sample):
            continue
        word = t.fields[k, WORD]
        wire = number_at(octets, t.fields[k, AT], t.fields[k, OCTETS])
        if t.fields[k, OP] == NEAR:
            value = off_near(t, k, wire, frame)
        else:
            value = off_wire(t, k, wire)
        if t.fields[k, SKIP] != 0:
            value |= read_word(frame, word)
        write_word(frame, word, value)
