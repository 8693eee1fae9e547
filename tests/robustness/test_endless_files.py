"""Files without end, and devices as output: each command that reads or replaces a file by its name.

/dev/zero has a size of 0 and no end; a pipe has neither.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator import bounded_file
from orchestrator.cli.main import command_line
from tests.robustness.runs import QUICK

ZERO = Path("/dev/zero")
MEMORY = 3 * 2**30
"""Octets of address space of a command; without a bound it would take all of them."""
SECONDS = 120
LINES = {
    "papers": "papers QCN --with {zero}",
    "containerlab": "import containerlab {zero}",
    "htsim": "import htsim {zero} {zero}",
    "hpcc": "import hpcc {zero} {zero}",
    "graphml": "import graphml {zero}",
    "controller key": "machines --keys {keys} --controller-key {zero}",
    "authorised key": "keys authorise {zero} --keys {keys}",
    "known key": "keys know {zero} --keys {keys}",
    "token": "otg --port p=lo --token-file {zero}",
    "certificate": "otg --port p=lo --tls-cert {zero} --tls-key {zero}",
    "run folder": "report {folder}",
    "sweep folder": "figure {folder}",
    "frozen": "run quickstart --frozen {zero}",
    "capsule": "verify {zero}",
    "capture": "analyze {zero}",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with keys, and one whose files are links to a device without end."""
    folder = tmp_path_factory.mktemp("endless")
    assert command_line(["keys", "make", "--keys", str(folder / "keys")]) == 0
    (folder / "run").mkdir()
    for name in ("result.json", "manifest.json", "plan.toml", "events.jsonl", "samples.parquet"):
        (folder / "run" / name).symlink_to(ZERO)
    return {"zero": ZERO, "keys": folder / "keys", "folder": folder / "run"}


@pytest.fixture
def bounded_memory() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("bounded_memory")
@pytest.mark.parametrize("name", LINES)
def test_an_endless_file_is_refused(
    name: str,
    places: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line([word.format(**places) for word in LINES[name].split()]) == 2
    said = capsys.readouterr().err
    assert str(ZERO) in said or str(places["folder"]) in said
    assert "Traceback" not in said


def python_reads(octets: bytes) -> str | int:
    """The text in UTF-8, or the first octet that is none."""
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start


@pytest.mark.parametrize("seed", range(30))
def test_a_text_is_read_as_python_reads_it(seed: int, tmp_path: Path) -> None:
    """Or refused, with the octet at which it is no text, wherever chunks end."""
    draw = random.Random(seed)
    drawn = "".join(draw.choice("ab\n€é\U0001f4a5\ufeff") for _ in range(draw.randrange(200)))
    octets = bytearray(drawn.encode(draw.choice(["utf-8", "utf-8-sig"])))
    if octets and draw.random() < 0.5:
        octets[draw.randrange(len(octets))] = draw.randrange(1, 256)
    del octets[draw.randrange(len(octets) + 1) :]
    path = tmp_path / "text"
    path.write_bytes(octets)
    for chunk in (1, 3, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bounded_file, "CHUNK", chunk)
            due = python_reads(bytes(octets))
            if isinstance(due, int):
                with pytest.raises(UnicodeDecodeError) as refused:
                    bounded_file.read_text(path, len(octets))
                assert refused.value.start == due
                continue
            assert bounded_file.read_text(path, len(octets)) == due
            if octets:
                with pytest.raises(ValueError, match=f"more than {len(octets) - 1} octets"):
                    bounded_file.read_text(path, len(octets) - 1)


def test_a_pipe_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), path.open("wb", buffering=0) as file:
            while True:
                file.write(b"name = 1\n" * 1000)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    with pytest.raises(ValueError, match="more than 1000000 octets"):
        bounded_file.read_text(path, 1_000_000)
    writer.join(SECONDS)
    assert not writer.is_alive()


def test_a_report_replaces_regular_files_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As root, --out /dev/null would put a file in the place of the device."""
    assert command_line([*QUICK, "--no-report", "--out", str(tmp_path / "runs")]) == 0
    (run,) = (tmp_path / "runs").glob("*/*")
    pipe, link, real = tmp_path / "pipe", tmp_path / "link", tmp_path / "page.html"
    os.mkfifo(pipe)
    (tmp_path / "to-pipe").symlink_to(pipe)
    link.symlink_to(real)
    capsys.readouterr()
    for name in ("pipe", "to-pipe", "runs"):
        assert command_line(["report", str(run), "--out", str(tmp_path / name)]) == 2
        assert f"{tmp_path / name}: is no regular file" in capsys.readouterr().err
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    for _ in range(2):  # where there is no file yet, and over one
        assert command_line(["report", str(run), "--out", str(link)]) == 0
        assert link.is_symlink()
        assert real.read_text(encoding="utf-8").startswith("<!doctype html>")
