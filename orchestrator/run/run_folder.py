"""Folder of one run: written under a hidden name, renamed when complete, never overwritten.

    with RunFolder.open(Path("runs"), "netfpga-fig11") as folder:
        folder.write_json("result.json", result)
        path = folder.commit()

Until `commit` the files lie in `runs/netfpga-fig11/.<UTC>-<id>.<pid>.partial`. Leaving the block
without it, by an error or Ctrl-C, removes them; when the process is killed, the reaper process
does (see `run.reaper`); when that one was killed too, the next run or `tailback clean`.
"""

from __future__ import annotations

import datetime
import os
import secrets
import shutil
import subprocess
import sys
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any

from orchestrator import python_command
from orchestrator.errors import OUT_OF_ROOM, BadInput, RunFailed
from orchestrator.run import disk_space, folder_lock, json_pretty, partial_runs

REAPER = Path(__file__).with_name("reaper.py")
MAKE_TRIES = 20

_open_folders: weakref.WeakSet[RunFolder] = weakref.WeakSet()


def new_name(kind: str = "") -> str:
    """Unique name from the time; `kind` is its suffix where the folder is not a run's."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return "-".join(filter(None, (stamp, secrets.token_hex(3), kind)))


class RunFolder:
    """One run's folder while it is being filled. Use `RunFolder.open`, in a `with` block."""

    def __init__(self, base: Path, final: Path, partial: Path) -> None:
        self.base, self.final = base, final
        self.path = partial
        """Folder of the files: the partial one, after `commit` the final one."""
        self._partial = partial
        self._owner = os.getpid()
        self._lock: int | None = None
        self._reaper: subprocess.Popen[bytes] | None = None

    @classmethod
    def open(cls, base: Path, plan: str, name: str | None = None) -> RunFolder:
        """Make the partial folder for a run of `plan` in `base`, which is made if missing.

        `name`: final name of the folder; None: a new one from the time. Raises BadInput
        when the folder cannot be written to, RunFailed when the disk is full.
        """
        if not plan or plan.startswith(".") or "/" in plan or os.sep in plan:
            raise BadInput("name", f"{plan!r} cannot be the name of a folder; use a-z, 0-9 and -")
        base = base.absolute()
        folder = cls._new(base, plan, name)
        try:
            partial_runs.remove_stale(base)
            made = [str(p) for p in (base / plan, base, *base.parents) if not p.exists()]
            for _ in range(MAKE_TRIES):
                folder = cls._new(base, plan, name)
                if folder._claim(made):
                    _open_folders.add(folder)
                    return folder
                folder._release()
        except OSError as error:
            folder.discard()
            if error.errno in OUT_OF_ROOM:
                raise RunFailed(disk_space.disk_full_message(base)) from error
            raise BadInput(
                str(base),
                f"the output folder cannot be written to ({error.strerror}); "
                "choose another one with --out DIR",
            ) from error
        if not base.exists():  # /proc reports a missing parent instead of a refusal
            text = "no folder can be made there; choose another one with --out DIR"
            raise BadInput(str(base), text)
        raise RunFailed(f"{base}: something keeps removing the run folder as it is made")

    @classmethod
    def _new(cls, base: Path, plan: str, name: str | None = None) -> RunFolder:
        name = name or new_name()
        parent = base / plan
        return cls(base, parent / name, parent / f".{name}.{os.getpid()}{partial_runs.SUFFIX}")

    def _claim(self, made: list[str]) -> bool:
        """Start the reaper, then make and lock the folder. False: lost it to a race, try again."""
        self._reaper = _start_reaper(self._owner, self.path, made)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir()
        except FileNotFoundError:
            return False  # an ending run removed its empty parent folder
        try:
            self._lock = folder_lock.acquire(self.path)
        except (BlockingIOError, FileNotFoundError):
            return False  # `tailback clean` removed it before it was locked
        except OSError as error:
            if error.errno not in folder_lock.UNKNOWN_HERE:
                raise
        return not self.final.exists()

    def file(self, name: str) -> Path:
        """The path to write `name` (`captures/switch-sink.pcapng`) to, its folder made."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write_text(self, name: str, text: str) -> Path:
        """Write `text` as UTF-8 to the file `name` of this folder."""
        path = self.file(name)
        path.write_text(text, encoding="utf-8", newline="\n")
        return path

    def write_json(self, name: str, value: Any) -> Path:
        """Write `value` as indented JSON. NaN and infinity are refused: JSON has neither."""
        return self.write_text(name, json_pretty.pretty_json(value) + "\n")

    def commit(self) -> Path:
        """Give the folder its final name, with all its bytes on the disk; returns the path."""
        for path in sorted(self._partial.rglob("*")):
            _sync(path)
        _sync(self._partial)
        if self.final.exists():  # rename would silently replace an empty folder
            raise RunFailed(f"{self.final} came to exist during the run; nothing was overwritten")
        os.rename(self._partial, self.final)
        self.path = self.final
        _sync(self.final.parent)
        self._release()
        return self.final

    def discard(self) -> bool:
        """Remove the partial folder, if it is still there. False: it could not be removed."""
        shutil.rmtree(self._partial, ignore_errors=True)
        self._release()
        return not self._partial.exists()

    def _release(self) -> None:
        """Release the lock and end the reaper, which removes files left under the old name."""
        folder_lock.release(self._lock)
        self._lock = None
        reaper, self._reaper = self._reaper, None
        if reaper is not None and reaper.stdin is not None:
            reaper.stdin.close()
            reaper.wait()

    def _let_go_in_child(self) -> None:
        """In a forked child: close what would make the run look alive after its death."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._reaper is not None and self._reaper.stdin is not None:
            self._reaper.stdin.close()
            self._reaper.returncode = 0  # not this process's child: nothing to wait for
            self._reaper = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if os.getpid() != self._owner:
            return  # a forked child that leaves the block: the folder is its parent's
        removed = self.discard()
        if isinstance(error, OSError) and self._is_ours(error):
            full = disk_space.is_full(error)
            lack = (
                disk_space.disk_full_message(self.base)
                if full
                else f"{self.base}: cannot be written: {error}"
            )
            rest = "nothing of the run was kept" if removed else f"{self._partial} is left over"
            raise RunFailed(f"{lack}; {rest}") from error

    def _is_ours(self, error: OSError) -> bool:
        """Return whether the error concerns the run's files (and not, say, a socket)."""
        if disk_space.is_full(error):
            return True
        inside = error.filename is not None and str(error.filename).startswith(str(self._partial))
        return inside and error.errno in disk_space.NOT_WRITABLE


def _start_reaper(owner: int, partial: Path, made: list[str]) -> subprocess.Popen[bytes]:
    """Start the process that removes `partial` when `owner` is gone."""
    command = python_command.alone(REAPER, str(owner), str(partial), *made)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=os.path.abspath(os.sep),
            start_new_session=True,  # a Ctrl-C or kill of the run's group must not reach it
        )
    except OSError as error:
        raise RunFailed(
            f"{sys.executable}: cannot be started to watch over the run folder ({error.strerror})"
        ) from error


def _sync(path: Path) -> None:
    """Flush a file or folder to disk, so that a full disk is detected before the rename."""
    if os.name == "nt":
        return  # folders cannot be opened there, and files only for writing
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _after_fork() -> None:
    for folder in list(_open_folders):
        folder._let_go_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
