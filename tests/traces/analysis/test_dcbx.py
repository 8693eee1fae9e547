"""What neighbours say by DCBX is shown: congestion notification, PFC, ETS."""

from __future__ import annotations

import json
from pathlib import Path

from scapy.layers.l2 import Dot1Q, Ether

from tests.traces.analysis.test_foreign import run, write
from tests.traces.capture.tshark import needs_tshark, rows
from traces.analysis import analyze
from traces.analysis.dcbx import MOST_STATIONS
from traces.protocols.lldp import PRIORITIES

HEAD = "0207 04 020304050607 0403 02 6162 0602 0078"
CN = "fe06 0080c2 08 05 04"
PFC, LESS_PFC = "fe06 0080c2 0b 84 18", "fe06 0080c2 0b 84 08"
ETS = "fe19 0080c2 09 83 00112233 3214000000000000 0002000000000000"
RECOMMENDED = "fe19 0080c2 0a 00 01234567 6400000000000000 0202000000000000"


def lldp(*tlvs: str, source: str = "02:00:00:00:00:01", tagged: bool = False):
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


APPLICATIONS = "fe0b 0080c2 0c 00 618906 6312b7"
CONTROL = "020a 0000 00000001 00000002"
GROUPS = "0411 0000 c0 00 00012345 0032320000000000 08"
CEE_PFC = "0606 0000 80 00 18 08"
CEE_APPLICATION = "0810 0000 a0 00 8906 00 1b21 08 12b7 01 1b21 18"


def cee(*features: str) -> str:
    """The TLV of CEE 1.01."""
    value = bytes.fromhex("001b21 02" + CONTROL + "".join(features))
    return (0xFE00 | len(value)).to_bytes(2, "big").hex() + value.hex()


def test_applications_and_cee(tmp_path: Path) -> None:
    packets = [
        lldp(APPLICATIONS),
        lldp(cee(GROUPS, CEE_PFC, CEE_APPLICATION), source="02:00:00:00:00:02"),
        lldp(cee(CEE_PFC), PFC, source="02:00:00:00:00:03"),
        lldp("fe06 001b21 01 0204", source="02:00:00:00:00:04"),
    ]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    first, second, third, fourth = seen.neighbours
    assert first.says["applications"]["entries"] == [
        {"priorities": [3], "selector": "EtherType", "protocol": 0x8906},
        {"priorities": [3], "selector": "UDP port", "protocol": 4791},
    ]
    flags = {"on": True, "willing": False, "error": False}
    assert second.says["cee_pfc"] == {"enabled": [3, 4], "most_priorities": 8} | flags
    assert second.says["cee_groups"]["groups"] == [0, 0, 0, 1, 2, 3, 4, 5]
    assert second.says["cee_groups"]["bandwidths_percent"][1:3] == [50, 50]
    assert second.says["cee_groups"]["willing"] is True
    assert second.says["cee_applications"]["error"] is True
    assert second.says["cee_applications"]["entries"] == [
        {"priorities": [3], "selector": "EtherType", "protocol": 0x8906},
        {"priorities": [3, 4], "selector": "port", "protocol": 4791},
    ]
    assert list(third.says) == ["pfc", "cee_pfc"]
    assert [first.notes, second.notes, third.notes] == [[], [], []]
    assert "before CEE" in fourth.notes[0]
    text = " ".join(run(tmp_path / "a.pcap").stdout.split())
    for part in (
        "CEE PFC",
        "application priorities",
        "(UDP port 4791: 3)",
        "(EtherType 0x8906: 3)",
        "before CEE",
    ):
        assert part in text, part


def test_contradictions_are_named(tmp_path: Path) -> None:
    other_ets = ETS.replace("3214", "1432")
    packets = [
        lldp(PFC, LESS_PFC, source="02:00:00:00:00:01"),
        lldp(PFC, PFC, source="02:00:00:00:00:02"),
        lldp(ETS, RECOMMENDED, other_ets, source="02:00:00:00:00:03"),
        lldp(cee(CEE_PFC, CEE_PFC.replace("18 08", "08 08")), source="02:00:00:00:00:04"),
        lldp("fe05 0080c2 0b 84", source="02:00:00:00:00:05"),
        lldp(LESS_PFC, cee(CEE_PFC), source="02:00:00:00:00:06"),
        lldp(APPLICATIONS, "fe08 0080c2 0c 00 618906", source="02:00:00:00:00:07"),
    ]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    notes = [one.notes for one in seen.neighbours]
    assert [len(one) for one in notes] == [1, 0, 1, 1, 1, 1, 1]
    assert "enabled [3, 4] and [3]" in notes[0][0]
    assert seen.neighbours[0].says["pfc"]["enabled"] == [3, 4]
    assert "bandwidths percent" in notes[2][0]
    assert "cee_pfc" in notes[3][0]
    assert "[3] by IEEE's TLV and of [3, 4] by CEE's" in notes[5][0]
    assert "UDP port 4791 at priority 3 and EtherType 0x8906 at priority 3;" in notes[6][0]
    assert "too short" in notes[4][0]
    text = " ".join(run(tmp_path / "a.pcap").stdout.split())
    assert "contradict each other" in text


@needs_tshark
def test_tshark_reads_the_same(tmp_path: Path) -> None:
    tlv = cee(GROUPS, CEE_PFC, CEE_APPLICATION)
    path = write(tmp_path / "a.pcap", [lldp(tlv), lldp(APPLICATIONS)])
    prefix = "lldp.dcbx.feature."
    names = [f"{prefix}pg.pgid_prio{n}" for n in PRIORITIES]
    names += [f"{prefix}pg.per{n}" for n in PRIORITIES]
    names += [f"{prefix}pfc.prio{n}" for n in PRIORITIES]
    names += [f"{prefix}app.proto", f"{prefix}app.prio", "lldp.dcbx.ieee.app.prio"]
    first, second = rows(path, names)
    (station,) = analyze(write(tmp_path / "b.pcap", [lldp(tlv)])).interfaces[0].neighbours
    says = station.says
    theirs = [int(first[name], 0) for name in names[:16]]
    assert theirs == says["cee_groups"]["groups"] + says["cee_groups"]["bandwidths_percent"]
    enabled = [n for n in PRIORITIES if int(first[f"{prefix}pfc.prio{n}"], 0)]
    assert enabled == says["cee_pfc"]["enabled"]
    assert int(first[f"{prefix}app.proto"], 0) == 0x8906
    assert int(first[f"{prefix}app.prio"], 0) == 3
    assert int(second["lldp.dcbx.ieee.app.prio"], 0) == 3
