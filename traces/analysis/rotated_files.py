"""Rotated capture files: parts of one capture at one point, by their names and times.

Capture programs begin a new file by size or time: dumpcap -b (name_00001_20240131235959.pcapng, or
name_20240131235959_00001.pcapng with `nametimenum`), tcpdump -C (name.pcap, name.pcap1; the name
may end in anything, as in trace, trace1) and -G (a time in the name); logrotate and its like append
a number (name.pcap.1).
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from traces.capture import NO_TIME, open_capture

LONGEST_GAP_NS = 3600 * 10**9
"""Between the last frame of a file and the first of the next."""
SUFFIX = r"\.(?:pcapng|pcap|cap|dmp|ntar)"
PACKED = re.compile(r"\.(?:gz|zst|xz|bz2|lz4)$")
TCPDUMP = re.compile(rf"^(.+{SUFFIX})\.?\d*$")
NUMBERED = re.compile(r"^(.*\D)[1-9]\d*$")
"""Second and later files of tcpdump -C, where the first one is given by its name without number."""
DUMPCAP = re.compile(rf"^(.+?)(?:_\d{{14}})?_\d{{5,}}(?:_\d{{14}})?{SUFFIX}$")
HOUR = re.compile(rf"^(.+)[-_.](?:[01]\d|2[0-3])[-_:.]?[0-5]\d[-_:.]?[0-5]\d{SUFFIX}$")
DATED = re.compile(
    rf"^(.*?)[-_.]?(?:\d{{10}}|\d{{4}}-?\d\d-?\d\d[-_T. ]?\d\d[-_:.]?\d\d(?:[-_:.]?\d\d)?){SUFFIX}$"
)


def rotation_base(path: str) -> str | None:
    """Name that the files of one rotation share; None for a name that no rotation makes."""
    name = PACKED.sub("", Path(path).name)
    for pattern in (DUMPCAP, DATED, HOUR, TCPDUMP):
        found = pattern.match(name)
        if found:
            return str(Path(path).parent / found[1])
    return None


def _bases(names: Sequence[str]) -> list[str | None]:
    """`rotation_base` of some files; of name1 it is name, if that is among the files."""
    found = [rotation_base(name) for name in names]
    packed = [PACKED.sub("", name) for name in names]
    for index, name in enumerate(packed):
        numbered = NUMBERED.match(name)
        if numbered and found[index] is None and numbered[1] in packed:
            first = packed.index(numbered[1])
            if found[first] in (None, numbered[1]):
                found[first] = found[index] = numbered[1]
    return found


def _extent(path: str) -> tuple[int, int, tuple[str, ...]] | None:
    """First and last time of a file and the names of its interfaces; None without times."""
    low, high = 2**63 - 1, NO_TIME
    with open_capture(path) as stream:
        for batch in stream.batches():
            timed = batch.time_ns[batch.time_ns != NO_TIME]
            if len(timed):
                low, high = min(low, int(timed.min())), max(high, int(timed.max()))
        if stream.format == "pcap":
            names: tuple[str, ...] = (f"pcap {stream.interfaces[0].linktype}",)
        else:
            names = tuple(f"{one.name} {one.linktype}" for one in stream.interfaces)
    return (low, high, names) if low <= high else None


def rotations(paths: Sequence[str | os.PathLike[str]]) -> list[list[int]]:
    """Files grouped by capture, as indices in order of time; most groups have one.

    Files are one capture if their names are those of a rotation, their interfaces have the same
    names, and each begins where the one before has ended, at most LONGEST_GAP_NS later.
    """
    by_base: dict[str, list[int]] = defaultdict(list)
    names = [os.fspath(path) for path in paths]
    for index, (name, base) in enumerate(zip(names, _bases(names), strict=True)):
        if base is not None and Path(name).is_file() and name not in names[:index]:
            by_base[base].append(index)
    groups: list[list[int]] = []
    for members in by_base.values():
        if len(members) < 2:
            continue
        extents = {index: extent for index in members if (extent := _extent(names[index]))}
        last: tuple[int, int, tuple[str, ...]] | None = None
        for index in sorted(extents, key=lambda one: extents[one][:2]):
            mine = extents[index]
            if last and mine[2] == last[2] and 0 <= mine[0] - last[1] <= LONGEST_GAP_NS:
                groups[-1].append(index)
            else:
                groups.append([index])
            last = mine
    rotated = {index for group in groups for index in group}
    groups += [[index] for index in range(len(paths)) if index not in rotated]
    return sorted(groups, key=min)
