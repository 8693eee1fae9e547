"""Headers that a plan asks for, VLAN tags and IP version, and frame types with these headers.

Frame types are described with one VLAN tag and IPv4 (`engine.frames.core_frame_types`). For other
headers every type, those of plugins included, is described anew: fields behind a tag or an IP
header move with it, lengths count from where they now begin, the rest stays. A frame keeps its
length, so other headers leave another room for its payload.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames import ipv6_header as ipv6
from orchestrator.engine.frames.frame_field import (
    CHECKSUM,
    READ,
    WRITTEN,
    Field,
    udp_checksum,
)
from orchestrator.engine.frames.frame_type import (
    LINK,
    OPAQUE,
    QUEUED,
    Fixed,
    FrameType,
    match_octets,
    write_octets,
)
from orchestrator.engine.records import CNP, ROCE_CNP

LEAST_VLAN, MOST_VLAN = 1, 4094
IP4_HEADER = 20
ROCE_HEADER = at.BTH + 12 + 4
"""Octets of a RoCEv2 data packet with a tag and IPv4 that are no payload: BTH and ICRC included."""


@dataclass(frozen=True)
class HeaderOptions:
    """Headers of a plan's frames, but for PAUSE, PFC and grants, which have none of them."""

    vlan: int | None = at.VLAN_ID
    """VLAN id; None: frames are untagged."""
    outer_vlan: int | None = None
    """VLAN id of a service tag in front of it (QinQ); None: there is none."""
    ip: int = 4
    """Version of IP."""
    by_dscp: bool = False
    """True: a frame's DSCP says its priority; the priority in its tags is 0."""
    roce: bool = False
    """True: some flows are RoCEv2 queue pairs, and the table has the layouts of their frames."""
    queued_cnps: bool = False
    """True: switches queue CNPs as data of their priority; else they send them ahead of data."""

    @property
    def tags(self) -> list[tuple[int, int]]:
        """(EtherType, VLAN id) of each tag, the outer one first."""
        outer = [] if self.outer_vlan is None else [(at.OUTER_TYPE, self.outer_vlan)]
        return [*outer, *([] if self.vlan is None else [(at.VLAN_TYPE, self.vlan)])]

    @property
    def msdu(self) -> int:
        """Octets of addresses and tags."""
        return at.VLAN + at.TAG_OCTETS * len(self.tags)

    @property
    def longer(self) -> int:
        """Octets that the headers of an IP frame are longer than with a tag and IPv4."""
        return self.msdu - at.MSDU + (ipv6.HEADER - IP4_HEADER if self.ip == 6 else 0)

    @property
    def octets(self) -> int:
        """Octets of the headers of a data frame, and so of the shortest one."""
        return at.DATA_HEADER + self.longer

    @property
    def roce_octets(self) -> int:
        """The same of a RoCEv2 packet, its ICRC included, without RETH and padding."""
        return ROCE_HEADER + self.longer


DEFAULT = HeaderOptions()
TAGGED = at.VLAN_TYPE.to_bytes(2, "big")


def with_headers(each: FrameType, options: HeaderOptions) -> FrameType:
    """A frame type as it is with other headers; one that has no tag by itself stays as it is.
    Raises ValueError where it has no room."""
    if options.queued_cnps and each.kind in (CNP, ROCE_CNP):
        each = replace(each, carried=QUEUED)
    same = replace(options, roce=False, queued_cnps=False) == DEFAULT
    if same or each.carried == LINK or each.known == OPAQUE:
        return each
    if not any(one.at == at.VLAN and one.octets[:2] == TAGGED for one in each.fixed):
        return each
    six = options.ip == 6 and each.is_ip
    moved = options.longer if each.is_ip else options.msdu - at.MSDU
    short = each.least == at.MINIMUM
    fixed = [*_tags(options), *_fixed(each, options.msdu - at.MSDU, six)]
    fields = [*_priorities(options), *_fields(each, options, six)]
    if six:
        fields.append(udp_checksum(options.msdu + 2))
    return replace(
        each,
        fixed=fixed,
        fields=fields,
        least=each.least if short else each.least + moved,
        known=each.known if each.known == at.MINIMUM else each.known + moved,
        octets=each.octets if each.octets in (0, at.MINIMUM) else each.octets + moved,
        stamps=each.stamps + moved if each.stamps else 0,
        sample=each.sample + moved if each.sample else 0,
        msdu=options.msdu,
        ip_version=options.ip,
    )


def _tags(options: HeaderOptions) -> Iterator[Fixed]:
    for number, (kind, vlan) in enumerate(options.tags):
        place = at.VLAN + at.TAG_OCTETS * number
        yield match_octets(place, f"{kind:04x}")
        yield write_octets(place + 2, f"{vlan:04x}")


def _priorities(options: HeaderOptions) -> Iterator[Field]:
    """The priority in each tag; it is read from the outer one, as bridges do."""
    if options.by_dscp:
        return
    for number in range(len(options.tags)):
        flags = READ | WRITTEN if number == 0 else WRITTEN
        place = at.VLAN + at.TAG_OCTETS * number + 2
        yield Field("priority", place, 2, low=13, bits=3, flags=flags)


def _fixed(each: FrameType, tags: int, six: bool) -> Iterator[Fixed]:
    """Fixed octets behind the addresses; `tags`: octets that the tags are longer."""
    tos, tos_mask = 0, 0
    for one in each.fixed:
        if at.VLAN <= one.at < at.TYPE:
            continue
        if six and one.at == at.IP + 1:
            tos = one.octets[0]
            tos_mask = 0xFF if one.mask is None else one.mask[0]
        elif six and at.TYPE <= one.at < at.UDP:
            yield from _fixed_of_ipv6(one, tags)
        else:
            behind = one.at >= at.UDP and six
            yield replace(one, at=one.at + (tags if one.at >= at.TYPE else 0) + 20 * behind)
    if six:
        first, mask = 0x6000 | tos << 4, 0xF000 | tos_mask << 4
        yield match_octets(at.IP + tags, f"{first:04x}", f"{mask:04x}")
        for place in (ipv6.SOURCE, ipv6.DESTINATION):
            yield match_octets(at.IP + tags + place, ipv6.PREFIX)


def _fixed_of_ipv6(one: Fixed, tags: int) -> Iterator[Fixed]:
    """Fixed octets of the EtherType or of an IPv4 header as those of IPv6."""
    ip = at.IP + tags
    if one.at == at.TYPE:
        yield match_octets(at.TYPE + tags, f"{at.IPV6_TYPE:04x}")
    elif one.at == at.IP + 2:
        octets = int.from_bytes(one.octets, "big") - IP4_HEADER
        yield replace(one, at=ip + ipv6.PAYLOAD_LENGTH, octets=octets.to_bytes(2, "big"))
    elif one.at == at.IP + 8:
        yield replace(one, at=ip + ipv6.HOP_LIMIT)
    elif one.at == at.IP + 9:
        yield replace(one, at=ip + ipv6.NEXT_HEADER)


def _fields(each: FrameType, options: HeaderOptions, six: bool) -> Iterator[Field]:
    tags = options.msdu - at.MSDU
    for one in each.fields:
        if one.at < at.VLAN:
            yield one
        elif one.at < at.TYPE:
            continue
        elif six:
            yield from _field_of_ipv6(one, tags)
        else:
            yield _shifted(one, tags, unread=each.sample > 0 and _lacks_priority(options))


def _lacks_priority(options: HeaderOptions) -> bool:
    return options.by_dscp or not options.tags


def _shifted(one: Field, by: int, unread: bool) -> Field:
    """A field behind tags that are `by` octets longer. `unread`: no tag of its frame has the
    priority, so a message's copy of it is read instead."""
    changes = {"at": one.at + by}
    if one.begins:
        changes["begins"] = one.begins + by
    if one.plus in (-at.MSDU, -at.IP, -at.UDP):  # a length, counted from there
        changes["plus"] = one.plus - by
    if unread and one.name == "priority":
        changes["flags"] = one.flags | READ
    return replace(one, **changes)  # type: ignore[arg-type]


def _field_of_ipv6(one: Field, tags: int) -> Iterator[Field]:
    """A field of an IPv4 frame as that of an IPv6 one."""
    ip = at.IP + tags
    if one.op == CHECKSUM:
        return
    if one.at == at.IP + 1:  # the traffic class lies between version and flow label
        yield replace(one, at=ip, octets=2, low=one.low + 4, bits=one.bits or 8)
    elif one.at == at.IP + 2:
        yield replace(one, at=ip + ipv6.PAYLOAD_LENGTH, plus=-(ip + ipv6.HEADER))
    elif one.at == at.IP + 8:
        yield replace(one, at=ip + ipv6.HOP_LIMIT)
    elif one.at in (at.IP + 12, at.IP + 16):
        place = ipv6.SOURCE if one.at == at.IP + 12 else ipv6.DESTINATION
        begins = one.begins + tags + 20 if one.begins else 0
        yield replace(one, at=ip + place + 12, begins=begins)
    else:
        begins = one.begins
        if begins:
            begins = ip if begins == at.IP else begins + tags + 20
        plus = one.plus - (tags + 20) if one.plus == -at.UDP else one.plus
        yield replace(one, at=one.at + tags + 20, begins=begins, plus=plus)


def shapes() -> list[HeaderOptions]:
    """Headers by the rows of `type_registry.captured_tables`: without, with one and with two tags,
    then the same with IPv6."""
    tags = [(None, None), (at.VLAN_ID, None), (at.VLAN_ID, at.VLAN_ID)]
    return [HeaderOptions(vlan, outer, ip, roce=True) for ip in (4, 6) for vlan, outer in tags]


def types_with(types: Sequence[FrameType], options: HeaderOptions) -> list[FrameType]:
    """All of some types as they are with other headers; with IPv6 without CNM, which has no room
    for the headers of the frame that it repeats."""
    return [with_headers(each, options) for each in types if options.ip == 4 or not each.sample]
