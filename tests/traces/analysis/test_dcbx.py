"""What neighbours say by DCBX is shown: congestion notification, PFC, ETS."""

from __future__ import annotations

import json
from pathlib import Path

from scapy.layers.l2 import Dot1Q, Ether

from tests.traces.analysis.test_foreign import run, write
from traces.analysis import analyze
from traces.analysis.dcbx import MOST_STATIONS

HEAD = "0207 04 020304050607 0403 02 6162 0602 0078"
CN = "fe06 0080c2 08 05 04"
PFC, LESS_PFC = "fe06 0080c2 0b 84 18", "fe06 0080c2 0b 84 08"
ETS = "fe19 0080c2 09 83 00112233 3214000000000000 0002000000000000"
RECOMMENDED = "fe19 0080c2 0a 00 01234567 6400000000000000 0202000000000000"


def lldp(*tlvs: str, source: str = "02:00:00:00:00:01", tagged: bool = False):  # type: ignore[no-untyped-def]
    unit = bytes.fromhex(HEAD + "".join(tlvs) + "0000")
    ether = Ether(src=source, dst="01:80:c2:00:00:0e", type=0x88CC)
    if tagged:
        return Ether(src=source, dst=ether.dst) / Dot1Q(vlan=5, type=0x88CC) / unit
    return ether / unit


def test_the_tlvs_of_a_station(tmp_path: Path) -> None:
    packets = [lldp(CN, PFC, ETS, RECOMMENDED)] * 3
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    (one,) = seen.neighbours
    assert (one.source, one.frames, one.changes) == ("02:00:00:00:00:01", 3, 0)
    assert one.says["cn"] == {"enabled": [0, 2], "ready": [2]}
    assert one.says["pfc"] == {"enabled": [3, 4], "willing": True, "most_priorities": 4}
    assert one.says["ets"]["classes"] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert one.says["ets"]["bandwidths_percent"][:2] == [50, 20]
    assert one.says["ets"]["willing"] is True
    assert one.says["ets_recommendation"]["classes"] == list(range(8))


def test_the_last_word_counts_and_changes_are_counted(tmp_path: Path) -> None:
    other = "02:00:00:00:00:02"
    packets = [
        *(lldp(PFC), lldp(PFC), lldp(LESS_PFC), lldp(PFC), lldp(LESS_PFC)),
        *(lldp(CN, source=other, tagged=True), lldp(CN, source=other)),
        lldp(source="02:00:00:00:00:03"),
    ]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    first, second, third = seen.neighbours
    assert (first.frames, first.changes, first.says["pfc"]["enabled"]) == (5, 3, [3])
    assert (second.frames, second.changes, list(second.says)) == (2, 0, ["cn"])
    assert (third.frames, third.says) == (1, {})


def test_the_command_shows_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", [lldp(CN, PFC, ETS)])
    done = run(path)
    for part in ("02:00:00:00:00:01", "PFC", "enabled 3 4", "willing yes", "ETS configuration"):
        assert part in done.stdout, part
    assert "congestion notification" in " ".join(done.stdout.split())
    found = json.loads(run(path, "--json").stdout)
    assert found["interfaces"][0]["neighbours"][0]["says"]["pfc"]["enabled"] == [3, 4]


def test_damaged_tlvs_and_many_stations(tmp_path: Path) -> None:
    cut = lldp("fe05 0080c2 08 01", "fe30 0080c2 0b")
    (seen,) = analyze(write(tmp_path / "a.pcap", [cut])).interfaces
    assert seen.neighbours[0].says == {}
    many = [
        lldp(PFC, source=f"02:00:00:01:{n >> 8:02x}:{n & 255:02x}")
        for n in range(MOST_STATIONS + 9)
    ]
    found = analyze(write(tmp_path / "b.pcap", many))
    assert len(found.interfaces[0].neighbours) == MOST_STATIONS
    assert found.more_lldp == 9
