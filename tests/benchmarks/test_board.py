"""The board says of each figure whether its aim was reached, and keeps what came."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import board
from board import Row


@pytest.mark.parametrize(
    ("value", "aim", "at_least", "reached"),
    [
        (0.99, 1.0, True, "no"),
        (1.0, 1.0, True, "yes"),
        (1.01, 1.0, True, "yes"),
        (0.99, 1.0, False, "yes"),
        (1.0, 1.0, False, "yes"),
        (1.01, 1.0, False, "no"),
        (5.0, None, True, ""),
    ],
)
def test_an_aim_is_reached_on_its_own_side(
    value: float, aim: float | None, at_least: bool, reached: str
) -> None:
    assert Row("start", "something", value, "s", aim, at_least).reached == reached


def test_ratios_are_those_of_the_same_number_of_sources() -> None:
    rates = {"tailback fig11": 4e6, "tailback, peers' network": 6e6, "C++ event loop": 8e6}
    found = [
        {"sources": n, "contestant": name, "frames_per_cpu_s": rate / share}
        for n, share in ((8, 1), (512, 2))
        for name, rate in (rates | {"SimPy": 1e5}).items()
    ]
    told = {row.what: row for row in board.simulator(found)}
    assert told["fig11 with QCN over a C++ loop without, 512 sources"].value == 0.5
    assert told["the peers' network over SimPy, 8 sources"].value == 60
    assert told["fig11, 512 sources over 8"].value == 0.5
    assert told["fig11, 512 sources over 8"].reached == "no"


def test_the_page_has_every_row_and_what_was_not_measured() -> None:
    rows = [Row("sweep", "a point", 9.7, "ms", 10, False), Row("sweep", "its share", 0.25, "", 0.2)]
    text = board.page({"sweep": rows, "datapath": "no right"}, "2026-01-02", "abc", "2 cores")
    assert "| a point | 9.7 ms | at most 10 ms | yes |" in text
    assert "| its share | 0.25 | at least 0.2 | yes |" in text
    assert "Not measured: no right" in text
    assert "2026-01-02, commit abc, on one machine: 2 cores." in text


def test_days_are_kept_under_one_another(tmp_path: Path) -> None:
    path = tmp_path / "kept.csv"
    for day in ("2026-01-02", "2026-01-03"):
        board.keep(path, [Row("sweep", "a point", 9.71234567, "ms", 10, False)], day, "abc", "here")
    with path.open(newline="") as file:
        kept = list(csv.DictReader(file))
    assert [row["day"] for row in kept] == ["2026-01-02", "2026-01-03"]
    assert kept[0]["value"] == "9.71235"
    assert kept[0]["at_least"] == "False"


def test_a_page_has_of_other_benches_what_was_kept_last_of_the_machine(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kept.csv"
    for day, commit, machine, bench, value in (
        ("2026-01-02", "old", "here", "sweep", 1.0),
        ("2026-01-03", "first", "here", "sweep", 2.0),
        ("2026-01-03", "second", "here", "sweep", 3.0),
        ("2026-01-03", "second", "there", "sweep", 4.0),
        ("2026-01-03", "second", "here", "start", 5.0),
        ("2026-01-02", "old", "here", "large", 6.0),
    ):
        board.keep(path, [Row(bench, "it", value, "ms", 10, False)], day, commit, machine)
    others = board.kept(path, "here")
    assert others == {
        "sweep": ("2026-01-03, commit second", [Row("sweep", "it", 3.0, "ms", 10, False)]),
        "start": ("2026-01-03, commit second", [Row("start", "it", 5.0, "ms", 10, False)]),
        "large": ("2026-01-02, commit old", [Row("large", "it", 6.0, "ms", 10, False)]),
    }
    mine: dict[str, list[Row] | str] = {"datapath": [Row("datapath", "a hop", 7.0, "ms")]}
    text = board.page(mine, "2026-01-03", "now", "here", others)
    places = [text.index(line) for line in ("## Start", "| it | 5 ms", "## Sweep", "| it | 3 ms")]
    assert places == sorted(places)
    assert text.index("| it | 3 ms") < text.index("## Datapath")
    assert text.count("Measured on 2026-01-03, commit second.") == 2
    assert text.count("Measured on 2026-01-02, commit old.") == 1
    assert "Measured on 2026-01-03, commit now." not in text
    assert board.kept(tmp_path / "none.csv", "here") == {}


def test_a_bench_that_cannot_run_says_so_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bad.py").write_text("raise SystemExit('no such thing here')")
    monkeypatch.setattr(board, "HERE", tmp_path)
    monkeypatch.setitem(board.BENCHES, "start", (board.start, ["bad.py"]))
    assert board.run("start") == "no such thing here"


@pytest.mark.slow
def test_the_board_reads_what_its_benches_print(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["bench_simulator.py", "--json", "--repetitions", "1", "--sources", "8", "16"]
    monkeypatch.setitem(board.BENCHES, "simulator", (board.simulator, words))
    rows = board.run("simulator")
    assert not isinstance(rows, str), rows
    assert all(row.value > 0 for row in rows)
    assert len(rows) == 9


def hop(ratio: float) -> dict[str, object]:
    """What `bench_datapath` says of a length: the switch node by AF_XDP so many times as fast."""
    rates = {"switch packet": 3e5, "switch xdp generic": ratio * 5e5, "switch xdp native": 4e5}
    rates |= {"ovs packet": 2e5, "ovs xdp generic": 4.5e5, "ovs xdp native": 5e5}
    waits = {way: {"p50": 3.0, "p99": 40.0} for way in rates}
    return {
        "two_cores_per_cpu_s": rates,
        "latency_us": {"half": waits},
        "one_core": {"switch packet": 2e5},
        "of_bridge": {"switch packet": 0.5, "bridge": 1},
    }


def test_the_switch_node_is_held_against_the_fastest_open_vswitch_of_its_kind() -> None:
    told = {row.what: row for row in board.datapath({"70B": hop(1.2), "1500B": hop(0.9)})}
    over = "the switch node over Open vSwitch, by"
    assert told[f"70B, {over} xdp"].value == pytest.approx(1.2)
    assert told[f"70B, {over} xdp"].reached == "yes"
    assert told[f"1500B, {over} xdp"].reached == "no"
    assert told[f"1500B, {over} packet"].value == pytest.approx(1.5)
    assert told["70B, ovs xdp native: latency at half of its rate, p99"].value == 40


def test_without_open_vswitch_nothing_is_said_of_it() -> None:
    rows = hop(1.0)
    rates = rows["two_cores_per_cpu_s"]
    assert isinstance(rates, dict)
    for way in [way for way in rates if way.startswith("ovs")]:
        del rates[way]
    told = list(board.datapath({"70B": rows, "1500B": rows}))
    assert not [row for row in told if "ovs" in row.what or "Open vSwitch" in row.what]


def test_limiters_are_held_to_their_aims_and_peers_to_none() -> None:
    row = {"mean_error_percent": -0.02, "steady_gap_p99_us": 13.5, "ideal_us": 12.6}
    fine = "tailback, refilled every 100 ns"
    found = {"950 Mb/s": {"tailback": row, fine: row, "tbf": row, "htb": {"skipped": "no htb"}}}
    told = {one.what: one for one in board.limiter(found | {"preparation": {}})}
    assert told["950 Mb/s, tailback: mean error"].reached == "no"
    steady = "gap p99 over the ideal one, outside stalls"
    assert told[f"950 Mb/s, tailback: {steady}"].reached == ""  # its steps are the papers'
    assert told[f"950 Mb/s, {fine}: {steady}"].reached == "yes"
    assert told[f"950 Mb/s, tbf: {steady}"].reached == ""
    assert len(told) == 6
