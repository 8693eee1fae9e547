"""The commands: what they print, write and answer with."""

from __future__ import annotations

import json
import re

from typer.testing import CliRunner

from orchestrator.errors import BadInput
from traces import pcapng


def test_compare_agrees(app, make_folder) -> None:
    runs = [str(make_folder("a", 1)), str(make_folder("b", 2))]
    done = CliRunner().invoke(app, ["compare", *runs])
    assert done.exit_code == 0, done.output
    assert "agree: runs agree when" in done.output


def test_compare_disagrees_and_writes(app, make_folder, tmp_path) -> None:
    runs = [str(make_folder("a", 1)), str(make_folder("b", 2, 0.3))]
    out = tmp_path / "new" / "out"
    done = CliRunner().invoke(app, ["compare", *runs, "--json", "--out", str(out)])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["parting"]["phase"] == "low"
    names = {path.name for path in out.iterdir()}
    figures = {"compare-switch-sink.svg", "compare-switch-sink.png"}
    assert names == {"compare.html", "compare.json", *figures}
    text = (out / "compare.html").read_text()
    assert "disagree: first in phase low" in text
    assert "Queue and utilisation at switch.sink" in text
    assert text.count("<svg") == 1


def test_compare_bad_input(app, tmp_path, make_folder) -> None:
    done = CliRunner().invoke(app, ["compare", str(make_folder()), str(tmp_path / "none")])
    assert isinstance(done.exception, BadInput)


def test_report(app, make_folder, tmp_path) -> None:
    folder = make_folder()
    done = CliRunner().invoke(app, ["report", str(folder)])
    assert done.exit_code == 0, done.output
    text = (folder / "report.html").read_text()
    assert "<svg" in text
    other = tmp_path / "elsewhere.html"
    assert CliRunner().invoke(app, ["report", str(folder), "--out", str(other)]).exit_code == 0
    here, there = (re.findall(r'href="([^"#]+)"', page) for page in (text, other.read_text()))
    assert "samples.parquet" in here
    assert there == [f"{folder.name}/{link}" for link in here]
    assert all((folder / link).is_file() for link in here)
    assert re.sub(r'href="[^"#]+"', "", other.read_text()) == re.sub(r'href="[^"#]+"', "", text)
    assert not list(folder.glob(".*"))


def test_analyze(app, tmp_path, capture) -> None:
    path = tmp_path / "a.pcapng"
    pcapng.write(path, capture(20))
    done = CliRunner().invoke(app, ["analyze", str(path), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["interfaces"][0]["name"] == "switch.sink"
    done = CliRunner().invoke(app, ["analyze", str(path)])
    assert "20 other" in done.output
    assert "the capture lost 7 frames" in done.output
