"""Frame types as data, and the table of types that compiled code reads.

Everything that has to know what a frame is reads this table: codec, switches, routers, captures,
dissection, the simulator where it gives a message the form that its octets would have.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.engine.frames import frame_layout as layout
from orchestrator.engine.frames.frame_field import (
    COLUMNS,
    FLAGS,
    READ,
    SAMPLED,
    WRITTEN,
    Field,
    check_number,
)
from orchestrator.engine.records import Record, record_of
from orchestrator.engine.settable_fields import LONGEST_FRAME

KINDS = 64
"""Types that there can be; those of plugins count from 16."""
FIRST_OF_PLUGINS = 16
"""Smallest `kind` of a plugin's frame type."""
LAST_OF_PLUGINS = 60
"""Largest one: those behind it are layouts of the core (`engine.frames.roce_frame_types`)."""
COMPARED_OCTETS = 128
"""Octets of a frame that a type may say something of."""
MOST_FIELDS = 26

QUEUED, CONTROL, LINK = range(3)
"""Forwarding: through queues, as data; past queues and limiters; to the next node only."""
NO_REWRITE, REWRITE_FIELDS, REWRITE_COPY, REWRITE_BRIDGED = range(4)
"""Treatment of its octets when a switch forwards it: they are written anew from the descriptor;
they stay, with the descriptor's TOS and TTL; likewise, with the TTL it came with less its hops;
they stay, with the descriptor's TOS where there is an IP header."""
OPAQUE = 0
"""`known` of a type whose octets are not ours to write."""


class TypeRow(Record):
    """A frame type as compiled functions see it."""

    described: int  # 1: there is such a type
    carried: int  # QUEUED, CONTROL or LINK
    is_ip: int
    rewrite: int
    octets: int  # of one that a point sends; 0: as long as the frame it is about
    from_end: int  # 1: one that a point sends comes from where that frame was going
    least: int  # octets of the shortest
    known: int  # octets that are written; zeros follow up to its length
    needs: int  # octets that have to be there for it to be recognised
    stamps: int  # the octet where room for stamps begins; 0: it has none
    sample: int  # where the MSDU of the frame that it is about begins; 0: nowhere
    msdu: int  # octet behind the addresses and tags: the EtherType of the payload
    ip: int  # octet where its IP header begins; 0: it has none
    ip_version: int  # 4 or 6; 0: no IP
    pcp_tags: int  # VLAN tags, the outermost first, that have its priority; 0: none
    fields_used: int
    telling_used: int
    read_as: int  # kind of a frame that is read by this row: its own, but for layouts
    turn: int  # of row n: the kind that is tried n-th when octets are read; NONE
    fields: np.ndarray
    template: np.ndarray
    mask: np.ndarray  # bits of the template that tell the type
    telling: np.ndarray  # the octets that have such bits


FRAME_TYPE = record_of(
    TypeRow,
    fields=(np.int64, (MOST_FIELDS, COLUMNS)),
    **dict.fromkeys(("template", "mask", "telling"), (np.uint8, (COMPARED_OCTETS,))),
)


@dataclass(frozen=True)
class Fixed:
    """Octets that are the same in every frame of a type. Raises ValueError."""

    at: int
    octets: bytes
    mask: bytes | None = None
    """Bits that have to match for a frame to be of the type; None: all of them."""

    def __post_init__(self) -> None:
        check_number("fixed octets", dataclasses.fields(self)[0], self.at)
        if self.mask is not None and len(self.mask) != len(self.octets):
            raise ValueError(
                f"fixed octets: a mask of {len(self.mask)} octets for {len(self.octets)} octets"
            )

    @property
    def end(self) -> int:
        """The octet behind them."""
        return self.at + len(self.octets)


def match_octets(at: int, text: str, mask: str | None = None) -> Fixed:
    """Octets (hexadecimal) by which a frame is known to be of its type."""
    return Fixed(at, bytes.fromhex(text), None if mask is None else bytes.fromhex(mask))


def write_octets(at: int, text: str) -> Fixed:
    """Octets (hexadecimal) that are written and may be others in what is received."""
    octets = bytes.fromhex(text)
    return Fixed(at, octets, bytes(len(octets)))


_BOUNDS = {
    "kind": (0, KINDS - 1),
    "carried": (QUEUED, LINK),
    "rewrite": (NO_REWRITE, REWRITE_BRIDGED),
    "least": (14, LONGEST_FRAME),
    "known": (0, LONGEST_FRAME),
    "octets": (0, LONGEST_FRAME),
    "sample": (0, LONGEST_FRAME),
    "stamps": (0, LONGEST_FRAME),
    "msdu": (12, COMPARED_OCTETS),
}
"""Least and most of a number of a type, both included."""


@dataclass(frozen=True)
class FrameType:
    """One type of frame. Raises ValueError when it cannot be one."""

    kind: int
    """`frame.kind`; a plugin's is 16 to 60, and its own alone."""
    name: str
    """Name in captures."""
    summary: str
    least: int
    """Octets of the shortest, without FCS."""
    known: int
    """Octets that are written of each, fields and fixed ones; OPAQUE: none."""
    fixed: Sequence[Fixed] = ()
    fields: Sequence[Field] = ()
    carried: int = CONTROL
    is_ip: bool = False
    rewrite: int = NO_REWRITE
    octets: int = 0
    from_end: bool = False
    sample: int = 0
    stamps: int = 0
    """The octet where the stamps of hops begin (engine.frames.stamps); 0: it carries none."""
    msdu: int = layout.MSDU
    """The octet behind the addresses and VLAN tags: the EtherType of the payload."""
    ip_version: int = 4
    """Of the IP header behind that, where `is_ip`."""
    read_as: int | None = None
    """Kind of the frames that are read by it, where it is another layout of that kind."""

    def __post_init__(self) -> None:
        for declared in dataclasses.fields(self):
            check_number(f"frame type {self.name}", declared, getattr(self, declared.name))
        for name, (least, most) in _BOUNDS.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(
                    f"frame type {self.name}: {name} {getattr(self, name)} is not {least} to {most}"
                )
        if len(self.fields) > MOST_FIELDS:
            raise ValueError(f"frame type {self.name}: more than {MOST_FIELDS} fields")
        if self.known > min(self.least, COMPARED_OCTETS) and not self.sample:
            raise ValueError(f"frame type {self.name}: known {self.known} is more than its least")
        if 0 < self.stamps < self.known:
            raise ValueError(f"frame type {self.name}: stamps begin among its known octets")
        for part in self._sections():
            if part.at < 0 or part.end > self.known:
                raise ValueError(
                    f"frame type {self.name}: octets {part.at} to {part.end - 1} are not among "
                    f"its {self.known} known ones"
                )
        for each in self.fields:
            try:
                each.row()
            except ValueError as error:
                raise ValueError(f"frame type {self.name}: {error}") from error
        self._refuse_overlaps()

    def _refuse_overlaps(self) -> None:
        """Raise ValueError if fields overlap: overwritten octets decode to other values."""
        taken = int.from_bytes(bytes(a | b for a, b in zip(*self.pattern(), strict=True)), "big")
        for each in self.fields:
            bits = ((1 << (each.bits or 8 * each.octets)) - 1) << each.low
            bits <<= 8 * (COMPARED_OCTETS - each.end)
            if each.flags & WRITTEN and taken & bits:
                raise ValueError(
                    f"frame type {self.name}: {each.name or 'a field'} at octet {each.at} is "
                    "written over other octets of it, and would not come back as it was"
                )
            taken |= bits if each.flags & WRITTEN else 0
        read = [(each.name, each.skip) for each in self.fields if each.flags & READ]
        if twice := next((name for name, skip in read if read.count((name, skip)) > 1), None):
            raise ValueError(f"frame type {self.name}: {twice} is read from two places")

    def _sections(self) -> list[Fixed | Field]:
        return [*self.fixed, *self.fields]

    def _is_sampled(self, part: Fixed | Field) -> bool:
        """True if it is of the frame that a message is about."""
        return self.sample != 0 and part.at >= self.sample

    def is_read(self) -> bool:
        """True if a descriptor can be filled from its octets."""
        return any(part.flags & READ for part in self.fields)

    def pattern(self) -> tuple[bytes, bytes]:
        """HELD fixed octets, and which of their bits tell that a frame is of the type."""
        octets, mask = bytearray(COMPARED_OCTETS), bytearray(COMPARED_OCTETS)
        for part in self.fixed:
            octets[part.at : part.end] = part.octets
            mask[part.at : part.end] = (
                part.mask if part.mask is not None else b"\xff" * len(part.octets)
            )
        return bytes(octets), bytes(mask)

    def fill(self, row: np.ndarray) -> None:
        """Write the type into its row FRAME_TYPE of a table."""
        needed = [part.end for part in self._sections() if not self._is_sampled(part)]
        row["described"], row["carried"], row["is_ip"] = 1, self.carried, int(self.is_ip)
        row["rewrite"], row["octets"], row["from_end"] = self.rewrite, self.octets, self.from_end
        row["least"], row["known"], row["needs"] = self.least, self.known, max(needed, default=0)
        row["read_as"] = self.kind if self.read_as is None else self.read_as
        row["stamps"], row["msdu"] = self.stamps, self.msdu
        row["ip"] = self.msdu + 2 if self.is_ip else 0
        row["ip_version"] = self.ip_version if self.is_ip else 0
        row["pcp_tags"] = sum(f.name == "priority" and f.at < self.msdu for f in self.fields)
        row["sample"], row["fields_used"] = self.sample, len(self.fields)
        for number, each in enumerate(self.fields):
            row["fields"][number] = each.row()
            if self._is_sampled(each):
                row["fields"][number][FLAGS] |= SAMPLED
        octets, mask = self.pattern()
        row["template"], row["mask"] = list(octets), list(mask)
        telling = [place for place, bits in enumerate(mask) if bits]
        row["telling"][: len(telling)], row["telling_used"] = telling, len(telling)


def table(types: Sequence[FrameType]) -> np.recarray:
    """FRAME_TYPE[KINDS]: the types by kind. What is received is held against them in this order."""
    found = np.zeros(KINDS, FRAME_TYPE)
    for each in types:
        each.fill(found[each.kind])
    found["turn"] = -1
    for place, each in enumerate(each for each in types if each.is_read()):
        found[place]["turn"] = each.kind
    return found.view(np.recarray)
