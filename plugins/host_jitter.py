"""Delay line with the departure lateness and thread stalls of a measured host.

A real data path carries events out at the instants for which they are due, so that nothing of it
adds up; what is late is a frame's way from one node to the next. So that is what this delay line
adds to the link's delay, from a device profile (`tailback calibrate`): a draw from the times that
links took beyond their delays, and, where a stall falls on the frame, the rest of it. Stalls take
all cores at once, or one: those of the two threads that drive the ends of the link count, and a
thread stalls at the same instants for all its links. A stall moves a frame by `max_shift` at the
most, since the clock of a run is held back beyond that (docs/fidelity.md).

`tailback run --as FILE` puts it on every link of a plan. Draws are by 20 bits; the table of a
spread is linear between its quantiles. Times are the machine's, at `pace` ps of the run per ps.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tailback.plugin import (
    NEVER,
    QUANTILE_SHARES,
    Algorithm,
    Duration,
    Params,
    Ratio,
    RatioLimit,
    compiled,
    delay_line,
    from_file,
    lfsr_next,
    word_at,
)

BITS = 20
COLUMNS = len(QUANTILE_SHARES) + 1
FIXED_POINT_UNIT = 1 << 32
LONGEST = 8 * 10**12
"""ps: longer times are cut to it, so that their products with a draw fit an int64."""
MEAN = 1 << 16
"""The mean of the row of gaps."""
LONGEST_GAP, LONGEST_MEAN = MEAN << 4, 1 << 57
"""No gap of the row is longer, and no mean time between two stalls (ps)."""
LATEST_PS = 1 << 61
"""ps: a time beyond every run, no later than which a stall comes."""
SHARES, GAPS, AT_ONCE, ALONE, LINKS = range(5)
"""Rows of the table; from LINKS on, one for each load at which departures were measured."""
STREAMS = 3
"""Of stalls: those of all cores at once, and those of the threads at the two ends."""
SEED_STEP = 0x9E3779B9
"""Apart lie the seeds of streams."""


def jitter_table(path: str) -> np.ndarray:
    """int64[rows, columns] of a device profile: quantiles, and in the last column of the rows of
    stalls the mean time between two of them (ps; 0: there are none). Raises BadInput."""
    from tailback.plugin import read_profile

    shares = QUANTILE_SHARES
    profile = read_profile(path)
    stalls = profile.stalls
    cores = max(profile.machine.cores, 1)
    alone = max(stalls.count - cores * stalls.at_once_count, 0)
    uniform = np.minimum(np.array(shares), 1 - 2.0**-15)  # the longest gap is ten mean ones
    gaps = -np.log1p(-uniform)
    widths = np.diff(shares)
    gaps /= (widths * (gaps[1:] + gaps[:-1]) / 2).sum()
    table = np.zeros((LINKS + len(profile.departures), COLUMNS), np.int64)
    table[SHARES, :-1] = np.rint(np.array(shares) * (1 << BITS))
    table[GAPS, :-1] = np.rint(gaps * MEAN)
    rows = [
        (AT_ONCE, stalls.at_once_length_quantiles_ns, stalls.at_once_count, 1),
        (ALONE, stalls.length_quantiles_ns, alone, cores),
    ]
    for row, lengths, count, threads in rows:
        if lengths and count:
            table[row, :-1] = np.minimum(np.array(lengths) * 1000, LONGEST)
            table[row, -1] = min(round(stalls.watched_s * threads / count * 1e12), LONGEST_MEAN)
    for place, one in enumerate(profile.departures):
        table[LINKS + place, :-1] = np.clip(np.array(one.link_quantiles_ns) * 1000, 0, LONGEST)
    return table


class HostJitter(Params):
    """Parameters of a link that is served by a machine."""

    former: ClassVar[dict[str, str]] = {"most": "max_shift", "load": "load_index"}

    profile: Annotated[str, *from_file(jitter_table)] = Field(
        description="the file of a device profile"
    )
    load_index: int = Field(0, ge=0, le=1000, description="load index in the profile, from 0")
    thread: int = Field(0, ge=0, le=10_000, description="thread that drives one end")
    peer_thread: int = Field(0, ge=0, le=10_000, description="thread that drives the other end")
    max_shift: Duration = Field(
        10**9, ge=0, le=10**12, description="longest shift of a frame by a stall"
    )
    pace: Annotated[Ratio, RatioLimit(1_000_000)] = Field(
        Fraction(1), gt=0, le=100, description="seconds of the run per second of the machine"
    )


STATE = np.dtype(
    [
        *((name, np.int64) for name in ("lfsr", "lfsr_alike", "started")),
        *((name, np.int64, (STREAMS,)) for name in ("seeds", "begins", "ends")),
    ]
)
"""`begins` and `ends`: of the stall of each stream that is not over yet, ps of the run."""


@compiled
def table_entry(params, row, column):
    """A word of the table: a share, a gap or a time (ps), within the bounds of `jitter_table`."""
    return min(max(word_at(params.profile_address, row * COLUMNS + column), 0), LONGEST)


@compiled
def quantile_of(params, row, draw):
    """Quantile of a row for a draw of BITS bits, interpolated linearly."""
    column = 1
    while column < COLUMNS - 2 and table_entry(params, SHARES, column) <= draw:
        column += 1
    low, high = table_entry(params, SHARES, column - 1), table_entry(params, SHARES, column)
    first, last = table_entry(params, row, column - 1), table_entry(params, row, column)
    between = max(high - low, 1)
    return first + (last - first) * min(max(draw - low, 0), between) // between


@compiled
def next_stall(state, params, stream):
    """The stall behind the one that is over; NEVER where the profile has none."""
    over = state.ends[stream]
    row = AT_ONCE if stream == 0 else ALONE
    word = word_at(params.profile_address, row * COLUMNS + COLUMNS - 1)
    mean = min(max(word, 0), LONGEST_MEAN)
    if mean == 0:
        state.begins[stream] = NEVER
        state.ends[stream] = NEVER
        return
    state.seeds[stream] = lfsr_next(state.seeds[stream])
    gap = (mean >> 16) * min(quantile_of(params, GAPS, state.seeds[stream] >> 12), LONGEST_GAP)
    state.seeds[stream] = lfsr_next(state.seeds[stream])
    length = quantile_of(params, row, state.seeds[stream] >> 12)
    state.begins[stream] = over + max(to_run_time(params, gap), 1)
    state.ends[stream] = state.begins[stream] + min(to_run_time(params, length), params.max_shift)


@compiled
def to_run_time(params, time):
    """A time of the machine in that of the run, FAR at the most or a little beyond: in two parts,
    since the product may not fit."""
    num, den = params.pace_num, params.pace_den
    return min(time // den, LATEST_PS // num) * num + time % den * num // den


@compiled
def seed_stall_streams(state, params):
    """The streams of stalls: alike on all links for the same thread."""
    state.started = 1
    for stream in range(STREAMS):
        thread = 0
        if stream == 1:
            thread = params.thread + 1
        if stream == 2:
            thread = params.peer_thread + 1
        seed = state.lfsr_alike ^ (thread * SEED_STEP & (FIXED_POINT_UNIT - 1))
        state.seeds[stream] = seed if seed != 0 else 1
        state.ends[stream] = 0
        next_stall(state, params, stream)


def link_delay(state, params, port, frame, now, message):
    """Delay of a frame (ps): the link's delay, the host's lateness, and the rest of a stall."""
    if state.started == 0:
        seed_stall_streams(state, params)
    due = port.free_at + port.delay
    state.lfsr = lfsr_next(state.lfsr)
    leaves = due + to_run_time(
        params, quantile_of(params, LINKS + params.load_index, state.lfsr >> 12)
    )
    for stream in range(STREAMS):
        while state.ends[stream] <= due:
            next_stall(state, params, stream)
        if state.begins[stream] <= due:
            leaves = max(leaves, state.ends[stream])
    return leaves - port.free_at


AS_MACHINE: Algorithm = delay_line(
    "host-jitter",
    "late and stalled as the machine of a device profile would be",
    HostJitter,
    STATE,
    delay=link_delay,
    former=("as-machine",),
)
