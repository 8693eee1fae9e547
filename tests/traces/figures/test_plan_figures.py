"""Figures that a plan asks for: they draw what is named, all of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from tailback import run as run_plan
from tests.traces.made_plans import BESIDE, FIGURES, NETS
from traces import figures
from traces.report import report
from traces.run_reader import Run, load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the plan with all kinds of figures."""
    base = tmp_path_factory.mktemp("planned")
    return run_plan(Plan.load(NETS + FIGURES), out=base).folder


@pytest.fixture(scope="module")
def drawn(folder: Path) -> dict[str, figures.Drawn]:
    return {one.title: one for one in figures.planned(load(folder))}


def lines(axes) -> dict[str, np.ndarray]:
    """Label -> points of every curve of some axes."""
    return {str(line.get_label()): line.get_xydata() for line in axes.lines}


def test_panels_of_one_title_are_one_figure(drawn) -> None:
    assert list(drawn) == ["a paper, figure 1", "bars", "limits", "latency", "table"]
    first = drawn["a paper, figure 1"]
    assert [panel.title for panel in first.panels] == ["(a)", "(b)"]
    assert first.called == ("In results f1 is af.0, f2 is af.1, f3 is afree.")


def test_exactly_the_named_entities_are_drawn(drawn, folder) -> None:
    top, below = figures.draw(drawn["a paper, figure 1"]).axes
    assert list(lines(top)) == ["f1", "f2", "f3", "f2, paper"]
    assert list(lines(below)) == ["as.ah1/in", "as.ah2/in"]
    run = load(folder)
    for name, entity in (("f1", "af.0"), ("f3", "afree")):
        times, rate = lines(top)[name].T
        sent = np.interp(times[-1] * 1e9, run.times_ps, run.table.column(entity, "bytes_sent"))
        width = np.diff(times, prepend=0)
        assert np.sum(rate * 1e9 * width * 1e-3) / 8 == pytest.approx(sent, rel=0.02)
    queue = lines(below)["as.ah2/in"][:, 1] * 1e3
    assert queue.max() == run.table.column("as.ah2/in", "queue_bytes").max()


def test_axes_have_names_units_and_ends(drawn) -> None:
    top, below = figures.draw(drawn["a paper, figure 1"]).axes
    assert top.get_ylabel() == "rate sent (Gb/s)"
    assert top.get_ylim() == (0, 10)
    assert below.get_ylabel() == "queue (KB)"
    assert below.get_xlabel() == "time (ms)"
    assert below.get_xlim() == (0, 4)


def test_what_the_paper_prints_lies_over_it(drawn) -> None:
    top, _ = figures.draw(drawn["a paper, figure 1"]).axes
    by_label = {str(line.get_label()): line for line in top.lines}
    assert by_label["f2, paper"].get_xydata().tolist() == [[1, 5], [3, 5]]
    assert by_label["f2, paper"].get_color() == by_label["f2"].get_color()
    bars = figures.draw(drawn["bars"]).axes[0]
    assert [float(y) for y in lines(bars)["other, paper"][:, 1]] == [4, 5]


def test_bars_stand_at_the_levels_with_the_metrics(drawn, folder) -> None:
    (axes,) = figures.draw(drawn["bars"]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "3"]
    heights = [patch.get_height() for patch in axes.patches]
    metrics = load(folder).result.metrics
    wanted = [
        metrics[phase][flow]["throughput_bps"]
        for flow in ("af.0", "bf.0")
        for phase in ("first", "second")
    ]
    assert heights == pytest.approx([value / 1e9 for value in wanted])


def test_a_limiter_has_a_curve_while_it_is_active(drawn, folder) -> None:
    """Figures 5d and 6 of the paper on the IBM rack have the rate limit along their axis."""
    (axes,) = figures.draw(drawn["limits"]).axes
    active = load(folder).table.column("ah1.rp0", "active") != 0
    assert 0 < active.sum() < len(active)
    assert axes.get_ylabel() == "rate limit (Gb/s)"
    rates = lines(axes)["ah1.rp0"]
    assert np.isfinite(rates[:, 1]).sum() == active.sum()


def test_a_cdf_of_latencies_agrees_with_the_percentiles(drawn, folder) -> None:
    (axes,) = figures.draw(drawn["latency"]).axes
    curve = lines(axes)["af"]
    assert curve[-1, 1] == pytest.approx(1)
    assert axes.get_xlabel() == "latency (µs)"
    found = load(folder).result.metrics["second"]["af"]
    for share, name in ((0.5, "latency_s.p50"), (0.99, "latency_s.p99")):
        at = curve[np.searchsorted(curve[:, 1], share), 0]
        assert at == pytest.approx(found[name] * 1e6, rel=1 / 16), name


def test_a_table_has_ours_beside_the_paper_s(drawn, folder) -> None:
    (panel,) = drawn["table"].tables
    heads, rows = figures.rows_of(panel)
    assert heads == ["flow", "net a", "net b", "net b, paper"]
    assert [row[0] for row in rows] == ["f1", "f2"]
    assert [row[3] for row in rows] == ["5", "5"]
    rate = load(folder).result.metrics["second"]["bf.1"]["throughput_bps"]
    assert rows[1][2] == f"{rate / 1e9:.5g}"
    text = report(load(folder))
    assert '<th scope="col">net b, paper</th>' in text
    assert figures.png(figures.draw(drawn["table"])).startswith(b"\x89PNG")


def test_the_report_has_them_before_its_own(folder: Path) -> None:
    text = report(load(folder))
    order = ["figure 1</b>", "<b>bars</b>", "<b>table</b>", "Queue, utilisation", "Verdict:"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def other_run(base: Path) -> Run:
    plan = Plan.load(NETS.replace('"nets"', '"others"').replace("8Gb/s", "3Gb/s"))
    return load(run_plan(plan, out=base).folder)


def test_runs_beside_this_one_are_drawn_and_missing_ones_are_named(tmp_path: Path) -> None:
    run = load(run_plan(Plan.load(NETS + BESIDE), out=tmp_path).folder)
    alone = figures.planned(run)
    assert [panel.title for panel in alone[0].panels] == ["this"]
    assert "`tailback run others`" in alone[0].notes[0]
    assert "`tailback run others`" in report(run)
    other = other_run(tmp_path)
    both = figures.planned(run)
    assert [panel.title for panel in both[0].panels] == ["this", "that"]
    assert [one.notes for one in both] == [[], []]
    rates = [lines(axes)["f1"][-1, 1] for axes in figures.draw(both[0]).axes]
    assert rates[1] == pytest.approx(3, rel=0.05)
    assert rates[0] != pytest.approx(3, rel=0.05)
    (axes,) = figures.draw(both[1]).axes
    theirs = lines(axes)["theirs"][:, 1] * 1e3
    assert theirs.max() == pytest.approx(other.table.column("as.ad1", "queue_bytes").max())
    assert list(lines(axes)) == ["mine", "theirs"]


def test_the_newest_of_the_same_target_is_taken(tmp_path: Path) -> None:
    run = load(run_plan(Plan.load(NETS + BESIDE), out=tmp_path).folder)
    other = other_run(tmp_path).folder
    assert other is not None
    later = other.with_name("29991231T000000Z-ffffff")
    later.mkdir()
    for file in other.iterdir():
        if file.is_file():
            later.joinpath(file.name).write_bytes(file.read_bytes())
    text = (later / "result.json").read_text().replace('"simulated"', '"software"')
    (later / "result.json").write_text(text)
    assert figures.planned(run)[0].panels[1].run.folder == other
    (other / "result.json").unlink()
    found = figures.planned(run)[0]
    assert found.panels[1].run.folder == later
    assert found.notes == ["others was run on software, this plan on simulated."]
    (later / "samples.parquet").write_text("damaged")
    (note,) = figures.planned(run)[0].notes
    assert note.startswith("A run of others cannot be read")


@pytest.mark.parametrize(
    "wrong",
    ["figure = 3", '[[figure]]\ny = 3\nof = "a"', '[[figure]]\ny = "queue_bytes"\nof = [1]'],
)
def test_a_tampered_figure_ends_in_a_sentence(folder: Path, tmp_path: Path, wrong: str) -> None:
    for file in folder.iterdir():
        if file.is_file():
            tmp_path.joinpath(file.name).write_bytes(file.read_bytes())
    (tmp_path / "plan.toml").write_text(f'name = "x"\n{wrong}\n')
    with pytest.raises(BadInput, match="figure"):
        load(tmp_path)


def test_a_figure_is_a_file_of_the_width_asked(app, folder: Path, tmp_path: Path) -> None:
    words = ["figure", str(folder), "--format", "pdf", "--width", "3.3in", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*words, "--figure", "1"])
    assert done.exit_code == 0, done.output
    (path,) = tmp_path.iterdir()
    assert done.stdout.strip() == str(path)
    content = path.read_bytes()
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ", content)
    assert box is not None
    assert float(box[1]) == pytest.approx(3.3 * 72)
    assert b"/FontFile2" in content  # embedded


def test_formats_numbers_and_lists(app, folder: Path, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    done = CliRunner().invoke(app, ["figure", str(folder), "--list"])
    assert len(done.stdout.splitlines()) >= 6
    assert not list(tmp_path.iterdir())
    done = CliRunner().invoke(app, ["figure", str(folder), "--figure", "2", "--json", *out])
    assert '"title": "bars"' in done.stdout
    (path,) = tmp_path.glob("*.svg")
    assert ElementTree.fromstring(path.read_text()).get("width") == "504pt"
    done = CliRunner().invoke(
        app, ["figure", str(folder), "--format", "png", "--width", "8cm", *out]
    )
    assert done.exit_code == 0, done.output
    assert len(list(tmp_path.glob("*.png"))) >= 6
    for wrong in (["--width", "3"], ["--width", "1in"], ["--figure", "99"]):
        done = CliRunner().invoke(app, ["figure", str(folder), *wrong])
        assert isinstance(done.exception, BadInput), wrong
