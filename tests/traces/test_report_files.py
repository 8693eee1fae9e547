"""The report's table of a run's files: those that are there, in order, with working links."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from traces.report_files import HINT, MEANS, section


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    at = tmp_path / "a run"
    (at / "captures").mkdir(parents=True)
    (at / "result.json").write_bytes(b"x" * 1500)
    (at / "samples.parquet").write_bytes(b"x")
    (at / "other.txt").write_text("none of ours")
    return at


def text(folder: Path | None, place: str = ".") -> str:
    run: Any = SimpleNamespace(folder=folder)
    return section(run, place)


def test_a_run_without_a_folder_or_with_an_empty_one_has_no_table(tmp_path: Path) -> None:
    assert text(None) == ""
    (tmp_path / "plan.toml").mkdir()  # a folder of that name is no file of a run
    assert text(tmp_path) == ""


def test_files_stand_in_their_order_with_size_and_contents(folder: Path) -> None:
    found = text(folder)
    assert found.startswith("<h2>Files</h2>")
    assert found.index("samples.parquet") < found.index("result.json")
    assert "1.5 KB" in found
    assert MEANS["result.json"] in found
    assert '<a href="samples.parquet">samples.parquet</a>' in found
    assert "plan.toml" not in found
    assert "other.txt" not in found
    assert HINT not in found


def test_captures_come_last_by_name_and_the_hint_with_them(folder: Path) -> None:
    for name in ("switch-b.pcapng", "nic1-a.pcapng", "nic1-a.pcap", "<&>.pcapng"):
        (folder / "captures" / name).write_bytes(b"")
    found = text(folder)
    assert found.endswith(HINT)
    order = ["result.json", "&lt;&amp;&gt;.pcapng", "nic1-a.pcapng", "switch-b.pcapng"]
    places = [found.rindex(name) for name in order]
    assert places == sorted(places)
    assert "nic1-a.pcap<" not in found
    assert '<a href="captures/%3C%26%3E.pcapng">captures/&lt;&amp;&gt;.pcapng</a>' in found


@pytest.mark.parametrize(
    ("place", "address"),
    [("", "result.json"), (".", "result.json"), ("../a run", "../a%20run/result.json")],
)
def test_links_lead_from_the_page_to_the_folder(folder: Path, place: str, address: str) -> None:
    assert f'<a href="{address}">result.json</a>' in text(folder, place)
