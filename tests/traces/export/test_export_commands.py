"""Exports: completion times by HPCC's columns, captures in Wireshark's formats."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from orchestrator.cli.main import command_line
from orchestrator.plan import Plan
from orchestrator.recording import MessageTable
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US, line_of_three
from traces.capture import frames
from traces.export.completion_file import address_of, destination_port, host_numbers, hpcc_lines

TOPOLOGY = "4 1 3\n3\n0 3 25Gbps 1us 0\n1 3 25Gbps 1us 0\n2 3 25Gbps 1us 0\n"
FLOWS = (
    "4\n0 2 3 100 30000 2.000001\n1 2 3 200 1000 2.000001\n0 2 3 100 999 2.000005\n"
    "1 0 3 100 7 2.1\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a plan that `import hpcc` made."""
    at = tmp_path_factory.mktemp("hpcc")
    (at / "topology.txt").write_text(TOPOLOGY, encoding="utf-8")
    (at / "flows.txt").write_text(FLOWS, encoding="utf-8")
    (at / "config.txt").write_text("CC_MODE 3\nSIMULATOR_STOP_TIME 2.01\n", encoding="utf-8")
    files = [str(at / f"{name}.txt") for name in ("topology", "flows", "config")]
    assert command_line(["import", "hpcc", *files, "--out", str(at / "p.toml")]) == 0
    plan = Plan.load(at / "p.toml", Registry.load())
    plan = plan.with_settings(['capture.ports=["s3.h2", "h0.s3"]'])
    done = run(plan, out=at / "runs")
    assert done.folder is not None
    return done.folder


def test_completion_times_stand_in_the_columns_of_hpcc(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["export", "fct", str(folder), "--format", "hpcc", "--offset", "2s"]
    assert command_line(line) == 0
    rows = [each.split() for each in capsys.readouterr().out.splitlines()]
    assert sorted(row[:6] for row in rows) == [
        ["0b000001", "0b000201", "10000", "100", "30000", "2000001000"],
        ["0b000001", "0b000201", "10001", "100", "999", "2000005000"],
        ["0b000101", "0b000201", "10000", "200", "1000", "2000001000"],
    ]
    ends = [int(row[5]) + int(row[6]) for row in rows]
    assert ends == sorted(ends)
    for row in rows:
        size, time, ideal = int(row[4]), int(row[6]), int(row[7])
        assert time >= ideal >= 2000 + size * 8 / 25  # two links, and the octets at 25 Gb/s
    single = next(row for row in rows if row[4] == "1000")
    assert int(single[6]) <= int(single[7]) + 700  # at most behind one frame of the other


def test_every_message_stands_in_the_csv(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "f.csv"
    assert command_line(["export", "fct", str(folder), "--out", str(out)]) == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert [(row["source"], row["destination"], row["size_B"]) for row in rows] == [
        ("h0", "h2", "30000"),
        ("h0", "h2", "999"),
        ("h1", "h2", "1000"),
    ]
    for row in rows:
        ratio = int(row["fct_ps"]) / int(row["ideal_ps"])
        assert float(row["slowdown"]) == pytest.approx(ratio, abs=1e-6)
        assert ratio >= 1


def test_lines_are_in_the_order_of_completion_and_of_those_that_completed() -> None:
    table = MessageTable(
        flows=[("t.0", "t"), ("t.1", "pg3-dport200")],
        flow=np.array([0, 0, 1, 1]),
        start_ps=np.array([0, 1499, 500, 7]),
        size=np.array([1, 2, 3, 4]),
        done_ps=np.array([10_000_000, 3_001_499, 2_500_500, -1]),
        ideal_ps=np.array([1_500, 1_499, 2_000, 5]),
    )
    ends = {"t.0": ("a", "b"), "t.1": ("b", "a")}
    lines = list(hpcc_lines(table, ends, {"a": 1, "b": 300}, 100, 10**12))
    assert lines == [
        "0b012c01 0b000101 10001 200 3 1000000001 2500 2\n",
        "0b000101 0b012c01 10001 100 2 1000000001 3000 1\n",
        "0b000101 0b012c01 10000 100 1 1000000000 10000 2\n",
    ]


def test_numbers_of_hosts_come_from_their_names_where_these_have_some() -> None:
    def numbers(*names: str) -> dict[str, int]:
        nodes = {name: {"kind": "nic"} for name in names} | {"s9": {"kind": "switch"}}
        links = {f"l{n}": {"ends": [name, "s9"], "rate": 10**9} for n, name in enumerate(names)}
        return host_numbers(Plan(name="p", duration=MS, nodes=nodes, links=links))

    assert numbers("h7", "h0") == {"h7": 7, "h0": 0}
    assert numbers("a", "h0") == {"a": 0, "h0": 1}
    assert numbers("x1", "y1") == {"x1": 0, "y1": 1}
    assert numbers("h70000", "h1") == {"h70000": 0, "h1": 1}
    assert [address_of(n) for n in (0, 255, 256)] == [0x0B000001, 0x0B00FF01, 0x0B010001]
    assert destination_port("pg3-dport200", 100) == 200
    assert destination_port("dport99999", 100) == destination_port("flows", 100) == 100


@pytest.mark.parametrize(("kind", "unit"), [("pcapng", 1), ("nsecpcap", 1), ("pcap", 1000)])
def test_captures_become_one_file_in_order_of_time(
    folder: Path, tmp_path: Path, kind: str, unit: int
) -> None:
    out = tmp_path / "x"
    line = ["export", "pcap", str(folder), "--out", str(out), "--format", kind]
    assert command_line(line) == 0
    found = list(frames(out))
    sources = [list(frames(path)) for path in sorted((folder / "captures").glob("*"))]
    assert len(found) == sum(map(len, sources)) > 60
    assert all(sources)
    times = [frame.time_ns or 0 for frame in found]
    assert times == sorted(times)
    kept = sorted(
        ((frame.time_ns or 0) // unit * unit, frame.octets, frame.length)
        for source in sources
        for frame in source
    )
    assert sorted((f.time_ns, f.octets, f.length) for f in found) == kept
    if kind == "pcapng":
        assert {frame.interface.name for frame in found} == {"h0.s3", "s3.h2"}
        assert {frame.direction for frame in found} == {1, 2}


@pytest.mark.skipif(shutil.which("capinfos") is None, reason="capinfos is not installed")
@pytest.mark.parametrize("kind", ["pcapng", "nsecpcap", "pcap"])
def test_wireshark_reads_each_format(folder: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "x"
    line = ["export", "pcap", str(folder), "--out", str(out), "--format", kind]
    assert command_line(line) == 0
    command = ["capinfos", "-t", "-c", "-M", str(out)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    assert found["File type"].strip() == kind
    assert int(found["Number of packets"]) == sum(1 for _ in frames(out))


def test_frames_of_one_port_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x"
    line = ["export", "pcap", str(folder), "--out", str(out), "--port"]
    assert command_line([*line, "s3.h2"]) == 0
    assert {frame.interface.name for frame in frames(out)} == {"s3.h2"}
    assert command_line([*line, "s3.h1"]) == 2
    assert "--port: 's3.h1' is no captured port; did you mean s3.h2" in capsys.readouterr().err


def test_what_a_run_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = run(Plan(**line_of_three(duration=100 * US)), out=tmp_path)
    assert command_line(["export", "fct", str(done.folder)]) == 2
    assert "no traffic of its plan has messages" in capsys.readouterr().err
    assert command_line(["export", "pcap", str(done.folder), "--out", str(tmp_path / "x")]) == 2
    assert "holds no captures" in capsys.readouterr().err
    assert command_line(["export", "fct", str(done.folder), "--offset", "2"]) == 2
    assert "--offset: '2' is not accepted" in capsys.readouterr().err
    assert command_line(["export", "fct", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "x").exists()
