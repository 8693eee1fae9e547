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
    ETS_CONFIGURATION,
    ETS_RECOMMENDATION,
    PRIORITIES,
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
        said = dcbx_tlvs(unit)
        station.changes += station.frames > 1 and said != station.says
        station.says = said


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


def dcbx_tlvs(unit: bytes) -> dict[str, Any]:
    """The DCBX TLVs of a data unit, by name; empty where there are none."""
    try:
        data = Lldp(unit)
    except dpkt.UnpackError:
        return {}
    found: dict[str, Any] = {}
    notification = data.find(CongestionNotification)
    if notification is not None:
        found["cn"] = {
            "enabled": _priorities(notification.cnpv),
            "ready": _priorities(notification.ready),
        }
    pfc = data.find(PfcConfiguration)
    if pfc is not None:
        found["pfc"] = {
            "enabled": _priorities(pfc.enabled),
            "willing": bool(pfc.willing),
            "most_priorities": int(pfc.capability),
        }
    for name, subtype in (
        ("ets", ETS_CONFIGURATION),
        ("ets_recommendation", ETS_RECOMMENDATION),
    ):
        ets = data.find(Ets, subtype)
        if ets is not None:
            found[name] = {
                "classes": list(ets.classes),
                "bandwidths_percent": list(ets.bandwidths),
                "algorithms": list(ets.algorithms),
            } | ({"willing": bool(ets.willing)} if name == "ets" else {})
    return found


def _priorities(bits: int) -> list[int]:
    return [priority for priority in PRIORITIES if bits >> priority & 1]
