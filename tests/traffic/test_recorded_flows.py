"""Flow files: rows become messages, exactly; what cannot be used is refused with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.engine.workload import Connections
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.plan_files import plan_files, with_absolute_paths
from tests.plugins.described import check_page
from traffic import flow_file
from traffic.flow_file import SIZE, START, read_flow_file
from traffic.recorded_flows import RecordedFlows, schedule

US, MS, S = 10**6, 10**9, 10**12

PLAN = """
name = "p"
duration = "1ms"

[nodes."h{1..3}"]
kind = "nic"

[nodes.s]
kind = "switch"

[links."l{1..3}"]
ends = ["h{}", "s"]
rate = "10Gb/s"
delay = "1us"

[traffic.t]
plugin = "flows"
from = ["h1", "h2", "h1"]
to = ["h3", "h3", "h2"]
file = "flows.csv"
"""
ROWS = "source,destination,size,start\nh1,h3,20KB,0us\nh2,h3,20KB,5us\nh1,h2,3KB,7us\n"


def ends(pairs: tuple[tuple[str, str], ...], **changes: Any) -> Connections:
    fields: dict[str, Any] = {
        "name": "t",
        "seed": 1,
        "pairs": pairs,
        "line_rates": np.full(len(pairs), 10**10),
        "frame": 1500,
        "start": 0,
        "stop": S,
    }
    return Connections(**(fields | changes))


def save(folder: Path, text: str, name: str = "flows.csv") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


PAIRS = (("a", "b"), ("b", "a"), ("a", "b"))


@pytest.mark.parametrize(
    ("header", "size", "start", "expected"),
    [
        ("size,start", "64KB", "20us", (64_000, 20 * US)),
        ("size,start", "1B", "0s", (1, 0)),
        ("size_B,start_ps", "1", "7", (1, 7)),
        ("size_KB,start_ns", "1.5", "0.001", (1_500, 1)),
        ("size_MB,start_us", "2", "12.000001", (2_000_000, 12_000_001)),
        ("size_B,start_ms", "1e3", "0.5", (1_000, MS // 2)),
        ("size_B,start_s", "999", "2.000000000001", (999, 2 * S + 1)),
    ],
)
def test_units_are_those_of_the_header(
    tmp_path: Path, header: str, size: str, start: str, expected: tuple[int, int]
) -> None:
    text = f"source,destination,{header}\na,b,{size},{start}\n"
    row = read_flow_file(save(tmp_path, text)).rows[0]
    assert (row[SIZE], row[START]) == expected


def test_columns_stand_in_any_order_and_empty_lines_are_skipped(tmp_path: Path) -> None:
    text = '\ufeffstart_us,size_B,destination,source\n\n3,10,b,"a"\n\n4,11,a,b\n'
    flows = read_flow_file(save(tmp_path, text))
    assert flows.numbers.tolist() == [3, 5]
    assert flows.rows[:, SIZE].tolist() == [10, 11]
    made = schedule(RecordedFlows(file=save(tmp_path, text)), ends(PAIRS))
    assert made.connection.tolist() == [0, 1]
    assert made.start.tolist() == [3 * US, 4 * US]


def test_parquet_holds_the_same_as_csv(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    count = flow_file.BATCH + 17  # more than one batch
    names = np.array(["a", "b"])[random.integers(0, 2, count)]
    others = np.where(names == "a", "b", "a")
    size, start = random.integers(1, 10**6, count), random.integers(0, 10**9, count)
    table = {"source": names, "destination": others, "size_B": size, "start_ns": start}
    pq.write_table(pa.table(table), tmp_path / "f.parquet")
    lines = [f"{a},{b},{c},{d}" for a, b, c, d in zip(names, others, size, start, strict=True)]
    text = "source,destination,size_B,start_ns\n" + "\n".join(lines) + "\n"
    one = read_flow_file(str(tmp_path / "f.parquet"))
    other = read_flow_file(save(tmp_path, text))
    assert (one.rows == other.rows).all()
    assert (one.rows[:, START] == start * 1000).all()
    assert one.names == other.names


def test_rows_of_a_pair_take_its_connections_in_turn(tmp_path: Path) -> None:
    text = "source,destination,size_B,start_us\n" + "".join(
        f"a,b,{size},{start}\n" for size, start in ((1, 30), (2, 10), (3, 20), (4, 20))
    )
    made = schedule(RecordedFlows(file=save(tmp_path, text)), ends(PAIRS))
    by_size = dict(zip(made.size.tolist(), made.connection.tolist(), strict=True))
    assert by_size == {2: 0, 3: 2, 4: 0, 1: 2}  # in order of start, equal ones as in the file


def test_rows_outside_of_the_entry_are_left_out(tmp_path: Path) -> None:
    text = "source,destination,size_B,start_us\n" + "".join(f"a,b,1,{n}\n" for n in range(10))
    inside = ends(PAIRS, start=2 * US, stop=5 * US)
    made = schedule(RecordedFlows(file=save(tmp_path, text)), inside)
    assert sorted(made.start.tolist()) == [2 * US, 3 * US, 4 * US]


def test_rows_belong_to_entries_by_priority_or_by_name(tmp_path: Path) -> None:
    text = (
        "source,destination,size_B,start_us,priority,entry\na,b,1,0,3,x\na,b,2,0,5,y\nb,a,3,0,3,y\n"
    )
    file = save(tmp_path, text)

    def sizes(rows: str, priority: int, name: str) -> list[int]:
        params = RecordedFlows(file=file, rows=rows)  # type: ignore[arg-type]
        return sorted(schedule(params, ends(PAIRS, priority=priority, name=name)).size.tolist())

    assert sizes("priority", 3, "t") == [1, 3]
    assert sizes("priority", 5, "t") == [2]
    assert sizes("priority", 0, "t") == []
    assert sizes("entry", 3, "x") == [1]
    with pytest.raises(BadInput, match=r"flows.csv:3: row: 'priority 5'.*has priority 3"):
        sizes("entry", 3, "y")
    with pytest.raises(BadInput, match=r"flows.csv:3: row: 'priority 5' is not accepted"):
        sizes("all", 3, "t")
    bare = save(tmp_path, "source,destination,size_B,start_us\na,b,1,0\n", "bare.csv")
    for rows in ("priority", "entry"):
        with pytest.raises(ValueError, match=f"needs a column '{rows}'"):
            schedule(RecordedFlows(file=bare, rows=rows), ends(PAIRS))  # type: ignore[arg-type]


HEAD = "source,destination,size,start,priority\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "a,b,1KB,0us,0\na,b,1,0us,0\n", r"flows.csv:3: size: '1' .* unit is missing"),
        (HEAD + "a,b,1KB,0us,0\na,b,1KB,-1us,0\n", r"flows.csv:3: start: '-1us'.*not negative"),
        (HEAD + "a,b,0,0us,0\n", r"flows.csv:2: size: '0' is not accepted; a size from 1B to 1TB"),
        (HEAD + "a,b,2TB,0us,0\n", r"flows.csv:2: size: '2TB' is not accepted; a size from 1B"),
        (HEAD + "a,b,1KB,2h,0\n", r"flows.csv:2: start: '2h' .* no unit of a duration"),
        (HEAD + "a,b,1KB,3601s,0\n", r"flows.csv:2: start: '3601s'.*from 0s to 3600s"),
        (HEAD + "a,b,1KB,0us,8\n", r"flows.csv:2: priority: '8'.*from 0 to 7"),
        (HEAD + "a,b,1KB,0us,high\n", r"flows.csv:2: priority: 'high'.*a decimal number"),
        (HEAD + ",b,1KB,0us,0\n", r"flows.csv:2: source: '' .* the name of a node"),
        (HEAD + "a,b,1KB,0us\n", r"flows.csv:2: row: '4 columns'.*5 columns as in the header"),
        (HEAD + 'a,b,"1KB,0us,0\n', r"is not CSV at line"),
        (HEAD, "holds no flow"),
        ("", r"flows.csv:1: column: 'none' .*source is expected"),
        ("source,destination,size,begin\na,b,1,1\n", r"column: 'begin' is not accepted"),
        ("source,destination,size,size_B,start\n", r"'size and size_B'.*one of size, size_B"),
        ("source,destination,start_ps\n", r"column: 'none'.*one of size, size_B"),
        (
            "source,destination,size_B,start_ps\na,b,1,0.5\n",
            r"flows.csv:2: start_ps: '0.5'.*nothing is rounded",
        ),
        ("source,destination,size_B,start_ps\na,b,nan,0\n", r":2: size_B: 'nan'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    file = save(tmp_path, text)
    with pytest.raises(BadInput, match=message):
        read_flow_file(file)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    for name, message in (("binary", "is not CSV"), ("cut.parquet", "is not a Parquet file")):
        with pytest.raises(BadInput, match=message):
            read_flow_file(str(tmp_path / name))
    table = pa.table({"source": ["a"], "destination": [None], "size_B": [1], "start_s": [0.5]})
    pq.write_table(table, tmp_path / "null.parquet")
    with pytest.raises(BadInput, match=r"null.parquet, row 1: destination: ''"):
        read_flow_file(str(tmp_path / "null.parquet"))


def test_a_pair_that_the_entry_lacks_is_refused(tmp_path: Path) -> None:
    file = save(tmp_path, "source,destination,size_B,start_us\na,b,1,0\nb,c,1,0\n")
    with pytest.raises(BadInput, match=r"flows.csv:3: row: 'b to c' .* of traffic.t is expected"):
        schedule(RecordedFlows(file=file), ends(PAIRS))


def test_the_most_frames_of_any_time_so_long(tmp_path: Path) -> None:
    from tailback.plugin import Sender

    text = "source,destination,size_B,start_us\na,b,1430,9\na,b,1430,0\na,b,2000,1\nb,a,1,8\n"
    params = RecordedFlows(file=save(tmp_path, text))

    def offered(span: int, flows: int) -> int | None:
        return params.frames_offered(Sender(span, 10**10, 1500, 70, flows, 3))

    assert offered(10 * US, 3) == 5
    assert offered(2 * US, 3) == 3  # 1430 and 2000 octets
    assert offered(10 * US, 1) == 2


@pytest.mark.parametrize("cwd", ["plan", "other"])
def test_a_relative_path_counts_from_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cwd: str
) -> None:
    for name in ("plan", "other"):
        (tmp_path / name).mkdir()
    file = save(tmp_path / "plan", ROWS)
    if cwd == "other":
        save(tmp_path / "other", "source,destination,size,start\n")  # not this one
    save(tmp_path / "plan", PLAN, "p.toml")
    monkeypatch.chdir(tmp_path / cwd)
    registry = Registry.load()
    path = "p.toml" if cwd == "plan" else "../plan/p.toml"
    plan = Plan.load(path, registry)
    resolved = plan.with_settings(["duration=2ms"]).check(registry)
    assert list(plan_files(resolved)) == [file]
    again = Plan.load(resolved.plan.to_toml(), registry).check(registry)
    assert list(plan_files(again)) == [file]
    written = with_absolute_paths(plan.written(), plan_files(resolved), plan.folder)
    assert written["traffic"]["t"]["file"] == file


def test_a_path_that_is_not_beside_the_plan_counts_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan").mkdir()
    file = save(tmp_path, ROWS)
    save(tmp_path / "plan", PLAN, "p.toml")
    monkeypatch.chdir(tmp_path)
    registry = Registry.load()
    assert list(plan_files(Plan.load("plan/p.toml", registry).check(registry))) == [file]
    Path(file).unlink()
    with pytest.raises(BadInput, match=r"traffic.t.file.*absolute or relative to the plan"):
        Plan.load("plan/p.toml", registry)


def test_a_bad_row_is_refused_when_the_plan_is_checked(tmp_path: Path) -> None:
    save(tmp_path, ROWS + "h1,h2,0B,0us\n")
    save(tmp_path, PLAN, "p.toml")
    with pytest.raises(BadInput, match=r"flows.csv:5: size: '0B' is not accepted"):
        Plan.load(tmp_path / "p.toml", Registry.load())


def test_the_page_has_its_parameters() -> None:
    assert check_page("traffic.recorded_flows") > 0
