"""Every field that tshark and we both dissect, on our frames, cut frames and mutated frames.

Known and accepted differences, each handled where it is named below:

- PORT: tshark takes UDP port 4791 for RoCE in both directions, we only as the destination, which
  is what the RoCEv2 annex says.
- EXTENDED: tshark shows nothing of a base transport header whose opcode is followed by further
  headers that do not fit; we show the base.
- OPTIONS: tshark stops at a malformed option inside an IPv6 extension header, we go on behind the
  header, as its length says.
- OFFLOAD: an IPv6 packet whose payload length was left to the card says 0; tshark shows nothing
  behind the header, we go on.
- CUT: of an 802.1ad tag whose EtherType was not captured, tshark shows nothing, we the tag; of an
  IPv4 header whose options were not, it does not show the destination address.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.registry import Registry
from tests.traces.capture.tshark import needs_tshark, rows
from tests.traces.dissect.samples import FRAMES, capture, cuts, mutated
from traces import pcapng
from traces.capture import frames, open_capture
from traces.dissect import ABSENT, Kind, dissect, pauses

FIELDS = (
    "eth.dst", "eth.src", "vlan.id", "vlan.priority", "ieee8021ad.id", "ieee8021ad.priority",
    "ip.version", "ip.src", "ip.dst",
    "ip.dsfield.ecn", "ip.proto", "ipv6.src", "ipv6.dst", "ipv6.tclass.ecn", "ipv6.nxt",
    "ipv6.plen",
    "udp.srcport", "udp.dstport", "udp.length", "tcp.srcport", "tcp.dstport",
    "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "macc.opcode",
    "macc.pause_time", "macc.cbfc.enbv", "macc.cbfc.pause_time.c0", "macc.cbfc.pause_time.c7",
    "frame.protocols", "frame.len", "frame.cap_len",
)  # fmt: skip
ABOVE = {name for name in FIELDS if name.startswith(("udp.", "tcp.", "infiniband."))}
UDP, TCP = 17, 6
PLAN = Path(__file__).parents[2] / "short.toml"


def read(path) -> tuple[np.ndarray, np.ndarray]:
    headers, control = [], []
    with open_capture(path) as stream:
        done = 0
        for batch in stream.batches():
            found = dissect(batch, stream.interfaces)
            some = pauses(batch, found)
            some["row"] += done
            done += len(found)
            headers.append(found.copy())
            control.append(some)
        assert stream.damage is None
    return np.concatenate(headers), np.concatenate(control)


def mac(value: int) -> str:
    return ":".join(f"{octet:02x}" for octet in value.to_bytes(6, "big")) if value >= 0 else ""


def v6(high: int, low: int) -> str:
    return str(ipaddress.IPv6Address((high % 2**64) << 64 | low % 2**64))


def number(text: str) -> int:
    return int(text, 0) if text else ABSENT


def ours(row: np.void, frame: bytes) -> dict[str, object]:
    """What we say of a frame, by tshark's names."""
    said: dict[str, object] = {
        "eth.dst": mac(int(row["destination"])),
        "eth.src": mac(int(row["source"])),
        "vlan.id": int(row["vlan"]),
        "vlan.priority": int(row["priority"]),
    }
    if row["version"] == 4:
        said["ip.dsfield.ecn"] = int(row["ecn"])
        said["ip.proto"] = int(row["protocol"])
        if row["protocol"] != ABSENT:
            said["ip.src"] = str(ipaddress.IPv4Address(int(row["from_low"])))
            said["ip.dst"] = str(ipaddress.IPv4Address(int(row["to_low"])))
    if row["version"] == 6:
        said["ipv6.tclass.ecn"] = int(row["ecn"])
        said["ipv6.src"] = v6(int(row["from_high"]), int(row["from_low"]))
        said["ipv6.dst"] = v6(int(row["to_high"]), int(row["to_low"]))
    if row["protocol"] == UDP:
        said["udp.srcport"] = int(row["source_port"])
        said["udp.dstport"] = int(row["destination_port"])
    if row["protocol"] == TCP:
        said["tcp.srcport"] = int(row["source_port"])
        said["tcp.dstport"] = int(row["destination_port"])
    if row["kind"] in (Kind.ROCE, Kind.CNP):
        said["infiniband.bth.opcode"] = int(row["opcode"])
        said["infiniband.bth.destqp"] = int(row["qp"])
        said["infiniband.bth.psn"] = int(row["psn"])
    return said


def theirs(row: dict[str, str], names: list[str]) -> dict[str, object]:
    """The same of tshark."""
    if "ieee8021ad" in row["frame.protocols"].split(":vlan")[0]:  # the outermost tag
        row = row | {"vlan.id": row["ieee8021ad.id"], "vlan.priority": row["ieee8021ad.priority"]}
    text = {"eth.dst", "eth.src", "ip.src", "ip.dst"}
    addresses = {"ipv6.src", "ipv6.dst"}
    return {
        name: str(ipaddress.IPv6Address(row[name] or "::"))
        if name in addresses
        else row[name]
        if name in text
        else number(row[name])
        for name in names
    }


def bare(frame: bytes, row: np.void) -> bytes:
    """A frame without its CN-TAG, which tshark does not know."""
    place = 12 + 4 * int(row["tags"])
    return frame if row["rpid"] == ABSENT else frame[:place] + frame[place + 4 :]


def compare(path, sent: list[bytes]) -> dict[str, int]:
    """Compare all frames of a file; returns how often each field was compared."""
    path.write_bytes(capture(sent))
    headers, control = read(path)
    path.write_bytes(capture([bare(f, row) for f, row in zip(sent, headers, strict=True)]))
    seen = rows(path, FIELDS)
    if headers["tunnel"].any():
        inside = rows(path, FIELDS, "l")
        seen = [
            inner if row["tunnel"] else outer
            for row, outer, inner in zip(headers, seen, inside, strict=True)
        ]
    assert len(seen) == len(headers) == len(sent)
    count: dict[str, int] = {}
    for index, (row, other) in enumerate(zip(headers, seen, strict=True)):
        said = ours(row, sent[index])
        last = other["frame.protocols"].rpartition(":")[2]
        if last.startswith("ipv6."):  # OPTIONS
            said = {name: value for name, value in said.items() if ".srcport" not in name}
            said = {name: value for name, value in said.items() if ".dstport" not in name}
        if row["version"] == 6 and number(other["ipv6.plen"]) == 0:  # OFFLOAD
            said = {name: value for name, value in said.items() if name not in ABOVE}
        if last == "ieee8021ad":  # CUT
            del said["vlan.id"], said["vlan.priority"]
        if row["version"] == 4 and row["place"] > len(sent[index]):  # CUT
            said.pop("ip.dst", None)
        if last == "infiniband" and not other["infiniband.bth.opcode"]:  # EXTENDED
            said = {name: said[name] for name in said if not name.startswith("infiniband")}
        want = theirs(other, list(said))
        assert said == want, (index, sent[index].hex(), other["frame.protocols"])
        for name in said:
            count[name] = count.get(name, 0) + 1
        assert found_all(row, other), (index, sent[index].hex(), other["frame.protocols"])
    for one in control:
        other = seen[one["row"]]
        if headers["kind"][one["row"]] == Kind.PAUSE:
            assert number(other["macc.pause_time"]) == one["quanta"][0]
            count["pause"] = count.get("pause", 0) + 1
        else:
            assert number(other["macc.cbfc.pause_time.c0"]) == one["quanta"][0]
            assert number(other["macc.cbfc.pause_time.c7"]) == one["quanta"][7]
            count["pfc"] = count.get("pfc", 0) + 1
    return count


def found_all(row: np.void, other: dict[str, str]) -> bool:
    """Whether we found each header that tshark has found whole."""
    layers = other["frame.protocols"].split(":")
    network = next((one for one in layers if one in ("ip", "ipv6", "arp")), "")
    above = layers[layers.index(network) + 1 :][:1] if network else []
    if network == "ip" and other["ip.dst"] and row["version"] != 4:
        return False
    if network == "ipv6" and other["ipv6.dst"] and row["version"] != 6:
        return False
    if above == ["udp"] and other["udp.dstport"] and row["destination_port"] == ABSENT:
        return False
    if above == ["tcp"] and other["tcp.dstport"] and row["destination_port"] == ABSENT:
        return False
    to_roce = other["udp.dstport"] == "4791"  # PORT
    if other["infiniband.bth.psn"] and to_roce and row["psn"] == ABSENT:
        return False
    if other["macc.pause_time"] and row["kind"] != Kind.PAUSE:
        return False
    return not other["macc.cbfc.pause_time.c7"] or row["kind"] == Kind.PFC


@needs_tshark
def test_whole_frames(tmp_path) -> None:
    count = compare(tmp_path / "a.pcap", list(FRAMES))
    assert {"ip.src", "ipv6.src", "udp.dstport", "tcp.srcport", "pause", "pfc"} <= set(count)
    assert count["infiniband.bth.psn"] == 3


@needs_tshark
def test_cut_frames(tmp_path) -> None:
    compare(tmp_path / "a.pcap", cuts())


@needs_tshark
@pytest.mark.parametrize("seed", range(6))
def test_mutated_frames(tmp_path, seed) -> None:
    compare(tmp_path / "a.pcap", mutated(seed, 3000))


@needs_tshark
def test_frames_of_our_own_run(tmp_path) -> None:
    """A simulated run with a NIC that is sent CNMs, captured at both ends of the switch."""
    registry = Registry.load()
    plan = Plan.load(PLAN.read_text(encoding="utf-8")).check(registry)
    recording = registry.target("simulated").run(plan, silent)
    path = tmp_path / "a.pcapng"
    pcapng.write(path, recording.captures)
    some = [frame.octets for frame in frames(path)]
    some = [*some[:1000], *(one for one in some if one[16:18] == b"\x22\xe7")]
    count = compare(tmp_path / "b.pcap", some)
    assert count["udp.dstport"] > 950
    assert count["vlan.id"] == len(some) > 1020
