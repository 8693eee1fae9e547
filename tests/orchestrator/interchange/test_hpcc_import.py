"""HPCC's files: topology, flows, trace and configuration become a plan that runs."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import command_line
from orchestrator.errors import BadInput
from orchestrator.interchange.hpcc_files import read_config, read_flows, read_topology
from orchestrator.interchange.source_text import SourceText
from orchestrator.plan import Plan
from orchestrator.registry import Registry

US, S = 10**6, 10**12
TOPOLOGY = """6 2 5
4 5
0 4 25Gbps 1us 0
1 4 25Gbps 1us 0
2 5 25Gbps 1us 0
3 5 25Gbps 0.001ms 1e-6
4 5 100Gbps 2000ns 0

remarks of any kind: 1 2 3
"""
FLOWS = """4
0 2 3 100 30000 2.000001
1 2 3 100 30000 2.000001
0 2 3 100 5000 2.00000200001
3 0 3 100 1 2.5
"""
CONFIG = """PACKET_PAYLOAD_SIZE 1000
SIMULATOR_STOP_TIME 2.6
CC_MODE {mode}
ENABLE_QCN 1
RP_TIMER 300
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 2
RATE_AI 40Mb/s
RATE_HAI 200Mb/s
MIN_RATE 100Mb/s
U_TARGET 0.95
MI_THRESH 0
BUFFER_SIZE 4
HAS_WIN 1
LINK_DOWN 0 0 0
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.25
"""


def save(folder: Path, **texts: str) -> dict[str, str]:
    paths = {}
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        paths[name] = str(folder / f"{name}.txt")
    return paths


def imported(folder: Path, config: str = "", trace: str = "", **texts: str) -> tuple[Plan, str]:
    """The plan of these files, and its text."""
    given = {"topology": TOPOLOGY, "flows": FLOWS} | texts
    given |= {"trace": trace} if trace else {}
    given |= {"config": config} if config else {}
    paths = save(folder, **given)
    out = folder / "mine.toml"
    assert command_line(["import", "hpcc", *paths.values(), "--out", str(out)]) == 0
    return Plan.load(out, Registry.load()), out.read_text(encoding="utf-8")


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "mine-flows.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_topology_becomes_nodes_and_links(tmp_path: Path) -> None:
    plan, text = imported(tmp_path)
    assert plan.name == "topology"
    kinds = {name: node.kind for name, node in plan.nodes.items()}
    assert kinds == {f"h{n}": "nic" for n in range(4)} | {"s4": "switch", "s5": "switch"}
    assert plan.links["l4"].ends == ("s4", "s5")
    assert (plan.links["l4"].rate, plan.links["l4"].delay) == (100 * 10**9, 2 * US)
    assert plan.links["l3"].delay_line.plugin == "lossy-delay"
    assert plan.links["l0"].delay_line.plugin == "fixed-delay"
    assert "no configuration was given" in " ".join(text.replace("#", " ").split())
    assert (plan.clock_ppm, plan.phase) == (0, "aligned")


def test_flows_keep_size_start_and_group_and_have_connections_of_their_own(tmp_path: Path) -> None:
    plan, _ = imported(tmp_path)
    found = [(r["source"], r["destination"], r["size_B"], r["start_ps"]) for r in rows(tmp_path)]
    assert found == [
        ("h0", "h2", "30000", "1000000"),
        ("h1", "h2", "30000", "1000000"),
        ("h0", "h2", "5000", "2000010"),
        ("h3", "h0", "1", "500000000000"),
    ]
    entry = plan.traffic["flows"]
    assert entry.priority == 3
    assert sorted(entry.pairs) == [("h0", "h2"), ("h0", "h2"), ("h1", "h2"), ("h3", "h0")]


def test_classes_of_flows_become_entries(tmp_path: Path) -> None:
    flows = "3\n0 1 3 100 9 0\n1 2 3 200 9 0\n0 1 4 100 9 1\n"
    plan, _ = imported(tmp_path, flows=flows)
    assert {name: entry.priority for name, entry in plan.traffic.items()} == {
        "pg3-dport100": 3,
        "pg3-dport200": 3,
        "pg4-dport100": 4,
    }
    assert [row["entry"] for row in rows(tmp_path)] == [*plan.traffic]


@pytest.mark.parametrize(
    ("mode", "host", "port"),
    [
        (
            1,
            {"plugin": "dcqcn-rp", "increase_time": "300us", "alpha_time": "1us", "g": "1/256"},
            {"plugin": "red", "low": "100KB", "high": "400KB", "max_probability": "0.2"},
        ),
        # T: twice 4 us, and 1000 octets at 25, 100 and 25 Gb/s; W_AI = 40 Mb/s T
        (3, {"base_rtt": "8720ns", "eta": "19/20", "w_ai": "43B", "hops": 2}, {"plugin": "int"}),
        (7, {"plugin": "timely", "delta": "40Mb/s"}, None),
        (8, {"plugin": "dctcp", "g": "1/256", "segment": "1070B"}, {"low": "100KB"}),
    ],
)
def test_congestion_control_is_that_of_the_configuration(
    tmp_path: Path, mode: int, host: dict[str, Any], port: dict[str, Any] | None
) -> None:
    plan, _ = imported(tmp_path, CONFIG.format(mode=mode))
    table = plan.to_table()["nodes"]
    assert host.items() <= table["h0"]["reaction_point"].items()
    # a switch with links of one rate has one setting, one with several has them by port
    of_port = table["s4"]["ports"].get("h0", {}).get("congestion_point")
    assert (of_port is None) == (port is None)
    if port is not None:
        assert port.items() <= of_port.items()
    if mode == 1:
        assert table["s4"]["ports"]["s5"]["congestion_point"]["max_probability"] == "1/4"
        assert table["h0"]["notification_point"]["interval"] == "4us"
    assert table["s4"]["inputs"]["shared_memory"] == "4194304B"
    assert plan.duration == 6 * S // 10


def test_what_is_not_taken_stands_in_the_comments(tmp_path: Path) -> None:
    _, text = imported(tmp_path, CONFIG.format(mode=10) + "PINT_PROB 1.0\nACK_HIGH_PRIO 0\n")
    comments = " ".join(text.partition("\nname")[0].replace("#", " ").split())
    for part in ("HPCC-PINT", "PINT_PROB", "ACK_HIGH_PRIO", "HAS_WIN", "the size of headers"):
        assert part in comments.partition("Not taken")[2], part
    assert "starts of flows less 2s" in comments.partition("Not taken")[0]


def test_a_trace_becomes_captures_and_a_link_that_goes_down_a_step(tmp_path: Path) -> None:
    config = CONFIG.format(mode=3).replace("LINK_DOWN 0 0 0", "LINK_DOWN 7 4 5")
    plan, _ = imported(tmp_path, config, "2\n4 99\n")
    assert plan.capture.ports == ["s4.h0", "s4.h1", "s4.s5"]
    assert [(step.at, step.cut) for step in plan.timeline] == [(7 * US, "l4")]


def test_times_of_the_configuration_are_those_of_the_plan(tmp_path: Path) -> None:
    """LINK_DOWN counts from 2 s on, whenever the first flow starts."""
    config = CONFIG.format(mode=3).replace("LINK_DOWN 0 0 0", "LINK_DOWN 7 4 5")
    plan, _ = imported(tmp_path, config, flows="1\n0 2 3 100 9 1.5\n")
    assert [step.at for step in plan.timeline] == [S + 7 * US]
    assert rows(tmp_path)[0]["start_ps"] == str(S // 2)
    assert plan.duration == 16 * S // 10


def test_parallel_links_keep_their_ports(tmp_path: Path) -> None:
    topology = TOPOLOGY.replace("6 2 5", "6 2 6").replace("\nremarks", "5 4 40Gbps 1us 0\nremarks")
    config = CONFIG.format(mode=1).replace("2 25000", "3 40000000000 160 25000", 1)
    config = config.replace("KMIN_MAP 2", "KMIN_MAP 3 40000000000 40")
    config = config.replace("PMAX_MAP 2", "PMAX_MAP 3 40000000000 0.2")
    plan, _ = imported(tmp_path, config, topology=topology)
    ports = plan.to_table()["nodes"]["s4"]["ports"]
    assert ports["l5"]["congestion_point"]["low"] == "40KB"
    assert ports["l4"]["congestion_point"]["low"] == "400KB"


def test_more_flows_than_connections_share_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from orchestrator.interchange import imported_plan

    monkeypatch.setattr(imported_plan, "MOST_CONNECTIONS", 5)
    flows = "9\n" + "0 2 3 100 9 0\n" * 8 + "1 2 3 100 9 0\n"
    plan, text = imported(tmp_path, flows=flows)
    assert plan.traffic["flows"].pairs == [("h0", "h2")] * 4 + [("h1", "h2")]
    assert "4 of them wait for an earlier one" in " ".join(text.replace("#", " ").split())


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"topology": changed(TOPOLOGY, ("25Gbps", "25G"))}, "topology.txt:3: rate: '25G'"),
        *(
            ({"topology": changed(TOPOLOGY, ("25Gbps", rate))}, f"txt:3: rate: '{rate}'.*1kb/s to")
            for rate in ("0Gbps", "0bps", "999bps", "11Tbps")
        ),
        ({"topology": changed(TOPOLOGY, ("1us", "1"))}, "topology.txt:3: delay: '1'"),
        ({"topology": changed(TOPOLOGY, ("1 4", "1 9"))}, "topology.txt:4: link 1: '9'"),
        ({"topology": changed(TOPOLOGY, ("1 4", "4 4"))}, "4: link 1: '4'.*two different ends"),
        ({"topology": changed(TOPOLOGY, ("4 5", "4 4"))}, "topology.txt:2: switch: '4'.*once"),
        ({"topology": changed(TOPOLOGY, ("1e-6", "2"))}, "topology.txt:6: error rate: '2'"),
        ({"topology": "6 2 5\n4 5\n0 4 25Gbps 1us 0\n"}, "link 1: 'end of file'.*5 links"),
        ({"topology": "6 2\n"}, "nodes of links|numbers of nodes"),
        ({"topology": "-1 2 3"}, "topology.txt:1: nodes: '-1'"),
        ({"flows": changed(FLOWS, ("1 2 3", "1 5 3"))}, "flows.txt:3: destination: '5'.*a switch"),
        ({"flows": changed(FLOWS, ("1 2 3", "2 2 3"))}, "flows.txt:3: destination: 2 .*another"),
        ({"flows": changed(FLOWS, ("30000", "0"))}, "flows.txt:2: size: '0'"),
        ({"flows": changed(FLOWS, ("2.5", "2.5s"))}, "flows.txt:5: start: '2.5s'.*seconds"),
        ({"flows": changed(FLOWS, ("2.5", "0.0000000000001"))}, "flows.txt:5: start"),
        ({"flows": changed(FLOWS, ("3 100", "8 100"))}, "flows.txt:2: priority group: '8'"),
        ({"flows": changed(FLOWS, ("4\n", "5\n"))}, "source: 'end of file'.*5 flows"),
        ({"flows": "0\n"}, "has no flow"),
        ({"config": "CC_MODE 5\n"}, r"config.txt:1: CC_MODE: '5'.*1 \(dcqcn\)"),
        ({"config": "CC_MODE\n"}, "config.txt:1: CC_MODE: 'end of line'"),
        ({"config": "CC_MODE 3\nCC_MODE 1\n"}, "config.txt:2: CC_MODE: 'a second time'"),
        ({"config": "CC_MODE 1\n"}, "KMIN_MAP: 'missing'.*25Gb/s"),
        ({"config": "CC_MODE 3\nU_TARGET 1.5\n"}, "config.txt:2: U_TARGET: '1.5'.*0 to 1"),
        ({"config": "SIMULATOR_STOP_TIME 1\n"}, "config.txt:1: SIMULATOR_STOP_TIME: '1'.*2s"),
        ({"config": "LINK_DOWN 5 0 1\n"}, "config.txt:1: LINK_DOWN: '0 1'.*ends of a link"),
        ({"trace": "2\n4\n"}, "trace.txt:2: node: 'end of file'|node: 'end of file'"),
        ({"trace": "1\n4\n", "second": "1\n5\n"}, "second.txt: is a second trace"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], message: str
) -> None:
    paths = save(tmp_path, **({"topology": TOPOLOGY, "flows": FLOWS} | files))
    out = tmp_path / "mine.toml"
    assert command_line(["import", "hpcc", *paths.values(), "--out", str(out)]) == 2
    text = capsys.readouterr().err
    assert "Traceback" not in text
    assert re.search(message, text), text
    assert not out.exists()
    assert not (tmp_path / "mine-flows.csv").exists()


def test_files_that_exist_are_not_replaced_without_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = save(tmp_path, topology=TOPOLOGY, flows=FLOWS)
    line = ["import", "hpcc", *paths.values(), "--out", str(tmp_path / "mine.toml")]
    (tmp_path / "mine-flows.csv").write_text("mine", encoding="utf-8")
    assert command_line(line) == 2
    assert "mine-flows.csv: exists" in capsys.readouterr().err
    assert (tmp_path / "mine-flows.csv").read_text(encoding="utf-8") == "mine"
    assert command_line([*line, "--force"]) == 0
    assert len(rows(tmp_path)) == 4


def test_a_plan_on_standard_output_names_its_flows_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = save(tmp_path, topology=TOPOLOGY, flows=FLOWS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    line = ["import", "hpcc", *paths.values(), "--name", "other", "--flows", "below/f.csv"]
    assert command_line(line) == 0
    text = capsys.readouterr().out
    assert Plan.load(text, Registry.load()).to_table()["traffic"]["flows"]["file"].endswith("f.csv")
    assert (tmp_path / "below" / "f.csv").is_file()


@pytest.mark.parametrize("reader", [read_topology, read_config])
def test_binary_files_are_refused(tmp_path: Path, reader: Any) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="no UTF-8 text"):
        reader(SourceText.read(tmp_path / "x"))


def test_readers_take_words_over_lines() -> None:
    def source(lines: Sequence[str]) -> SourceText:
        return SourceText("t", tuple(lines))

    topology = read_topology(source(["2 0 1 0", "1", "1Gbps 3ns", "0"]))
    assert topology.links[0].delay == 3000
    assert len(read_flows(source(["1 0 1", "3 100 5", "0"]), topology)) == 1
