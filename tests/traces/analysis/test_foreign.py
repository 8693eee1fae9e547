"""Traffic of others: TCP, UDP, RoCE with ECN, over pcap; and what the command writes of it."""

from __future__ import annotations

import json
import random
import time

import pyarrow.parquet as pq
import pytest
import typer
from scapy.contrib.roce import BTH, cnp
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from typer.testing import CliRunner

from orchestrator.errors import BadInput
from tests.traces.analysis.test_hops_and_cascades import cascade
from tests.traces.capture import captures as make
from tests.traces.capture.captures import pcap
from tests.traces.dissect.samples import FRAMES
from traces import trace_commands
from traces.analysis import Settings, analyze
from traces.analysis.cnm_statistics import MOST_POINTS
from traces.analysis.pause_spells import MOST_LINKS

E = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def write(path, packets, step_us: int = 1000):
    records = [
        (1, index * step_us, bytes(one), len(bytes(one))) for index, one in enumerate(packets)
    ]
    path.write_bytes(pcap(records))
    return path


def roce(psn: int, opcode: int = 10, ecn: int = 2):
    ip = IP(src="10.0.0.1", dst="10.0.0.2", tos=ecn)
    return E / Dot1Q(vlan=5, prio=3) / ip / UDP(sport=49999, dport=4791) / BTH(
        opcode=opcode, dqpn=0x11, psn=psn % 2**24
    ) / bytes(64)  # fmt: skip


def test_roce(tmp_path) -> None:
    order = [2**24 - 3, 2**24 - 2, 2**24 - 1, 2**24, 2**24 + 3, 2**24 + 2, 2**24 + 2, 2**24 + 5]
    packets = [roce(psn, ecn=3 if psn % 2 else 2) for psn in order]
    packets += [roce(77, opcode=17)]  # an acknowledgement's number is not the flow's own
    packets += [E / IP(src="10.0.0.2", dst="10.0.0.1") / UDP(dport=4791) / cnp(dqpn=9)]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    assert [seen.frames[kind] for kind in ("roce", "roce_ack", "cnp")] == [8, 1, 1]
    flow = next(one for one in seen.conversations if one.kind == "roce")
    assert (flow.qp, flow.vlan, flow.priority, flow.frames) == (0x11, 5, 3, 9)
    assert (flow.lost, flow.duplicates, flow.reordered) == (2, 1, 2)
    assert (flow.ce, flow.ect0, seen.ce) == (4, 5, 4)
    assert (flow.from_address, flow.destination_port) == ("10.0.0.1", 4791)
    other = next(one for one in seen.conversations if one.kind == "cnp")
    assert (other.qp, other.lost) == (9, None)


def test_losses_of_roce_reads_are_not_claimed(tmp_path) -> None:
    packets = [roce(1), roce(2, opcode=12), roce(9)]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    (flow,) = seen.conversations
    assert (flow.lost, flow.reordered) == (None, 0)


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        ([(1, 0), (2, 22), (3, 23), (5, 23)], (1, 0, 0)),  # sends with invalidate
        ([(1, 19), (2, 20), (3, 28), (4, 29), (6, 10)], (1, 0, 0)),  # atomics, flush
        ([(1, 0xA7), (2, 0xA7), (4, 0xA7)], (1, 0, 0)),  # extended reliable connection
        ([(1, 0x64), (900, 0x64), (2, 0x64)], (None, None, 0)),  # datagrams of two queue pairs
        ([(1, 10), (3, 10), (2**22, 10), (2**22 + 2, 10), (7, 10), (8, 10)], (2, 0, 2)),
        ([(2**24 - 1, 10), (70000, 10), (70001, 10), (70000, 10)], (0, 1, 1)),
        ([(1, 10), (60000, 10), (60001, 10)], (59998, 0, 0)),  # fewer than a sender has under way
    ],
)
def test_what_takes_a_packet_number(tmp_path, sent, wanted) -> None:
    """Lost, duplicate, restarts by opcode and number."""
    packets = [roce(psn, opcode) for psn, opcode in sent]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    (flow,) = seen.conversations
    assert (flow.lost, flow.duplicates, flow.restarts) == wanted
    assert flow.data_frames == len(sent)


def test_frames_without_an_ethertype_are_one_flow(tmp_path) -> None:
    """802.3 has a length there, here of spanning tree's."""
    packets = [Ether(src=E.src, dst=E.dst, type=38 + n % 3) / bytes(60) for n in range(6)]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    assert [(one.frames, one.ethertype) for one in seen.conversations] == [(6, 0)]


@pytest.mark.parametrize("version", [4, 6])
def test_later_fragments_are_no_flow_that_competes(tmp_path, version) -> None:
    ip = {
        4: [IP(proto=17, flags=1), IP(proto=17, frag=175)],
        6: [IPv6() / IPv6ExtHdrFragment(nh=17, offset=n * 175, m=1 - n) for n in range(2)],
    }[version]
    packets = [E / one / Raw(bytes(UDP(sport=5, dport=6, len=2000)) + bytes(900)) for one in ip] * 3
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    assert [one.frames for one in seen.conversations] == [3, 3]
    assert (seen.fairness.flows, seen.jain) == (1, None)


@pytest.mark.parametrize(("again", "twice"), [(range(20), True), (range(5, 15), False)])
def test_a_mirror_of_both_ports_is_said(tmp_path, again, twice) -> None:
    packets = [roce(psn) for n in range(20) for psn in ([n, n] if n in again else [n])]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    assert [one.is_seen_twice for one in seen.conversations] == [twice]


def test_tcp_and_udp(tmp_path) -> None:
    def tcp(seq: int):
        return E / IP(src="1.1.1.1", dst="2.2.2.2") / TCP(sport=5, dport=6, seq=seq) / bytes(1000)

    packets = [tcp(2**32 - 500), tcp(500), tcp(2500), tcp(1500), tcp(3500)]
    packets += [E / IP(src="1.1.1.1", dst="2.2.2.2") / UDP(sport=5, dport=6) / bytes(958)] * 5
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    first, second = seen.conversations
    assert (first.protocol, first.reordered, first.lost) == (6, 1, None)
    assert first.throughput_bps == pytest.approx(4 * 1054 * 8 / 0.004)
    assert (second.protocol, second.reordered, second.lost) == (17, None, None)
    assert seen.jain == pytest.approx((1054 + 1000) ** 2 / (2 * (1054**2 + 1000**2)))


def test_of_frames_that_are_not_dissected_there_is_no_fairness(tmp_path) -> None:
    raw = [(1, n, bytes([n, 69]) * 40, 80) for n in range(9)]
    (tmp_path / "a.pcap").write_bytes(pcap(raw, linktype=101))
    (tmp_path / "b.pcap").write_bytes(pcap([(1, n, b"short", 80) for n in range(9)]))
    one = write(tmp_path / "c.pcap", [E / IP(src="1.1.1.1", dst="2.2.2.2") / UDP() / bytes(9)] * 5)
    for path in (tmp_path / "a.pcap", tmp_path / "b.pcap", one):
        (seen,) = analyze(path).interfaces
        assert sum(seen.frames.values()) in (5, 9)
        assert seen.jain is None
        assert "fairness" not in run(path).stdout


def test_several_files_of_several_batches(tmp_path) -> None:
    """pcap tells no interface: what stands for it in one batch is not what it is in the next."""
    packets = [E / IP(src="10.0.0.1", dst="10.0.0.2") / UDP() / bytes(900)] * 2500  # above 1 MiB
    paths = [write(tmp_path / name, packets) for name in ("a.pcap", "b.pcap", "c.pcap")]
    seen = analyze(*paths).interfaces
    assert [one.frames for point in seen for one in point.conversations] == [2500] * 3


def test_an_impossible_length_of_ip_leaves_no_address(tmp_path) -> None:
    packets = [E / IP(src="1.1.1.1", dst="2.2.2.2", len=7) / UDP() / b"abc"]
    (seen,) = analyze(write(tmp_path / "a.pcap", packets)).interfaces
    (flow,) = seen.conversations
    assert (flow.from_address, flow.to_address, flow.protocol) == (None, None, None)


def run(*arguments: object):
    app = typer.Typer()
    trace_commands.register(app)
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["analyze", *map(str, arguments)])


def test_files_of_the_command(tmp_path) -> None:
    paths = [*cascade(tmp_path), write(tmp_path / "x.pcap", FRAMES * 3)]
    out = tmp_path / "out"
    done = run(*paths, "--json", "--out", out, "--rate", "1Gb/s", "--storm", "1ms")
    assert done.exit_code == 0, done.output
    assert json.loads((out / "analysis.json").read_text()) == json.loads(done.stdout)
    flows = pq.read_table(out / "flows.parquet").to_pylist()
    rates = pq.read_table(out / "rates.parquet").to_pylist()
    for flow in flows:
        assert sum(r["octets"] for r in rates if r["row"] == flow["row"]) == flow["octets"]
    pauses = pq.read_table(out / "pauses.parquet").to_pylist()
    assert [one["interface"] for one in pauses if one["cause"] is not None] == [
        "leaf.spine",
        "spine.nic",
    ]
    messages = pq.read_table(out / "messages.parquet").to_pylist()
    assert [one["feedback"] for one in messages] == [33] * 3
    names = {path.name for path in out.iterdir()}
    assert {"cascades.svg", "cascades.png", "interface-0-leaf-sink.svg"} <= names
    assert (out / "interface-4-x.png").stat().st_size > 5000


def test_text_of_the_command(tmp_path) -> None:
    path = write(tmp_path / "x.pcap", FRAMES * 2)
    path.write_bytes(path.read_bytes()[:-3])
    done = run(*cascade(tmp_path), path, "--rate", "1Gb/s")
    assert done.exit_code == 0, done.output
    assert done.output.count("damage") == 1, "it is said once"
    for part in (
        "cascades of pauses",
        "02:54:42:00:00:02",
        "TCP",
        "0x123456",
        "type 0x88b5",
    ):
        assert part in done.stdout, part
    assert "damaged at offset" in done.stderr
    strict = run(path, "--strict")
    assert (strict.exit_code, strict.output.count("damage")) == (2, 1)
    assert "give it with --rate" in run(path).stdout
    path.write_bytes(path.read_bytes()[:24])
    assert run(path, "--strict").exit_code == 0


@pytest.mark.parametrize(
    ("option", "value"), [("--rate", "10"), ("--rate", "0b/s"), ("--storm", "fast")]
)
def test_bad_options(tmp_path, option, value) -> None:
    done = run(write(tmp_path / "x.pcap", FRAMES), option, value)
    assert isinstance(done.exception, BadInput)
    assert option in str(done.exception)


def test_bad_files(tmp_path) -> None:
    (tmp_path / "x").write_text("no capture")
    assert isinstance(run(tmp_path / "x").exception, BadInput)
    good = write(tmp_path / "x.pcap", FRAMES)
    (tmp_path / "file").touch()
    assert isinstance(run(good, "--out", tmp_path / "file" / "out").exception, BadInput)


# Hostile captures: as many interfaces, flows and senders as a file can name take bounded time.

CNM = bytes.fromhex("22e7 003f") + bytes(8) + bytes.fromhex("fffe 0003 a000 02544200000a 05ca")
PAUSE = bytes.fromhex("8808 0001 ffff") + bytes(42)
WITHIN_S = 20.0
"""Some three seconds here; what it must not be is quadratic in the file."""


def test_many_interfaces_and_senders(tmp_path) -> None:
    rng = random.Random(4)
    blocks = [make.section(), make.interface(options=[(2, b"same")]) * 20_000]
    for number in range(20_000):
        sender = rng.randbytes(6)
        blocks.append(make.enhanced(number, number, bytes(6) + sender + PAUSE))
        blocks.append(make.enhanced(0, number, bytes(6) + sender + CNM))
    path = tmp_path / "a"
    path.write_bytes(b"".join(blocks))
    begun = time.process_time()
    found = analyze(path, settings=Settings(rate_bps=10**9))
    json.dumps(found.as_json())
    assert time.process_time() - begun < WITHIN_S
    assert len(found.interfaces) == 20_000
    assert sum(one.frames["pause"] for one in found.interfaces) == 20_000
    assert found.more_messages == 20_000 - MOST_POINTS
    assert found.more_pauses == 20_000 - MOST_LINKS
    assert len(found.interfaces[0].congestion_points) == MOST_POINTS
