"""A sweep is the same table whoever ran it how often, and runs nothing that is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from orchestrator.batch import process_pool
from orchestrator.batch.confidence_interval import mean_and_half
from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.result_store import Store, prune_store
from orchestrator.batch.stream_executor import process_executor
from orchestrator.batch.sweep_design import Sweep, SweepOptions
from orchestrator.batch.sweep_run import TRIES, SweepRun, write_sweep_folder
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.batch.made import FULL, random_flow

RATES = "traffic.gen.rate=100Mb/s,400Mb/s,700Mb/s"
SHARE = "utilization of switch.sink in run"


def swept(out: Path, plan: Plan, jobs: int = 1, **wishes: Any) -> tuple[dict[str, Any], Path]:
    """A sweep, run and kept below `out`."""
    running = SweepRun(Sweep.of(plan, SweepOptions(**wishes)), Store(out / ".points"), jobs)
    assert running.run(process_executor(jobs))
    return write_sweep_folder(running, out)


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / "points").to_pylist()
    return found


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Point]:
    """The points that workers were given."""
    found: list[Point] = []
    give = process_pool._Worker.give

    def noted(self: Any, place: int, point: Point) -> None:
        found.append(point)
        give(self, place, point)

    monkeypatch.setattr(process_pool._Worker, "give", noted)
    return found


def test_rows_are_those_of_runs_in_the_order_of_places_and_seeds(tmp_path: Path) -> None:
    plan = random_flow(expect=[FULL | {"min": 0.5}])
    result, folder = swept(tmp_path, plan, over=[RATES], seeds="2")
    found = rows(folder)
    assert [(row["traffic.gen.rate"], row["seed"]) for row in found] == [
        (rate * 1e6, seed) for rate in (100, 400, 700) for seed in (1, 2)
    ]
    for row in found:
        changed = plan.with_settings([f"traffic.gen.rate={int(row['traffic.gen.rate'])}b/s"])
        alone = run(changed, seed=row["seed"], out=None).result
        assert row[SHARE] == alone["metrics"]["run"]["switch.sink"]["utilization"]
        assert row["verdict"] == alone["verdict"]
    assert {row["verdict"] for row in found} == {"met", "missed"}
    assert result["points"] == 6
    assert result["units"][SHARE] == "ratio"


def test_the_table_does_not_depend_on_the_workers(tmp_path: Path) -> None:
    wishes = {"over": [RATES, "nodes.switch.buffer=10KB..100KB/3"], "seeds": "3"}
    one = swept(tmp_path / "one", random_flow(), 1, **wishes)[1]
    three = swept(tmp_path / "three", random_flow(), 3, **wishes)[1]
    for name in ("points/part-00000.parquet", "places.parquet"):
        assert (one / name).read_bytes() == (three / name).read_bytes()
    assert len(rows(one)) == 27


def test_a_wider_sweep_runs_only_what_is_new(tmp_path: Path, given: list[Point]) -> None:
    swept(tmp_path, random_flow(), over=["traffic.gen.rate=100Mb/s,400Mb/s"], seeds="2")
    assert len(given) == 4
    given.clear()
    folder = swept(tmp_path, random_flow(), over=[RATES], seeds="3")[1]
    assert len(given) == 2 + 3
    fresh = swept(tmp_path / "fresh", random_flow(), over=[RATES], seeds="3")[1]
    assert rows(folder) == rows(fresh)


def test_a_place_that_comes_twice_is_run_once(tmp_path: Path, given: list[Point]) -> None:
    folder = swept(tmp_path, random_flow(), over=["title=a,b,c"], seeds="2")[1]
    assert len(given) == 2
    assert len(rows(folder)) == 6


def test_a_place_that_was_tried_is_planned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many points some are run first, to know how long the others take."""
    made: list[str] = []
    of = Experiment.of.__func__  # type: ignore[attr-defined]

    def noted(cls: type[Experiment], *words: Any, **how: Any) -> Experiment:
        subject: Experiment = of(cls, *words, **how)
        made.append(subject.digest)
        return subject

    monkeypatch.setattr(Experiment, "of", classmethod(noted))
    folder = swept(tmp_path, random_flow(), over=[f"{RATES},800Mb/s,900Mb/s"], seeds="2")[1]
    assert len(rows(folder)) == 10 > 2 * TRIES
    assert len(made) - 1 == len(set(made[1:])) == 5, "the first is the plan as it is"


def test_mean_and_interval_of_places(tmp_path: Path) -> None:
    from scipy import stats

    folder = swept(tmp_path, random_flow(), over=[RATES], seeds="5")[1]
    values = [row[SHARE] for row in rows(folder) if row["place"] == 1]
    place = pq.read_table(folder / "places.parquet").to_pylist()[1]
    low, high = stats.t.interval(0.95, 4, stats.tmean(values), stats.sem(values))
    assert place[SHARE] == pytest.approx((low + high) / 2, rel=1e-12)
    assert place[SHARE + " ±"] == pytest.approx((high - low) / 2, rel=1e-9)
    assert place["seeds"] == 5
    assert mean_and_half([]) == (None, None)
    assert mean_and_half([2.0]) == (2.0, None)


def test_seeds_end_where_the_interval_is_narrow(tmp_path: Path, given: list[Point]) -> None:
    """Frames in slots by chance: the share of a rate is the worse known the lower the rate."""
    wishes = {"over": ["traffic.gen.rate=10Mb/s,900Mb/s"], "seeds": "12"}
    narrow = f"{SHARE} = 15%"
    result, folder = swept(tmp_path, random_flow(), **wishes, narrow=narrow)
    places = pq.read_table(folder / "places.parquet").to_pylist()
    counts = {place["traffic.gen.rate"]: place["seeds"] for place in places}
    assert counts[10e6] == 12
    assert counts[900e6] == 3
    assert places[1][SHARE + " ±"] <= 0.15 * places[1][SHARE]
    assert result["points"] == len(given) == 15
    other = swept(tmp_path / "other", random_flow(), 3, **wishes, narrow=narrow)[1]
    assert rows(other) == rows(folder)


def test_places_that_make_no_plan_are_told_and_left_out(tmp_path: Path) -> None:
    result, folder = swept(tmp_path, random_flow(), over=["traffic.gen.rate=1Mb/s,2Gb/s"])
    assert result["refused"]["places"] == 1
    assert result["refused"]["such_as"][0]["values"] == {"traffic.gen.rate": "2Gb/s"}
    assert "rate" in result["refused"]["such_as"][0]["reason"]
    assert [row["place"] for row in rows(folder)] == [0]
    with pytest.raises(BadInput, match="rate"):
        swept(tmp_path, random_flow(), over=["traffic.gen.rate=2Gb/s,3Gb/s"])


@pytest.mark.parametrize("design", ["lhs", "sobol"])
def test_a_sample_fills_its_ranges_and_is_the_same_again(tmp_path: Path, design: str) -> None:
    wishes = {"over": ["traffic.gen.rate=1Mb/s..900Mb/s", "nodes.switch.buffer=2KB..64KB:log"]}
    planned = Sweep.of(random_flow(), SweepOptions(**wishes, design=design, points=16))
    again = Sweep.of(random_flow(), SweepOptions(**wishes, design=design, points=16))
    assert planned.places == again.places
    assert len(planned.places) == 16
    rates = sorted(place[0].number for place in planned.places)
    assert all(1e6 <= rate <= 9e8 for rate in rates)
    each = [sum(at * 225e6 <= rate < (at + 1) * 225e6 for rate in rates) for at in range(4)]
    assert min(each) >= 3


def test_what_a_plan_says_is_what_the_caller_says(tmp_path: Path) -> None:
    table = {
        "over": ["load=100Mb/s,400Mb/s"],
        "names": {"load": "traffic.gen.rate & traffic.gen.peak"},
        "seeds": 2,
        "metrics": ["util* of switch.s*"],
        "edge": "utilization of switch.sink in run > 0.2",
    }
    plan = random_flow(sweep=table)
    assert "sweep" not in plan.to_table()
    by_plan, folder = swept(tmp_path, plan)
    told = {"over": ["traffic.gen.rate & traffic.gen.peak=100Mb/s,400Mb/s"], "seeds": "2"}
    told |= {"metrics": ["util* of switch.s*"], "edge": table["edge"]}
    by_caller, other = swept(tmp_path, random_flow(), **told)
    assert list(by_plan["units"]) == [SHARE]
    assert by_plan["edge"] == {"metric": SHARE, "value": 0.2} == by_caller["edge"]
    named = [row | {"load": 0} for row in rows(folder)]
    written = [row | {"load": 0} for row in rows(other)]
    for row in written:
        del row["traffic.gen.rate & traffic.gen.peak"]
    assert named == written


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({}, "nothing is varied"),
        ({"over": ["sources=2,8"]}, "sweep.names"),
        ({"over": ["traffic.gen.rate"]}, "KEY=RANGE is expected"),
        ({"over": [RATES, RATES]}, "each key once"),
        ({"over": [RATES], "edge": "utilization"}, "METRIC > VALUE"),
        ({"over": [RATES], "narrow": "utilization=1%"}, "at least 3 seeds"),
        ({"over": [RATES], "narrow": "utilization=no", "seeds": "5"}, "METRIC = WIDTH"),
        ({"over": [RATES], "seeds": "0"}, "--seeds"),
        ({"over": [RATES], "metrics": ["a b c"]}, "METRIC of ENTITY in PHASE"),
        ({"over": ["a.b=1..1000/1000", "c.d=1..1000/1000"]}, "a dotted key"),
        ({"over": ["traffic.gen.rate=1..1000/1000", "duration=1..1000/1000"]}, "at most 100000"),
        ({"over": ["seed=1,2"]}, "add --seeds"),
    ],
)
def test_what_is_not_accepted_says_what_is(wishes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Sweep.of(random_flow(), SweepOptions(**wishes))


def test_a_metric_that_no_point_has_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)--draw.*utilisation.*utilization"):
        swept(tmp_path, random_flow(), over=[RATES], draw=["utilisation of switch.sink in run"])
    assert list(tmp_path.glob("line-of-three/*")) == []


def test_the_folder_has_figures_and_a_report_that_needs_nothing_else(tmp_path: Path) -> None:
    wishes = {"over": [RATES, "nodes.switch.buffer=10KB,100KB"], "seeds": "3", "draw": [SHARE]}
    folder = swept(tmp_path, random_flow(), **wishes, edge=f"{SHARE} > 0.3")[1]
    assert (folder / "map-0.svg").read_text().startswith("<?xml")
    assert (folder / "curves-0.png").read_bytes()[:4] == b"\x89PNG"
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "The line: 0.3" in page
    assert json.loads((folder / "manifest.json").read_text())["seeds"] == [1, 2, 3]


def test_the_points_are_one_line_in_pandas_polars_and_duckdb(tmp_path: Path) -> None:
    duckdb, pandas, polars = (pytest.importorskip(n) for n in ("duckdb", "pandas", "polars"))
    folder = swept(tmp_path, random_flow(), over=[RATES], seeds="2")[1]
    first = pandas.read_parquet(folder / "points")
    second = polars.read_parquet(folder / "points" / "*.parquet")
    third = duckdb.sql(f"select * from '{folder}/points/*.parquet'").fetchall()
    assert len(first) == len(second) == len(third) == 6
    assert list(first[SHARE]) == second[SHARE].to_list()


def test_lines_of_other_sources_are_dropped_and_no_other(tmp_path: Path) -> None:
    store, row = Store(tmp_path), {"metrics": {"run": {}}}
    subject = Experiment("made", "simulated", {}, "0" * 64, "today")
    before = Experiment("made", "simulated", {}, "1" * 64, "yesterday")
    for point in (Point(before, 1), Point(subject, 1), Point(subject, 2), Point(subject, 1)):
        store.put(point, row)
    assert prune_store(tmp_path, "today", dry_run=True)[0].lines == 2
    assert Store(tmp_path).get(Point(before, 1)) == row
    (dropped,) = prune_store(tmp_path, "today")
    assert dropped.octets > 0
    kept = Store(tmp_path)
    assert kept.get(Point(before, 1)) is None
    assert kept.get(Point(subject, 1)) == kept.get(Point(subject, 2)) == row
    assert store.get(Point(subject, 2)) in (None, row), "one who had the old file is not misled"
    assert prune_store(tmp_path, "today") == []
    prune_store(tmp_path, "tomorrow")
    assert list(tmp_path.iterdir()) == []


def test_places_near_the_edge_are_the_same_whoever_ran_them(tmp_path: Path) -> None:
    """What the switch carries follows the rate: the edge is at 300 Mb/s, known within seeds."""
    edge = {"edge": f"{SHARE} > 0.3", "design": "adaptive", "points": 28, "seeds": "6"}
    over = ["nodes.switch.buffer=20KB,80KB", "traffic.gen.rate=50Mb/s..900Mb/s"]
    result, folder = swept(tmp_path / "one", random_flow(), 1, over=over, **edge)
    other = swept(tmp_path / "three", random_flow(), 3, over=over, **edge)[1]
    for name in ("points/part-00000.parquet", "places.parquet"):
        assert (folder / name).read_bytes() == (other / name).read_bytes()
    places = pq.read_table(folder / "places.parquet").to_pylist()
    assert len(places) == result["places"] == 28
    near = [place for place in places if 250e6 < place["traffic.gen.rate"] < 350e6]
    assert len(near) >= 10, "evenly spread there were 4"
    far = [place for place in places if abs(place["traffic.gen.rate"] - 300e6) > 150e6]
    assert {place["seeds"] for place in far} == {3}, "there three are enough to tell"
    assert {one["at"]["nodes.switch.buffer"] for one in result["between"]} == {"20KB", "80KB"}
    assert (folder / "curves-0.svg").exists()
    assert not (folder / "map-0.svg").exists()
    page = (folder / "report.html").read_text()
    assert "Where the answer changes" in page


def test_effects_are_told_of_what_is_drawn(tmp_path: Path) -> None:
    over = ["traffic.gen.rate=50Mb/s..900Mb/s", "nodes.switch.buffer=20KB..80KB"]
    result, folder = swept(
        tmp_path, random_flow(), over=over, design="saltelli", points=32, draw=[SHARE]
    )
    told = result["effects"][SHARE]
    assert told["traffic.gen.rate"]["total"] > 0.9 > 0.1 > told["nodes.switch.buffer"]["total"]
    assert (folder / "effects-0.svg").exists()


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"design": "adaptive"}, "--edge 'METRIC > VALUE'"),
        (
            {"design": "adaptive", "edge": f"{SHARE} > 1", "narrow": f"{SHARE} = 1%", "seeds": "5"},
            "leave out --narrow",
        ),
        ({"design": "saltelli"}, "at least 2 parameters"),
    ],
)
def test_designs_of_their_own_say_what_they_need(wishes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Sweep.of(random_flow(), SweepOptions(over=["traffic.gen.rate=1Mb/s..1Gb/s"], **wishes))


def test_a_line_of_somebody_else_is_laid_over_its_plane(tmp_path: Path) -> None:
    line = {
        "label": "by theory",
        "at": {"traffic.gen.frame": "500B"},
        "points": [["100Mb/s", "10KB"], ["700Mb/s", "100KB"]],
    }
    table = {
        "over": [RATES, "nodes.switch.buffer=10KB,100KB", "traffic.gen.frame=500B,1000B"],
        "draw": [SHARE],
        "overlay": [line],
    }
    result, folder = swept(tmp_path, random_flow(sweep=table))
    assert result["overlay"][0]["points"][1] == [7e8, 1e5]
    drawing = (folder / "map-0.svg").read_text()
    assert drawing.count("by theory") == 1, "in the plane of 500 B, not in the other"
    again, _ = swept(tmp_path, random_flow(sweep=table), over=[RATES])
    assert again["overlay"] == [], "what is varied by hand has planes of its own"


TREE = """
name = "tree"
duration = "100us"
fabric = { kind = "fat-tree", k = 4, rate = "10Gb/s", delay = "1us" }

[traffic.shift]
plugin = "cbr"
from = "{hosts}"
to = "{hosts}"
pairing = "permutation"
rate = "5Gb/s"
"""


def test_a_fabric_can_be_varied_and_asked_for_again(tmp_path: Path) -> None:
    """Half of 10 Gb/s from each of k^3 / 4 hosts."""
    metric = "throughput_bps of traffic in run"
    plan = Plan.load(TREE).with_settings(["links.h1.delay=2us"])
    wishes: dict[str, Any] = {"over": ["fabric.k=2,4"], "seeds": "1", "metrics": [metric]}
    _, folder = swept(tmp_path, plan, **wishes)
    found = {row["fabric.k"]: row[metric] for row in rows(folder)}
    assert found[2] == pytest.approx(2 * 5e9, rel=0.2)
    assert found[4] == pytest.approx(16 * 5e9, rel=0.2)
    again = Plan.load(folder / "sweep.toml")
    assert again.links["h1"].delay == 2_000_000
    asked = Sweep.of(again, SweepOptions(seeds="1"))
    first = Sweep.of(plan, SweepOptions(**wishes))
    for at in range(2):
        one, other = asked.subject(at), first.subject(at)
        assert one is not None
        assert other is not None
        assert one.table == other.table


def test_a_fabric_that_cannot_be_written_down_is_refused() -> None:
    written = Plan.load(Plan.load(TREE).to_toml())
    with pytest.raises(BadInput, match="names a fabric"):
        Sweep.of(written, SweepOptions(over=["fabric.k=2,4"]))
