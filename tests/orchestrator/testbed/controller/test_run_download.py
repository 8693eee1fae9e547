"""A run folder that is fetched from a controller: whole, or not there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import RunFailed
from orchestrator.progress import Progress
from orchestrator.run import folder_lock, partial_runs
from orchestrator.testbed.controller import controller_messages
from orchestrator.testbed.controller import run_download as downloading
from orchestrator.testbed.controller.run_artifacts import RunArtifacts
from orchestrator.testbed.controller.run_download import download
from orchestrator.testbed.wire.envelope import CHUNK, Unacceptable
from orchestrator.testbed.wire.rpc_client import Refusal, Unanswered
from orchestrator.testbed.wire.rpc_server import Handler, RequestDispatcher

RUN = "ab" * 8
NAME = "20260102T030405Z-abc123"
FILES = {
    "plan.toml": b"name = 'x'\n",
    "result.json": b"{}",
    "empty.out": b"",
    "captures/sink-switch.pcapng": bytes(range(256)) * (CHUNK // 100),
}
"""The last one takes three chunks."""


class Line:
    """A controller without a network. `spoil` may break what it answers, request by request."""

    def __init__(self, folder: Path) -> None:
        for name, octets in FILES.items():
            path = folder / "quick" / NAME / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(octets)
        self.kept = RunArtifacts.of(folder / "quick" / NAME)
        self.told = self.kept.listing.model_dump()
        self.asked: list[dict[str, Any]] = []
        self.spoil: Callable[[int, bytes], bytes] = lambda number, octets: octets
        self.desk = RequestDispatcher(
            {
                "files": Handler(
                    controller_messages.OfRun, lambda *_: (self.told, None), reads=True
                ),
                "fetch": Handler(controller_messages.FetchOf, self._fetch, reads=True),
            }
        )

    def _fetch(self, peer: str, request: Any, body: controller_messages.FetchOf) -> Any:
        chunk, octets = self.kept.cut(body.number, body.offset)
        return chunk.model_dump(), octets

    async def ask(self, kind: str, body: Any, within_s: float) -> tuple[dict[str, Any], Any]:
        self.asked.append({"kind": kind, **body.model_dump()})
        data = {"v": 1, "session": "c" * 16, "id": 1, "kind": kind, "body": body.model_dump()}
        frames = self.desk.respond("user", [json.dumps(data).encode()])
        assert frames is not None
        answer = json.loads(frames[0])
        if answer["refused"]:
            raise Refusal("controller", answer["code"], answer["refused"])
        octets = self.spoil(len(self.asked), frames[1]) if len(frames) > 1 else None
        return answer["body"], octets

    def fetch(self, out: Path, progress: Callable[[Progress], None] = lambda news: None) -> Path:
        return asyncio.run(download(self, RUN, out, progress))  # type: ignore[arg-type]


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path / "there")


def nothing_in(out: Path) -> bool:
    return not [path for path in out.rglob("*") if path.is_file()]


def test_it_comes_whole_and_is_called_as_it_was(line: Line, tmp_path: Path):
    news: list[Progress] = []
    folder = line.fetch(tmp_path / "here", news.append)
    assert folder == tmp_path / "here" / "quick" / NAME
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert {name: (folder / name).read_bytes() for name in found} == FILES
    assert [one.done for one in news] == sorted(one.done for one in news)
    assert news[-1].done == 1.0


def test_one_that_is_there_already_is_not_fetched_again(line: Line, tmp_path: Path):
    first = line.fetch(tmp_path / "here")
    line.asked.clear()
    assert line.fetch(tmp_path / "here") == first
    assert line.fetch(tmp_path / "there") == line.kept.folder, "on the controller's own machine"
    assert {asked["kind"] for asked in line.asked} == {"files"}


def test_another_one_of_that_name_is_left_alone(line: Line, tmp_path: Path):
    other = tmp_path / "here" / "quick" / NAME / "plan.toml"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"mine")
    with pytest.raises(RunFailed, match="nothing was overwritten"):
        line.fetch(tmp_path / "here")
    assert other.read_bytes() == b"mine"


def test_a_folder_of_equal_lengths_and_other_contents_is_left_alone(line: Line, tmp_path: Path):
    result = line.fetch(tmp_path / "here") / "result.json"
    result.write_bytes(b"[]")
    assert len(FILES["result.json"]) == 2
    with pytest.raises(RunFailed, match="nothing was overwritten"):
        line.fetch(tmp_path / "here")
    assert result.read_bytes() == b"[]"


def test_what_comes_damaged_or_not_at_all_is_asked_for_again_where_it_was(
    line: Line, tmp_path: Path
):
    def spoil(number: int, octets: bytes) -> bytes:
        if number == 3:
            return octets[:-1] + bytes([octets[-1] ^ 1])
        if number == 4:
            raise Unanswered("controller", "no answer")
        return octets

    line.spoil = spoil
    folder = line.fetch(tmp_path / "here")
    name = "captures/sink-switch.pcapng"
    assert (folder / name).read_bytes() == FILES[name]
    offsets = [asked["offset"] for asked in line.asked[1:] if asked["number"] == 0]
    assert offsets == [0, CHUNK, CHUNK, CHUNK, 2 * CHUNK], "captures come first"


@pytest.mark.parametrize(
    "name",
    ["../x", "/etc/passwd", "captures/../../x", "a/b/c", "captures//x", "..", ".hidden", "a\\b\0"],
)
def test_a_name_outside_the_folder_is_refused(line: Line, tmp_path: Path, name: str):
    line.told["files"][0]["name"] = name
    with pytest.raises(RunFailed, match=r"list of files is not right: files\.0\.name"):
        line.fetch(tmp_path / "here")
    assert nothing_in(tmp_path / "here")


@pytest.mark.parametrize(("key", "value"), [("plan", ".."), ("plan", "a/b"), ("name", "../x")])
def test_a_folder_outside_the_runs_is_refused(line: Line, tmp_path: Path, key: str, value: str):
    line.told[key] = value
    with pytest.raises(RunFailed, match=f"list of files is not right: {key}"):
        line.fetch(tmp_path / "here")
    assert nothing_in(tmp_path / "here")


def test_a_file_that_is_not_what_was_listed_ends_it_and_nothing_stays(line: Line, tmp_path: Path):
    line.told["files"][0]["sha256"] = "0" * 64
    with pytest.raises(RunFailed, match="another checksum than announced"):
        line.fetch(tmp_path / "here")
    assert nothing_in(tmp_path / "here")


@pytest.fixture
def interrupted(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    """Two of the three chunks of the capture have come, then nothing any more."""

    def spoil(number: int, octets: bytes) -> bytes:
        if number > 3:
            raise Unanswered("controller", "no answer")
        return octets

    monkeypatch.setattr(downloading, "SILENT_S", 0.0)
    line.spoil = spoil
    with pytest.raises(Unanswered):
        line.fetch(tmp_path / "here")
    assert not (tmp_path / "here" / "quick" / NAME).exists()
    line.spoil = lambda number, octets: octets
    line.asked.clear()
    return line


def test_an_interrupted_fetch_is_gone_on_with_by_the_next_one(interrupted: Line, tmp_path: Path):
    folder = interrupted.fetch(tmp_path / "here")
    offsets = [asked["offset"] for asked in interrupted.asked[1:] if asked["number"] == 0]
    assert offsets == [2 * CHUNK], "the third of three chunks"
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert [path.name for path in folder.parent.iterdir()] == [NAME]


def test_what_lay_there_is_checked_and_fetched_again_when_it_is_damaged(
    interrupted: Line, tmp_path: Path
):
    left = tmp_path / "here" / "quick" / f".{NAME}{partial_runs.FETCHING}"
    with (left / "captures" / "sink-switch.pcapng").open("r+b") as file:
        file.write(b"!")
    folder = interrupted.fetch(tmp_path / "here")
    offsets = [asked["offset"] for asked in interrupted.asked[1:] if asked["number"] == 0]
    assert offsets == [2 * CHUNK, 0, CHUNK, 2 * CHUNK]
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES


def test_what_waits_to_be_gone_on_with_is_one_fetchers_and_cleaned_on_request(
    interrupted: Line, tmp_path: Path
):
    here = tmp_path / "here"
    left = here / "quick" / f".{NAME}{partial_runs.FETCHING}"
    lock = folder_lock.acquire(left)
    with pytest.raises(RunFailed, match="is being fetched by another process"):
        interrupted.fetch(here)
    assert partial_runs.remove_stale(here, partial_runs.FETCHING) == []
    folder_lock.release(lock)
    assert partial_runs.remove_stale(here) == [], "not at the beginning of every run"
    assert partial_runs.remove_stale(here, partial_runs.FETCHING) == [left]
    assert nothing_in(here)


def test_a_number_that_is_not_on_the_list_and_a_file_that_is_gone_are_refused(line: Line):
    with pytest.raises(Unacceptable, match="the folder has 4 files"):
        line.kept.cut(4, 0)
    (line.kept.folder / "plan.toml").unlink()
    place = [file.name for file in line.kept.listing.files].index("plan.toml")
    with pytest.raises(Unacceptable, match=r"plan\.toml .* cannot be read: No such file"):
        line.kept.cut(place, 0)
