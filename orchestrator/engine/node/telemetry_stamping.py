"""Telemetry stamping in node logic: a row of `w.stamps` per descriptor, if the plan uses stamps.

Behind these there is a row per flow, for the stamps of the segment that a delayed acknowledgement
will answer.

Only there the array has more than one row; elsewhere nothing here does anything. What is said
beside a descriptor is as its octets say it (`engine.frames.stamps`), on every target.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.ipv6_header import put_udp_checksum
from orchestrator.engine.frames.roce_frame_types import layout_of
from orchestrator.engine.frames.telemetry_header import (
    EVERY,
    ROOM,
    STAMPED,
    get_stamps,
    put_stamps,
    room_octets,
    write_extreme_stamp,
    write_stamp,
)
from orchestrator.engine.index_types import FlowIndex, FrameIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import DATA, Limiter


@inlined
def reserve_stamps(w: World, index: FrameIndex, hops: int) -> None:
    """A frame is made that has room for the stamps of so many hops, and none yet.

    The caller saw that the plan has stamps.
    """
    w.stamps[index, ROOM] = hops
    w.stamps[index, STAMPED] = 0


@compiled
def stamp(w: World, port_index: PortIndex, index: FrameIndex, which: int, now: int) -> None:
    """The port that a frame leaves by stamps it, with what the message under construction says.

    `which` stamps a frame keeps: EVERY, HIGHEST or LOWEST. Only data frames take stamps, and only
    such that have room.
    """
    frame = w.frames[index]
    if w.stamps.shape[0] == 1 or frame.kind != DATA or w.stamps[index, ROOM] == 0:
        return
    said = w.frames[w.frames.size - 1]
    row, port = w.stamps[index], w.ports[port_index].address
    if which == EVERY:
        write_stamp(row, said.offset, said.delta, now, said.feedback, port)
    else:
        write_extreme_stamp(row, which, said.offset, said.delta, now, said.feedback, port)


@inlined
def flow_stamps_row(w: World, flow_index: FlowIndex) -> int:
    """The row of a flow, behind those of the descriptors."""
    return w.frames.size + flow_index


@compiled
def copy_stamps(w: World, index: int, other: int) -> None:
    """Copy the stamps of a row to another one: of a copy of a frame, or an acknowledgement."""
    if w.stamps.shape[0] > 1:
        for place in range(w.stamps.shape[1]):
            w.stamps[other, place] = w.stamps[index, place]


@inlined
def expose_stamps(w: World, limiter: Limiter, index: FrameIndex) -> None:
    """Let the kernel that is called next read the stamps on an acknowledgement."""
    if w.stamps.shape[0] > 1:
        limiter.stamps = w.stamps[index].ctypes.data
        limiter.hops = w.stamps[index, STAMPED]


@compiled
def encode_stamps(w: World, index: FrameIndex, octets: np.ndarray, known: int) -> int:
    """Write a frame's stamps into its octets, of which `known` are written; how many are then."""
    if w.stamps.shape[0] == 1:
        return known
    frame = w.frames[index]
    begin, room = w.types[layout_of(w, frame)].stamps, w.stamps[index, ROOM]
    if begin == 0 or room == 0 or begin + room_octets(room) > frame.length:
        return known
    known = max(put_stamps(begin, w.stamps[index], octets), known)
    if w.types[frame.kind].ip_version == 6:  # its UDP checksum covers the stamps
        put_udp_checksum(octets, w.types[frame.kind].ip, known)
    return known


@compiled
def decode_stamps(w: World, index: FrameIndex, octets: np.ndarray, length: int) -> None:
    """Read the stamps of a frame that came in, of which the descriptor is filled."""
    if w.stamps.shape[0] > 1:
        begin = w.types[layout_of(w, w.frames[index])].stamps
        get_stamps(begin, octets, length, w.stamps[index])
