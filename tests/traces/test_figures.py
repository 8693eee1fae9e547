"""Figures: what is in them, and that they are quick and reproducible."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ET

import matplotlib
import pytest

from traces import figures
from traces.figures.figure_style import FAINT, INK, SHADE


def test_paper_figure_shows_what_it_must(make_run) -> None:
    text = figures.svg(figures.paper_figure(make_run(), "switch.sink"))
    for part in (
        "queue (KB)",
        "utilisation (ratio)",
        "received (Mb/s)",
        "time (s)",
        "set point 33 KB",
        "service 200Mb/s",
        "service 950Mb/s",
        ">high<",
        ">low<",
        "expected mean (met)",
        "expected mean (missed)",
        "gen1.7",
    ):
        assert part in text, part
    ET.fromstring(text)


def test_no_peak_is_lost(make_run) -> None:
    figure = figures.paper_figure(make_run(), "switch.sink")
    (line,) = [one for one in figure.axes[0].lines if one.get_label() == "queue"]
    assert max(line.get_ydata()) == 149.0
    assert figure.axes[0].get_ylim()[1] > 149


def test_many_flows_become_a_band(make_run) -> None:
    text = figures.svg(figures.paper_figure(make_run(flows=64), "switch.sink"))
    assert "all 64 flows" in text
    assert "gen1.5" not in text


def test_same_run_same_figure_and_no_global_state(make_run) -> None:
    before = dict(matplotlib.rcParams)
    first = figures.paper_figure(make_run(), "switch.sink")
    second = figures.paper_figure(make_run(), "switch.sink")
    assert figures.svg(first) == figures.svg(second)
    assert figures.png(first) == figures.png(second)
    assert dict(matplotlib.rcParams) == before


def test_inline_svg_takes_the_page_s_colours(make_run) -> None:
    text = figures.inline(figures.paper_figure(make_run(), "switch.sink"), 'a "label" <b>')
    assert re.match(r"<svg [^>]*viewBox=", text)
    assert 'aria-label="a &quot;label&quot; &lt;b&gt;"' in text
    named = re.sub(r'xmlns(:xlink)?="http://www.w3.org/[0-9a-z/]+"', "", text)
    assert named.count("http") == 0
    assert text.count("http") == 2  # names of SVG's own words: nothing is loaded
    for colour, name in ((INK, "ink"), (FAINT, "faint"), (SHADE, "shade")):
        assert text.count(colour) == text.count(f"var(--{name}, {colour})") > 0
    alone = ET.fromstring(text)  # taken out of the page it is a document, with its colours
    assert alone.tag == "{http://www.w3.org/2000/svg}svg"


def test_bottlenecks_have_a_set_point_first(make_run) -> None:
    assert figures.bottlenecks(make_run()) == ["switch.sink"]


def test_overlay(make_run) -> None:
    runs = [make_run(1), make_run(2, bias=0.3)]
    figure = figures.overlay_figure(runs, "switch.sink", ["A one", "B other"], 2 * 10**12)
    text = figures.svg(figure)
    for part in ("A one", "B other", "they part here", "set point 33 KB", "queue (KB)"):
        assert part in text
    assert figures.png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize("flows", [1, 8])
def test_quick(make_run, flows: int) -> None:
    run = make_run(flows=flows)
    took = []
    for _ in range(3):
        start = time.process_time()
        figures.svg(figures.paper_figure(run, "switch.sink"))
        took.append(time.process_time() - start)
    assert min(took) < 0.6
