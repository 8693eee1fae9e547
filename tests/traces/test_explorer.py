"""The explorable curves of a report: what the page holds, and what a real browser does with it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tailback
from traces.explorer import MOST_POINTS, section
from traces.report import write_report
from traces.run_reader import Run, load

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,1600",
)


def data_of(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'id="series">(.*?)</script>', text, re.DOTALL)
    parsed = json.loads(found)
    assert isinstance(parsed, dict)
    return parsed


def unpacked(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


def test_curves_are_the_runs_own(make_run: Callable[..., Run]) -> None:
    run = make_run()
    data = data_of(section(run))
    queue = next(panel for panel in data["panels"] if panel["title"].startswith("queue at "))
    port = queue["curves"][0]["name"]
    values = run.table.column(port, "queue_bytes")
    drawn = unpacked(queue["curves"][0]["y"]) * queue["one"]
    assert drawn.max() == pytest.approx(values.max(), rel=1e-6)
    assert drawn.min() == pytest.approx(values.min(), rel=1e-6)
    times = unpacked(queue["curves"][0]["t"])
    assert len(times) == len(drawn)
    assert times[[0, -1]] == pytest.approx(run.times_ps[[0, -1]] / 1e12, abs=1e-6)
    assert [name for name, _, _ in data["phases"]] == list(run.phases)
    assert data["events"]
    assert [time for time, _ in data["events"]] == [one.time_ps / 1e12 for one in run.events]
    points = sum(len(unpacked(one["t"])) for panel in data["panels"] for one in panel["curves"])
    assert points <= MOST_POINTS


def test_a_name_cannot_end_the_data(make_run: Callable[..., Run]) -> None:
    run = make_run()
    run.label = "</script><script>alert(1)</script>"
    text = section(run)
    assert "alert(1)</script>" not in text
    assert data_of(text)["run"] == run.label


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Reports of two seeds of one plan."""
    found = []
    for seed in (1, 2):
        folder = tmp_path_factory.mktemp(f"seed{seed}")
        done = tailback.run("quickstart", seed=seed, out=folder, report=False)
        assert done.folder is not None
        write_report(load(done.folder), folder / "report.html")
        found.append(folder / "report.html")
    return found


@pytest.fixture
def browser() -> Iterator[Any]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed (apt-get install chromium-driver)")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield found
    finally:
        found.quit()


DRAWN = """
return window.explored === undefined ? null : {
  curves: explored.plots.map((plot) => plot.renderers.map((one) => [one.name, one.visible])),
  range: [explored.range.start, explored.range.end],
  inner: explored.plots.map((plot) => {
    const view = Bokeh.index.find_one(plot);
    if (!view || !view.frame || !view.frame.bbox.width) return null;
    const place = view.el.getBoundingClientRect(), box = view.frame.bbox;
    return [place.left + box.left, place.top + box.top, box.width, box.height];
  }),
}
"""


def drawn(browser: Any, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """State of the plots as soon as it is as wanted."""
    for _ in range(600):
        found = browser.execute_script(DRAWN)
        if found and None not in found["inner"] and wanted(found):
            assert isinstance(found, dict)
            return found
        time.sleep(0.1)
    raise AssertionError(f"not as wanted within a minute: {found}")


@pytest.mark.slow
def test_a_browser_zooms_switches_and_lays_another_run_over(
    browser: Any, pages: list[Path]
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    assert pages[0].stat().st_size < 3 * 2**20
    browser.get(pages[0].as_uri())
    data = data_of(pages[0].read_text(encoding="utf-8"))
    place = browser.find_element(By.ID, "explore")
    assert place.is_displayed()
    browser.execute_script("arguments[0].scrollIntoView()", place)
    before = drawn(browser, lambda found: len(found["curves"]) == len(data["panels"]))
    assert before["range"] == [data["from"], data["to"]]

    # a drag over the middle third of the first panel shows that third, in every panel
    left, top, width, height = before["inner"][0]
    drag = ActionChains(browser, duration=50)
    drag.w3c_actions.pointer_action.move_to_location(int(left + width / 3), int(top + height / 2))
    drag.click_and_hold().move_by_offset(int(width / 3), 0).release().perform()
    zoomed = drawn(browser, lambda found: found["range"] != before["range"])
    span = data["to"] - data["from"]
    assert zoomed["range"][0] == pytest.approx(data["from"] + span / 3, abs=span / 50)
    assert zoomed["range"][1] == pytest.approx(data["from"] + 2 * span / 3, abs=span / 50)

    # another run is dashed beside it, panel by panel
    browser.find_element(By.CSS_SELECTOR, "#explore input").send_keys(str(pages[1]))
    both = drawn(browser, lambda found: len(found["curves"][0]) > len(before["curves"][0]))
    other = data_of(pages[1].read_text(encoding="utf-8"))["run"]
    assert any(name.endswith(f"({other})") for name, _ in both["curves"][0])
    assert other in browser.find_element(By.CSS_SELECTOR, "#explore output").text

    # a click on a name hides its curve
    assert all(visible for _, visible in both["curves"][0])
    left, top, _, _ = both["inner"][0]
    click = ActionChains(browser, duration=50)
    click.w3c_actions.pointer_action.move_to_location(int(left + 20), int(top - 12))
    click.click().perform()
    hidden = drawn(browser, lambda found: not all(shown for _, shown in found["curves"][0]))
    assert sum(not shown for _, shown in hidden["curves"][0]) == 1

    loaded = browser.execute_script("return performance.getEntriesByType('resource')")
    assert [one["name"] for one in loaded if "://" in one["name"]] == []
    severe = [one for one in browser.get_log("browser") if one["level"] == "SEVERE"]
    assert severe == []


@pytest.mark.slow
def test_a_file_that_is_no_report_is_named(browser: Any, pages: list[Path], tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By

    other = tmp_path / "other.html"
    other.write_text("<p>nothing", encoding="utf-8")
    browser.get(pages[0].as_uri())
    drawn(browser, lambda found: True)
    browser.find_element(By.CSS_SELECTOR, "#explore input").send_keys(str(other))
    said = browser.find_element(By.CSS_SELECTOR, "#explore output")
    for _ in range(100):
        if said.text:
            break
        time.sleep(0.1)
    assert said.text == "other.html: is not a report with curves"
