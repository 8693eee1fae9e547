"""The page of an analysis, and what is said of messages and spells that are left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.traces.capture import captures as make
from traces.analysis import Settings, cnm_statistics, pause_spells, read_captures
from traces.analysis.analysis_files import write

CNM = bytes.fromhex("22e7 003f") + bytes(8) + bytes.fromhex("fffe 0003 a000 02544200000a 05ca")
PAUSE = bytes.fromhex("8808 0001 0004") + bytes(42)
HOSTILE = b"<script>alert(1)</script>"


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """50 messages and 40 short pauses, at an interface with a bad name."""
    blocks = [make.section(), make.interface(options=[(2, HOSTILE), (9, b"\x09")])]
    for number in range(50):
        blocks.append(make.enhanced(0, number * 10**6, bytes(12) + CNM))
    for number in range(40):
        blocks.append(make.enhanced(0, number * 10**6 + 10**8, bytes(12) + PAUSE))
    path = tmp_path / "a.pcapng"
    path.write_bytes(b"".join(blocks))
    return path


def test_what_is_left_out_is_told(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cnm_statistics, "MAX_STORED", 20)
    monkeypatch.setattr(pause_spells, "MOST_SPELLS", 30)
    found = read_captures(capture, settings=Settings(rate_bps=10**9))
    assert found.analysis.undrawn_messages == 30
    assert found.analysis.undrawn_spells == 9  # the one that is open at the end is kept as well
    write(tmp_path / "out", found)
    text = (tmp_path / "out" / "analysis.html").read_text()
    assert "30 further CNMs" in text
    assert "9 further spells" in text


def test_the_page_stands_alone(capture: Path, tmp_path: Path) -> None:
    found = read_captures(capture, settings=Settings(rate_bps=10**9))
    assert found.analysis.left_out() == []
    write(tmp_path / "out", found)
    text = (tmp_path / "out" / "analysis.html").read_text()
    assert text.index("<svg") < text.index("<h2>Tables")
    assert "50 cnm" in text
    assert HOSTILE.decode() not in text
    assert not re.search(r"(src|href)=.?https?:", text)


def test_resumes_alone_are_no_pause(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    resume = bytes(12) + PAUSE[:4] + bytes(44)
    blocks = [make.section(), make.interface(options=[(9, b"\x09")]), make.enhanced(0, 1, resume)]
    path.write_bytes(b"".join(blocks))
    found = read_captures(path, settings=Settings(rate_bps=10**9))
    (link,) = found.analysis.interfaces[0].links
    assert (link.resumes, link.spells, link.paused_s) == (1, 0, 0.0)
    assert found.analysis.cascades == []
    write(tmp_path / "out", found)
