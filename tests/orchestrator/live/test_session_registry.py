"""Where runs can be watched: by their owner alone, or not at all, and then that is said."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from orchestrator.live import session_registry

RUN = "0" * 16


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for /tmp."""
    base = tmp_path / "s"
    base.mkdir()
    monkeypatch.setattr(session_registry, "SHORT", base)
    monkeypatch.setattr(session_registry, "LONGEST", len(str(base)) + 60)
    monkeypatch.delenv(session_registry.VARIABLE, raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(session_registry.tempfile, "gettempdir", lambda: str(base))
    return base


def long(base: Path) -> Path:
    return base / ("d" * 60) / "live"


@pytest.mark.parametrize("length", [50, 61, 100, 180])
def test_a_run_never_listens_on_a_port(short: Path, length: int):
    """Whoever is on the machine can connect to one, and end the run."""
    folder = short / ("d" * length)
    folder.mkdir(mode=0o700)
    address = session_registry.address_in(folder, RUN)
    assert address == f"ipc://{short}/tailback-{os.getuid()}/{RUN}.feed"
    found = Path(address.removeprefix("ipc://")).parent.stat()
    assert stat.S_IMODE(found.st_mode) == 0o700


def test_a_folder_whose_name_is_short_has_the_socket(short: Path):
    assert session_registry.address_in(short / "x", RUN) == f"ipc://{short}/x/{RUN}.feed"


def squat_by_mode(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def squat_by_file(path: Path) -> None:
    path.write_text("")


def squat_by_link(path: Path) -> None:
    path.symlink_to(path.parent)


def squat_by_owner(path: Path) -> None:
    path.mkdir(mode=0o700)
    os.chown(path, 12345, 12345)


@pytest.mark.parametrize(
    ("squat", "words"),
    [
        (squat_by_mode, "others can get at .* .mode 0777"),
        (squat_by_file, "cannot be made|no folder"),
        (squat_by_link, "no folder"),
        pytest.param(
            *(squat_by_owner, "belongs to another user .number 12345"), marks=pytest.mark.root
        ),
    ],
)
def test_a_squatted_folder_is_not_used_and_that_is_said(short: Path, squat, words):
    assert session_registry.missing_folder_reason() is None
    (short / f"tailback-{os.getuid()}").rmdir()
    squat(short / f"tailback-{os.getuid()}")
    assert session_registry.sessions_folder() is None
    said = session_registry.missing_folder_reason() or ""
    assert pytest.importorskip("re").search(words, said), said
    assert f"{session_registry.VARIABLE}=DIR" in said
    assert session_registry.address_in(long(short), RUN) is None, (
        "and the short folder is none either"
    )


def test_a_long_folder_and_no_short_one_is_said(short: Path, monkeypatch: pytest.MonkeyPatch):
    squat_by_mode(short / f"tailback-{os.getuid()}")
    monkeypatch.setenv(session_registry.VARIABLE, str(long(short)))
    assert "too long" in (session_registry.missing_folder_reason() or "")


def test_a_socket_in_the_short_folder_goes_with_its_note(short: Path):
    folder = long(short)
    folder.mkdir(parents=True, mode=0o700)
    address = session_registry.address_in(folder, RUN) or ""
    socket = Path(address.removeprefix("ipc://"))
    note = session_registry.SessionNote(
        run=RUN, plan="p", target="t", process=os.getpid(), address=address, started=0.0
    )
    with session_registry.registered(folder, note):
        socket.write_text("")
    assert not socket.exists()
    assert list(folder.iterdir()) == []


def test_a_note_has_no_other_file_removed(short: Path):
    other = short / "precious"
    other.write_text("")
    note = session_registry.SessionNote(
        run=RUN, plan="p", target="t", process=1, address=f"ipc://{other}", started=0.0
    )
    folder = short / "f"
    folder.mkdir()
    with session_registry.registered(folder, note):
        pass
    assert other.exists()
