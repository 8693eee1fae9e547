"""DCBX settings of neighbours from LLDP frames: congestion notification, ETS and PFC.

Those are rare and repeat themselves: a frame is parsed when its octets are not those of the last
one from the same station.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import dpkt  # type: ignore[import-untyped]
import numpy as np

from orchestrator.engine.frames import frame_layout
from traces.capture import Batch
from traces.protocols import Lldp
from traces.protocols.lldp import (
    CEE_APPLICATION,
    CEE_GROUPS,
    CEE_ORGANISATION,
    CEE_PFC,
    CEE_PRE,
    CLASSES,
    ETS_CONFIGURATION,
    ETS_RECOMMENDATION,
    PRIORITIES,
    ApplicationPriorities,
    CeeConfiguration,
    CeeFeature,
    CongestionNotification,
    Ets,
    PfcConfiguration,
)

MOST_STATIONS = 1 << 10
"""Stations with a row of their own, over all points; of others LLDP frames are only counted."""
LLDP_TYPE = 0x88CC
MOST_TAGS = 2
TAGS = (frame_layout.VLAN_TYPE, 0x88A8)


@dataclass
class Station:
    """One that speaks LLDP, by point and MAC address."""

    point: int
    source: int
    frames: int = 0
    changes: int = 0
    """Number of changes of its announced settings."""
    says: dict[str, Any] = field(default_factory=dict)
    """By TLV; of its last frame."""
    notes: list[str] = field(default_factory=list)
    """What is to be said about its last frame."""


class Neighbours:
    """All stations so far."""

    def __init__(self) -> None:
        self.stations: list[Station] = []
        self.others = 0
        """LLDP frames of stations without a row of their own."""
        self._index: dict[tuple[int, int], int] = {}
        self._last: list[bytes] = []

    def add(self, batch: Batch, rows: np.ndarray) -> None:
        """Take LLDP frames of a batch whose interfaces are points: its `rows` int64[n]."""
        for row, place in lldp_rows(batch, rows):
            octets = batch.frame(row)
            key = (
                int(batch.interface[row]),
                int.from_bytes(octets[frame_layout.SOURCE_MAC :][:6], "big"),
            )
            if key not in self._index and len(self.stations) >= MOST_STATIONS:
                self.others += 1
                continue
            if key not in self._index:
                self._index[key] = len(self.stations)
                self.stations.append(Station(*key))
                self._last.append(b"")
            index = self._index[key]
            self._take(self.stations[index], octets[place:], self._last[index])
            self._last[index] = octets[place:]

    def _take(self, station: Station, unit: bytes, last: bytes) -> None:
        station.frames += 1
        if unit == last:
            return
        says, station.notes = dcbx_tlvs(unit)
        station.changes += station.frames > 1 and says != station.says
        station.says = says


def lldp_rows(batch: Batch, rows: np.ndarray) -> list[tuple[int, int]]:
    """Rows of a batch that are LLDP frames, with the offset of the data unit."""
    found: list[tuple[int, int]] = []
    place = frame_layout.VLAN
    for _ in range(MOST_TAGS + 1):
        rows = rows[batch.captured[rows] >= place + 2]
        at = batch.offset[rows] + place
        types = batch.octets[at].astype(np.int64) << 8 | batch.octets[at + 1]
        found += [(row, place + 2) for row in rows[types == LLDP_TYPE].tolist()]
        rows = rows[np.isin(types, TAGS)]
        place += frame_layout.TAG_OCTETS
    return sorted(found)


def dcbx_tlvs(unit: bytes) -> tuple[dict[str, Any], list[str]]:
    """The DCBX TLVs of a data unit by name, empty where there are none, and notes about them.

    Of several TLVs of one name the first is taken; a note says so where they differ.
    """
    try:
        data = Lldp(unit)
    except dpkt.UnpackError:
        return {}, []
    every: list[tuple[str, dict[str, Any]]] = []
    for value in data.find_all(CongestionNotification):
        enabled, ready = _priorities(value.cnpv), _priorities(value.ready)
        every.append(("cn", {"enabled": enabled, "ready": ready}))
    for value in data.find_all(PfcConfiguration):
        every.append(("pfc", _pfc(value.enabled, value.willing, value.capability)))
    for name, subtype in (
        ("ets", ETS_CONFIGURATION),
        ("ets_recommendation", ETS_RECOMMENDATION),
    ):
        every += [(name, _ets(name, value)) for value in data.find_all(Ets, subtype)]
    for value in data.find_all(ApplicationPriorities):
        entries = [
            {"priorities": [priority], "selector": _selector(SELECTORS, selector)}
            | {"protocol": protocol}
            for priority, selector, protocol in value.entries
        ]
        every.append(("applications", {"entries": entries}))
    for value in data.find_all(CeeConfiguration):
        every += [one for kind, feature in value.features for one in _cee(kind, feature)]
    found: dict[str, Any] = {}
    notes = []
    for name, says in every:
        if says != found.setdefault(name, says):
            first = found[name]
            differing = [
                f"{key.replace('_', ' ')} {_value_text(first.get(key))} and {_value_text(value)}"
                for key, value in says.items()
                if value != first.get(key)
            ]
            what = ", ".join(differing)
            notes.append(
                f"sends {name} TLVs that contradict each other: {what}; the first is shown"
            )
    if "pfc" in found and "cee_pfc" in found:
        ieee, cee = found["pfc"]["enabled"], found["cee_pfc"]["enabled"]
        if ieee != cee:
            notes.append(f"enables PFC of {ieee} by IEEE's TLV and of {cee} by CEE's")
    for tlv in data.tlvs:
        organisation = getattr(tlv, "oui", b""), getattr(tlv, "subtype", None)
        if organisation == (CEE_ORGANISATION, CEE_PRE):
            notes.append("speaks DCBX of before CEE (00-1B-21, subtype 1), which is not read")
        elif isinstance(tlv.data, bytes) and organisation[1] in CLASSES.get(organisation[0], {}):
            notes.append(f"sends a DCBX TLV (subtype {organisation[1]}) that is too short to read")
    return found, notes


def _value_text(value: Any) -> str:
    """A value of a TLV in words: of a list of applications, each with its priorities."""
    if not isinstance(value, list) or not any(isinstance(one, dict) for one in value):
        return str(value)
    return ", ".join(
        f"{one['selector']} {protocol_text(one)} at priority "
        + " and ".join(str(priority) for priority in one["priorities"])
        for one in value
    )


def protocol_text(entry: dict[str, Any]) -> str:
    """The protocol of an application priority: EtherTypes in hexadecimal digits."""
    number = entry["protocol"]
    return f"{number:#06x}" if entry["selector"] == "EtherType" else str(number)


SELECTORS = {1: "EtherType", 2: "TCP port", 3: "UDP port", 4: "port", 5: "DSCP"}
"""Selectors of an application priority (802.1Q table D-9)."""
CEE_SELECTORS = {0: "EtherType", 1: "port"}


def _selector(names: dict[int, str], selector: int) -> str:
    return names.get(selector, f"selector {selector}")


def _pfc(bits: int, willing: int, most: int) -> dict[str, Any]:
    enabled = _priorities(bits)
    return {"enabled": enabled, "willing": bool(willing), "most_priorities": int(most)}


def _ets(name: str, value: Any) -> dict[str, Any]:
    return {
        "classes": list(value.classes),
        "bandwidths_percent": list(value.bandwidths),
        "algorithms": list(value.algorithms),
    } | ({"willing": bool(value.willing)} if name == "ets" else {})


def _cee(kind: int, feature: CeeFeature) -> list[tuple[str, dict[str, Any]]]:
    """A feature of CEE's TLV by name; nothing for one that is unknown or too short."""
    value = bytes(feature.data)
    flags = {"on": bool(feature.enabled), "willing": bool(feature.willing)}
    flags["error"] = bool(feature.error)
    if kind == CEE_PFC and len(value) >= 2:
        pfc = {"enabled": _priorities(value[0]), "most_priorities": value[1]}
        return [("cee_pfc", pfc | flags)]
    if kind == CEE_GROUPS and len(value) >= 13:
        groups = [value[one // 2] >> (4 if one % 2 == 0 else 0) & 15 for one in PRIORITIES]
        shares = {"groups": groups, "bandwidths_percent": list(value[4:12])}
        return [("cee_groups", shares | {"most_classes": value[12]} | flags)]
    if kind == CEE_APPLICATION:
        entries = [
            {"priorities": _priorities(value[at + 5])}
            | {"selector": _selector(CEE_SELECTORS, value[at + 2] & 3)}
            | {"protocol": int.from_bytes(value[at : at + 2], "big")}
            for at in range(0, len(value) - 5, 6)
        ]
        return [("cee_applications", {"entries": entries} | flags)]
    return []


def _priorities(bits: int) -> list[int]:
    return [priority for priority in PRIORITIES if bits >> priority & 1]
