"""Journal of an agent: resources are recorded on disk before they are made, for clean-up."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator import bounded_json, ownership, private_cache
from orchestrator.errors import BadInput
from orchestrator.run import folder_lock
from orchestrator.testbed.agent.nic_claims import restore
from orchestrator.testbed.wire.envelope import Unacceptable

LEASES, SPOOL = "leases", "spool"
"""A file per lease, so that a full disk cannot keep one from being forgotten."""


def started(process: int) -> str | None:
    """Start time of a process in ticks since boot: with its number, a unique identity."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()[19]


class Journal:
    """The leases of one agent in its state folder, which it alone may use while it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            private_cache.made(folder)
            for part in (folder, *(folder / name for name in (LEASES, SPOOL))):
                part.mkdir(exist_ok=True, mode=0o700)
                if part != folder and part.is_symlink():
                    raise BadInput(str(part), "is a link, and a folder is expected; remove it")
                if (found := ownership.exposure(part)) is not None:
                    raise BadInput(
                        str(found[0]),
                        f"{found[1]}; an agent ends processes and removes files by what lies in "
                        f"{folder}; a folder of this user is expected (--state DIR)",
                    )
            self._lock = folder_lock.acquire(folder)
        except BlockingIOError:
            raise BadInput(
                str(folder), "another agent uses this state folder; give one with --state DIR"
            ) from None
        except OSError as error:
            raise BadInput(str(folder), f"cannot be used: {error.strerror}") from None
        self._leases: dict[str, dict[str, Any]] = {}

    def spool(self, lease: str) -> Path:
        """The folder that a lease's results are written to."""
        return self.folder / SPOOL / lease

    def note(self, lease: str, **what: Any) -> None:
        """Record an entry about a lease before it is carried out."""
        noted = self._leases.setdefault(lease, {})
        noted.update(what)
        path = self.folder / LEASES / f".{lease}"
        try:
            path.write_text(json.dumps(noted), encoding="utf-8")
            os.chmod(path, 0o600)
            os.replace(path, self.folder / LEASES / lease)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise Unacceptable(
                "disk", f"nothing can be noted in {self.folder} ({error.strerror})"
            ) from None

    def forget(self, lease: str) -> None:
        """All that a lease had made is gone."""
        shutil.rmtree(self.spool(lease), ignore_errors=True)
        self._leases.pop(lease, None)
        (self.folder / LEASES / lease).unlink(missing_ok=True)

    def recover(self) -> list[str]:
        """Remove what a predecessor left; what that was, in sentences."""
        found: list[str] = []
        for path in sorted((self.folder / LEASES).iterdir()):
            with suppress(OSError, ValueError, TypeError, AttributeError):  # half-written: nothing
                what = bounded_json.loads(_read_own(path))
                found += _remove(path.name, what.get("worker"), what.get("nics", {}))
            path.unlink(missing_ok=True)
        for path in (self.folder / SPOOL).iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            found.append(f"results of lease {path.name} were removed")
        return found

    def close(self) -> None:
        """Another agent may use the folder."""
        folder_lock.release(self._lock)


MOST_OCTETS = 1 << 20
"""Octets of a lease's file that are read."""


def _read_own(path: Path) -> str:
    """A file of this user's, or nothing where it is another's, a link, or no file."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or not ownership.is_mine(state.st_uid):
            return ""
        return file.read(MOST_OCTETS).decode("utf-8", "replace")


def _remove(lease: str, worker: list[Any] | None, nics: dict[str, Any]) -> list[str]:
    """Remove what one lease had made; what that was."""
    found = []
    if worker and started(worker[0]) == worker[1]:
        with suppress(OSError):
            os.kill(worker[0], signal.SIGKILL)
        found.append(f"process {worker[0]} of lease {lease} was ended")
    for nic, before in nics.items():
        restore(nic, before)
        found.append(f"NIC {nic} of lease {lease} was put back as it had been")
    return found
